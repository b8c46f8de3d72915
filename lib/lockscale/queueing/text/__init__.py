# SPDX-License-Identifier: MIT
"""Results as a person reads them."""
