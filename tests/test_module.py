# SPDX-License-Identifier: MIT
"""`python -m lockscale` is the command."""

import subprocess
import sys


def test_the_package_runs_as_a_module():
    argv = [sys.executable, "-m", "lockscale", "fit"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("lockscale: Missing argument")
