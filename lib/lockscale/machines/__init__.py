# SPDX-License-Identifier: MIT
"""Where kernels run. A target gives machines; a machine runs commands. Targets know no study."""
