# SPDX-License-Identifier: MIT
"""The proof of an arm: it applies, builds, boots, keeps the file system whole, and moves its counter."""
