"""The class that PyTorch wraps compiled modules in: libraries ask whether a module is one."""

from __future__ import annotations

from ..nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A compiled module, in PyTorch. `tautograd.compile` gives modules back as what they were."""
