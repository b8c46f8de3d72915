# SPDX-License-Identifier: MIT
"""Fitted models swept to more CPUs than anybody published: where a kernel's paths saturate next."""
