# SPDX-License-Identifier: MIT
"""papermill batches: a grid of parameters over chosen notebooks, resumable, with an index of what came out.

`plan.py` reads the file, `work.py` runs what is left of it, `index.py` knows what is done and writes what a
person opens.
"""
