"""The full comparison: every entry of every Jacobian, by differences and by gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from .common import Check, GradcheckError, differentiable
from .derivatives import by_forward, by_reverse
from .differences import numerical


def compare_jacobians(check: Check, outputs: tuple[Any, ...], forward: bool) -> None:
    wanted = check.wanted
    differences = {i: numerical(check.func, check.inputs, i, check.eps) for i in wanted}
    recorded = [k for k, o in enumerate(outputs) if o.requires_grad]
    if not recorded:
        check_constant([d for per_output in differences.values() for d in per_output])
        return
    if forward:
        float_outputs = [k for k, o in enumerate(outputs) if differentiable(o)]
        tangents = {i: by_forward(check.func, check.inputs, i) for i in wanted}
        for nr, k in enumerate(recorded):
            for j, i in enumerate(wanted):
                found = tangents[i][float_outputs.index(k)]
                _expect_close(check, found, differences[i][k], nr, j, forward)
        return
    for nr, k in enumerate(recorded):
        analytical = _by_reverse_twice(check, outputs[k])
        for j, i in enumerate(wanted):
            _expect_close(check, analytical[j], differences[i][k], nr, j, forward)


def check_constant(jacobians: list[Any], tolerance: float = 0.0) -> None:
    for jacobian in jacobians:
        if jacobian.size and float(np.max(np.abs(jacobian))) > tolerance:
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _by_reverse_twice(check: Check, output: Tensor) -> list[Any]:
    """The Jacobians of one output; backward must give them again when asked again."""
    inputs = [check.inputs[i] for i in check.wanted]
    first, gradients = by_reverse(output, inputs)
    second, _ = by_reverse(output, inputs)
    check_kind(check, gradients, inputs)
    check_repeatable(check, first, second)
    return first


def check_kind(check: Check, gradients: Any, inputs: list[Tensor]) -> None:
    for g, x in zip(gradients, inputs, strict=True):
        if g is None:
            continue
        if g.shape != x.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
        if g.dtype != x.dtype and check.check_grad_dtypes:
            raise GradcheckError("Gradient has dtype mismatch")


def check_repeatable(check: Check, first: list[Any], second: list[Any]) -> None:
    for a, b in zip(first, second, strict=True):
        if a.size and float(np.max(np.abs(a - b))) > check.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient. The tolerance for nondeterminism was {check.nondet_tol}. If "
                "the function is random by nature, pass nondet_tol=."
            )


def close(analytical: Any, differences: Any, rtol: float, atol: float) -> Any:
    with np.errstate(invalid="ignore"):
        near = np.abs(analytical - differences) <= atol + rtol * np.abs(differences)
    return near | (analytical == differences)


def _expect_close(
    check: Check, analytical: Any, differences: Any, nr: int, j: int, forward: bool
) -> None:
    near = close(analytical, differences, check.rtol, check.atol)
    if near.all():
        return
    raise GradcheckError(
        heading(check, nr, j, forward)
        + f"numerical:{make(differences)!r}\nanalytical:{make(analytical)!r}\n"
        + worst(check, analytical, differences, near, j)
    )


def heading(check: Check, nr: int, j: int, forward: bool) -> str:
    place = j if forward else nr
    prefix = ""
    if check.part is not None and place in check.complex_places:
        sides = "inputs" if forward else "outputs"
        prefix = f"While considering the {check.part} part of complex {sides} only, "
    mode = "computed with forward mode " if forward else ""
    return f"{prefix}Jacobian {mode}mismatch for output {nr} with respect to input {j},\n"


def worst(check: Check, analytical: Any, differences: Any, near: Any, j: int) -> str:
    """Where the two differ most, in terms of the input's and the output's own indices."""
    gap = np.abs(analytical - differences)
    gap = np.where(near, -1.0, np.where(np.isnan(gap), np.inf, gap))
    row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
    x = check.inputs[check.wanted[j]]
    index = (
        tuple(int(n) for n in np.unravel_index(int(row), x._data.shape)) if x._data.shape else ()
    )
    return (
        f"{int(np.sum(~near))} of {near.size} entries differ; the worst is the derivative of entry "
        f"{int(column)} of the output (flattened) by input{list(index)}: numerical "
        f"{differences[row, column]!s}, analytical {analytical[row, column]!s}.\n"
    )
