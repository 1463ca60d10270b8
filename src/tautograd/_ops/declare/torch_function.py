"""`__torch_function__` of classes that stand for tensors: asked where a public call has failed on them.

A call on tensors alone asks nobody. One that was given an object of another class fails, as it is no
tensor; if that class has `__torch_function__`, it answers in place of the error.
"""

from __future__ import annotations

import sys
from typing import Any

from ..._tensor.tensor import Tensor
from .subclasses import MODES_ONLY, ask, speaking, start


def answered(
    error: Exception, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> tuple[Any] | None:
    """What such a class makes of a failed call, in a tuple; None if there is none to ask."""
    found = [x for x in speaking((*args, *kwargs.values())) if not isinstance(x, Tensor)]
    if not found or isinstance(error, Warning):
        return None
    function = None if name in MODES_ONLY else _public(name, method)
    if function is None:
        return None
    start()  # from the next call on they are asked first
    return (ask(function, name, found, args, kwargs),)


_PLACES = {
    "linalg_": "linalg",
    "special_": "special",
    "fft_": "fft",
    "nn.functional.": "nn.functional",
}


def _public(name: str, method: bool) -> Any:
    """The function or method that the program has called, by which classes know what is asked."""
    if method:
        return getattr(Tensor, name, None)
    top = __name__.partition(".")[0]
    for prefix, place in _PLACES.items():
        if name.startswith(prefix):
            return getattr(sys.modules.get(f"{top}.{place}"), name.removeprefix(prefix), None)
    return getattr(sys.modules[top], name, None)
