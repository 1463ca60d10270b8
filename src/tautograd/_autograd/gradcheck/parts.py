"""Complex outputs (and inputs, in forward mode) are checked one real part at a time."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .common import Check, as_tuple, recorded
from .comparison import compare_jacobians
from .products import compare_products
from .smaller import check_undefined_tangents


def _part_of(name: str, tensor: Any) -> Any:
    return getattr(tensor, name) if isinstance(tensor, Tensor) and tensor.is_complex() else tensor


def check_backward(check: Check, outputs: tuple[Any, ...]) -> None:
    if not any(o.is_complex() for o in outputs):
        _compare(check, outputs, forward=False)
        return
    places = [i for i, o in enumerate(recorded(outputs)) if o.is_complex()]
    for part, name in (("imaginary", "imag"), ("real", "real")):

        def one_part(*inputs: Any, name: str = name) -> Any:
            return tuple(_part_of(name, o) for o in as_tuple(check.func(*inputs)))

        _compare(
            check.with_function(one_part, check.inputs, part, places),
            one_part(*check.inputs),
            False,
        )


def check_forward(check: Check, outputs: tuple[Any, ...], undefined: bool) -> None:
    places = [i for i, x in enumerate(check.inputs) if isinstance(x, Tensor) and x.is_complex()]
    if not places:
        _compare(check, outputs, forward=True)
        if undefined:
            check_undefined_tangents(check)
        return
    for part, name in (("imaginary", "imag"), ("real", "real")):

        def joined(*inputs: Any, name: str = name) -> Any:
            """The function of one part of its complex inputs; the other part is held."""
            whole = list(inputs)
            for i in places:
                held = check.inputs[i].detach()
                whole[i] = (
                    inputs[i] + held.imag * 1j if name == "real" else held.real + inputs[i] * 1j
                )
            return as_tuple(check.func(*whole))

        parts = tuple(
            _part_of(name, x).detach().clone().requires_grad_(x.requires_grad) if i in places else x
            for i, x in enumerate(check.inputs)
        )
        part_check = check.with_function(joined, parts, part, places)
        _compare(part_check, joined(*parts), forward=True)
        if undefined:
            check_undefined_tangents(part_check)


def _compare(check: Check, outputs: tuple[Any, ...], forward: bool) -> None:
    (compare_products if check.fast else compare_jacobians)(check, outputs, forward)
