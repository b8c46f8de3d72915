# SPDX-License-Identifier: MIT
"""The studies: all that is known of one by name, beside its file in notebooks/studies and its patches.

hooks            what a study can add to the rooms below: its claims, prediction, models, scenes, paths
registry         which studies there are: each module here that has a STUDY, and files of the user's own
inode_claim, write_access, group_trylock, orphan_file
                 a study each; what would be too long for one file is in <study>_tables
skeleton         a study to begin with, for lockscale new study
models           a model of the simulator for the question of S1 alone, which imports the compiler
"""

EXAMPLE_STUDY, EXAMPLE_MODEL = "inode-claim", "inode_claim"
"""What a command is shown with where somebody has none of his own yet."""
