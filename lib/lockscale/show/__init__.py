# SPDX-License-Identifier: MIT
"""What a person sees: notebooks and their runs, exports, and the answers that ask every study."""
