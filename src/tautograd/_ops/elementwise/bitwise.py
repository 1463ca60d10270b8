"""Bits: and, or, xor, not, shifts, for integers and booleans."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import binary, operator, unary, updating
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel


def _integers(low: int, high: int) -> Any:
    def samples() -> list[Sample]:
        def of(*shape: int) -> T:
            return T(*shape, low=low, high=high, seed=1)

        return [
            Sample(T(2, 3, low=-100, high=100), of(2, 3)),
            Sample(T(2, 1, low=-100, high=100), of(3)),
            Sample(T(low=-100, high=100), of()),
            Sample(T(0, 2), of(2)),
            Sample(T(3, 2, low=-100, high=100, layout="transposed"), 3),
        ]

    return samples


unary(
    "bitwise_not",
    np.invert,
    promotion="common",
    refuses=no_kernel("bitwise_not_cpu", "hfc"),
    doc="Each bit flipped (for booleans: not).",
    samples=lambda: [Sample(T(2, 3, low=-100, high=100)), Sample(T()), Sample(T(0, 2))],
)

# name, ufunc, the operator's name, kernel, groups it refuses, docstring
for _name, _ufunc, _operator, _kernel, _groups, _doc in (
    ("bitwise_and", np.bitwise_and, "and", "bitwise_and_cpu", "hfc", "Bits set in both."),
    ("bitwise_or", np.bitwise_or, "or", "bitwise_or_cpu", "hfc", "Bits set in either."),
    ("bitwise_xor", np.bitwise_xor, "xor", "bitwise_xor_cpu", "hfc", "Bits set in exactly one."),
    ("bitwise_left_shift", np.left_shift, "lshift", "lshift_cpu", "bhfc", "`input * 2**other`."),
    ("bitwise_right_shift", np.right_shift, "rshift", "rshift_cpu", "bhfc", "`input // 2**other`."),
):
    _op = binary(
        _name,
        _ufunc,
        numbers="xy",
        refuses=no_kernel(_kernel, _groups),
        doc=_doc,
        samples=_integers(0, 6) if "shift" in _name else _integers(-100, 100),
    )
    cls: Any = Tensor
    _method = getattr(Tensor, _name)
    setattr(cls, f"__{_operator}__", operator(_op, _method))
    setattr(cls, f"__r{_operator}__", operator(_op, _method, reflected=True))
    setattr(cls, f"__i{_operator}__", updating(getattr(Tensor, _name + "_")))


def _invert(self: Any) -> Any:
    """Each bit flipped (for booleans: not)."""
    if self.dtype.category > 1:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return self.bitwise_not()


cls.__invert__ = _invert
