# SPDX-License-Identifier: MIT
"""What is compiled: ``run_ops.run``, which runs every op of ``op_codes``, and all that it calls.

Nothing here knows a model.
"""
