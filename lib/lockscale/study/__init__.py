# SPDX-License-Identifier: MIT
"""A study: its YAML file, its published tables, the target it runs on."""
