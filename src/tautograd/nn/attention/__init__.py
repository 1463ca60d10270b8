"""Which kernels attention may use, and attention with a custom score or mask."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..._lazy import named_later
from ..._ops.declare.python_surface import speak
from ...backends import cuda as _switches

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels for scaled dot-product attention; here all of them are one computation."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


_NAMES = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "overrideable": SDPBackend.OVERRIDEABLE,
}


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The currently allowed kernels."""
    found = [kind for name, kind in _NAMES.items() if _switches._allowed[name]]
    return sorted(found, key=_switches._priority.index) if with_priority else found


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Allow only these kernels inside a `with` block."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    allowed, priority = dict(_switches._allowed), list(_switches._priority)
    _switches._allowed.update({name: kind in chosen for name, kind in _NAMES.items()})
    if set_priority:
        first = [int(kind) for kind in chosen]
        _switches._priority[:] = [*first, *(kind for kind in priority if kind not in first)]
    try:
        yield {}
    finally:
        _switches._allowed.update(allowed)
        _switches._priority[:] = priority


if TYPE_CHECKING:
    from . import flex_attention as flex_attention
else:
    __getattr__, __dir__ = named_later(__name__, ("flex_attention",))


speak(globals(), __all__)
