# SPDX-License-Identifier: MIT
"""The fitted models swept to more CPUs than anybody published: where ext4's paths saturate next."""

from lockscale.scale.study import scale_study

__all__ = ["scale_study"]
