# SPDX-License-Identifier: MIT
"""What is compiled: the event loop (``loop.run``), and all that it calls. Nothing here knows a model."""
