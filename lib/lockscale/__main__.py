# SPDX-License-Identifier: MIT
"""`python -m lockscale` is the command."""

from lockscale.cli import main

main()
