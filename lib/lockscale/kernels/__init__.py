# SPDX-License-Identifier: MIT
"""From a patch series to a bootable kernel that is built once and known by its build-id."""
