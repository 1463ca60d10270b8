"""Forward mode: dual tensors that carry a tangent through every operation."""

from typing import Any

from .._autograd.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)
from .._ops.declare.python_surface import speak

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

speak(globals(), __all__)


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # read by programs that ask whether forward mode is on
        from .._autograd.forward_ad import current_level

        return current_level()
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())
