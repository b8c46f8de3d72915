# SPDX-License-Identifier: MIT
"""What a command is shown with where somebody has none of his own yet."""

EXAMPLE_STUDY = "inode-claim"
EXAMPLE_MODEL = "inode_claim"
