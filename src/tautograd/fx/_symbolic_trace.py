"""Where PyTorch keeps its tracer: what libraries import by this path."""

from .placeholders import PH, PHBase, PHWithMeta
from .tracing import ProxyableClassMeta, Tracer, _assert_is_none, symbolic_trace, wrap

__all__ = [
    "PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "_assert_is_none", "symbolic_trace", "wrap",
]  # fmt: skip


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    from .shown import Shown

    return bool(Shown.active)


is_fx_symbolic_tracing = is_fx_tracing
