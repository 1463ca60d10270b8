"""Fast mode: one number `v · J · u` per output and input, for random vectors, in place of J."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._random import Generator
from ..._tensor.tensor import Tensor, make
from .common import Check, GradcheckError, differentiable, direction
from .comparison import check_constant, check_kind, check_repeatable, close, heading, worst
from .derivatives import by_forward, by_reverse, tangents_along, vector_times
from .differences import along, numerical


def compare_products(check: Check, outputs: tuple[Any, ...], forward: bool) -> None:
    """One number v · J · u per pair (for forward mode, the vector J · u)."""
    wanted = check.wanted
    generator = Generator()
    directions: dict[int, Any] = {}
    for i in wanted:
        x = check.inputs[i]._data
        pair = [
            direction(x.shape, generator, x.real.dtype)
            for _ in range(2 if x.dtype.kind == "c" else 1)
        ]
        directions[i] = pair[0] if len(pair) == 1 else tuple(pair)
    recorded = [k for k, o in enumerate(outputs) if o.requires_grad]
    differences = {i: along(check.func, check.inputs, i, directions[i], check.eps) for i in wanted}
    if not recorded:
        check_constant([d for per in differences.values() for d in per], check.nondet_tol)
        return
    for nr, k in enumerate(recorded):
        output = outputs[k]
        v = None if forward else direction(output._data.shape, generator, output._data.dtype)
        products = None if v is None else _products_twice(check, output, v)
        for j, i in enumerate(wanted):
            u, difference = directions[i], differences[i][k]
            if products is None or v is None:
                shape = check.inputs[i]._data.shape
                found = tangents_along(check.func, check.inputs, {i: np.reshape(u, shape)})
                places = [m for m, o in enumerate(outputs) if differentiable(o)]
                analytical = np.reshape(found[places.index(k)], -1)
            else:
                analytical = _dot(products[j], u)
                difference = np.sum(v * difference)
            total = sum(np.sum(part) for part in u) if isinstance(u, tuple) else np.sum(u)
            atol = check.atol * float(total) * (1.0 if v is None else float(np.sum(np.abs(v))))
            if not np.all(close(analytical, difference, check.rtol, atol)):
                raise GradcheckError(
                    heading(check, nr, j, forward)
                    + f"numerical:{difference}\nanalytical:{analytical}\n"
                    + _slow_report(check, outputs, k, nr, j, forward)
                )


def _dot(row: Any, u: Any) -> Any:
    if isinstance(u, tuple):
        return np.dot(row.real, u[0]) + 1j * np.dot(row.imag, u[1])
    return np.dot(row, u)


def _products_twice(check: Check, output: Tensor, v: Any) -> list[Any]:
    inputs = [check.inputs[i] for i in check.wanted]
    start = make(np.reshape(v, output._data.shape))
    rounds = []
    for _ in range(2):
        gradients = vector_times(output, inputs, start)
        check_kind(check, gradients, inputs)
        rounds.append(
            [
                np.zeros(x._data.size, x._data.dtype) if g is None else np.reshape(g._data, -1)
                for g, x in zip(gradients, inputs, strict=True)
            ]
        )
    check_repeatable(check, *rounds)
    return rounds[0]


def _slow_report(check: Check, outputs: Any, k: int, nr: int, j: int, forward: bool) -> str:
    """The whole Jacobians, for the message of a failed fast check."""
    i = check.wanted[j]
    differences = numerical(check.func, check.inputs, i, check.eps)[k]
    if forward:
        places = [m for m, o in enumerate(outputs) if differentiable(o)]
        analytical = by_forward(check.func, check.inputs, i)[places.index(k)]
    else:
        analytical = by_reverse(outputs[k], [check.inputs[i]])[0][0]
    near = close(analytical, differences, check.rtol, check.atol)
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in "
        "fast mode. The same in slow mode:\n\nNumerical:\n "
        f"{make(differences)!r}\nAnalytical:\n{make(analytical)!r}\n\nThe max per-element "
        f"difference (slow mode) is: {np.max(np.abs(differences - analytical))}.\n"
    )
    if near.all():
        return text + (
            "Fast gradcheck failed but element-wise differences are small. This means that the "
            "test might've passed in slow_mode!"
        )
    return text + worst(check, analytical, differences, near, j)
