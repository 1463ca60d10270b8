"""What PyTorch asks of an in-place call before it computes, where that is not what its iterator asks.

Elementwise operations compare the shape and dtype of the result with those of the tensor they write to
(`public.write_into`). Products of matrices, running sums and scatters have checks of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._arrays.dtypes import LEGACY_NAMES
from ..._tensor.tensor import Tensor
from .memory_overlap import SCATTERING


def _same_size(self: Tensor, size: tuple[int, ...]) -> None:
    if tuple(self._data.shape) != size:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(self._data.shape)} and output tensor size "
            f"{list(size)} should match"
        )


def _product(self: Tensor, first: Any, second: Any, *rest: Any, **options: Any) -> None:
    """The result is as large as the product, to which an operation of its own would expand."""
    a, b = (getattr(getattr(x, "_data", None), "shape", ()) for x in (first, second))
    if len(a) >= 2 and len(b) in (len(a), len(a) - 1):  # else the operation says what is wrong
        _same_size(self, tuple(a[:-1]) + (tuple(b[-1:]) if len(b) == len(a) else ()))


def _outer_product(self: Tensor, *given: Any, **options: Any) -> None:
    if self._data.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {self._data.ndim}D tensor for input")


def _not_of_bools(kernel: str, of_few: bool = False) -> Callable[..., None]:
    """`of_few`: also where there is nothing to go along, so that PyTorch needs no kernel."""

    def check(self: Tensor, *given: Any, **options: Any) -> None:
        some = of_few or (self._data.ndim and self._data.size)
        if some and self._data.dtype.kind == "b":
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{LEGACY_NAMES[self.dtype]}'"
            )

    return check


def _ldexp(self: Tensor, *given: Any, **options: Any) -> None:
    if self._data.dtype.kind in "biu":
        raise RuntimeError(
            f"ldexp can't be cast to the desired output type {LEGACY_NAMES[self.dtype]}"
        )


BEFORE: dict[str, Callable[..., None]] = {
    "addmm": _product,
    "addmv": _product,
    "baddbmm": _product,
    "addr": _outer_product,
    "cumsum": _not_of_bools("cumsum_out_cpu"),
    "cumprod": _not_of_bools("cumprod_out_cpu"),
    "round": _not_of_bools("round_cpu", of_few=True),
    "ldexp": _ldexp,
}
# Those that do not broadcast: nothing is asked of the room for their result.
OWN_SHAPE = frozenset(SCATTERING | {"addmm", "addmv", "baddbmm", "addr", "cumsum", "cumprod"})
