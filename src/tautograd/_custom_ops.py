"""`torch._custom_ops`: the old names of `torch.library`, which libraries import."""

from __future__ import annotations

from .library import custom_op, impl, register_autograd, register_fake

impl_abstract = register_fake

__all__ = ["custom_op", "impl", "impl_abstract", "register_autograd", "register_fake"]
