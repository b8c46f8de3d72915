# SPDX-License-Identifier: MIT
"""What a tool printed on a server is kept without the server's names."""

from lockscale.measure.target_ssh import HeldServer


def test_a_servers_names_are_taken_out_of_what_is_kept():
    held = object.__new__(HeldServer)
    held.names = ["lab-seven.example.org", "lab-seven"]
    said = held.scrub("perf on lab-seven (lab-seven.example.org): 12 samples of lab-seventy\n")
    assert "lab-seven " not in said and "example.org" not in said and "12 samples" in said
