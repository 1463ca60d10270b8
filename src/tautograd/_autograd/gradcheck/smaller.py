"""Smaller checks: backward is linear, takes missing gradients, and runs on batches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._random import Generator, default_generator, normal
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..api import grad
from ..function.function import Function
from ..transforms.vmap import vmap
from .common import Check, GradcheckError, as_tuple, direction, recorded
from .derivatives import tangents_along, vector_times


def check_linear(check: Check, outputs: list[Tensor]) -> None:
    """A zero gradient in must give zero gradients out."""
    if not outputs:
        return
    inputs = [check.inputs[i] for i in check.wanted]
    zeros = [make(np.zeros_like(o._data)) for o in outputs]
    for g, x in zip(grad(outputs, inputs, zeros, allow_unused=True), inputs, strict=True):
        if g is None:
            continue
        if g._data.any():
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


class _Undefined(Function):
    """The identity, through which no gradient comes back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return make(x._data)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


def check_undefined(check: Check) -> None:
    """Backward must take a missing gradient for zero: of all outputs, and of each by itself."""
    inputs = [check.inputs[i] for i in check.wanted]
    count = len(recorded(as_tuple(check.func(*check.inputs))))
    cases = [set(range(count))] + ([{i} for i in range(count)] if count > 1 else [])
    for without in cases if count else ():
        outputs = [
            _Undefined.apply(o) if i in without else o
            for i, o in enumerate(recorded(as_tuple(check.func(*check.inputs))))
        ]
        zeros = [make(np.zeros_like(o._data)) for o in outputs]
        try:
            found = grad(outputs, inputs, zeros, allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Where ctx."
                "set_materialize_grads(False) is in force, a gradient may be None."
            ) from error
        if any(g is not None and g._data.any() for g in found):
            _warn_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero."
            )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        "can call this function "
        'with "check_undefined_grad=False" to disable the feature',
        stacklevel=warning_level(),
    )


def check_undefined_tangents(check: Check) -> None:
    """An input without a tangent must count as one whose tangent is zero."""
    generator = Generator()
    tangents = {
        i: np.reshape(direction(x._data.shape, generator, x._data.dtype), x._data.shape)
        for i in check.wanted
        for x in (check.inputs[i],)
    }
    for i in check.wanted:
        zero = {**tangents, i: np.zeros_like(tangents[i])}
        absent = {k: t for k, t in tangents.items() if k != i}
        pairs = zip(
            tangents_along(check.func, check.inputs, zero),
            tangents_along(check.func, check.inputs, absent),
            strict=True,
        )
        for nr, (a, b) in enumerate(pairs):
            if not np.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {nr} when input: {i} has "
                    f"an undefined tangent value.  Got: {a} but expected: {b}"
                )


def _randn_like(tensor: Tensor) -> Tensor:
    return make(normal(default_generator, tensor._data.shape, dtype=tensor._data.dtype))


def check_batched(check: Check, output: Tensor, nr: int) -> None:
    """Backward on a batch of two gradients must give what two backwards give."""
    inputs = [check.inputs[i] for i in check.wanted]
    starts = [_randn_like(output) for _ in range(2)]
    expected = [vector_times(output, inputs, v) for v in starts]
    try:
        found = grad(
            output,
            inputs,
            make(np.stack([v._data for v in starts])),
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for j, (g, pair) in enumerate(zip(found, zip(*expected, strict=True), strict=True)):
        if g is not None and pair[0] is not None:
            _expect_batched(g._data, np.stack([p._data for p in pair]), nr, j)


def _expect_batched(found: Any, expected: Any, nr: int, j: int) -> None:
    if not np.allclose(found, expected, 1e-5, 1e-8):
        raise GradcheckError(
            f"For output {nr} and input {j}:\ngradcheck or gradgradcheck failed while testing "
            "batched gradient "
            f"computation.\n\nGot:\n{make(found)!r}\n\nExpected:\n{make(expected)!r}"
        )


def check_batched_forward(check: Check) -> None:
    """Forward mode on a batch of two tangents must give what two runs give."""
    for j, i in enumerate(check.wanted):
        x = check.inputs[i]
        tangents = [_randn_like(x) for _ in range(2)]

        def derivative(tangent: Tensor, i: int = i) -> Any:
            return tuple(make(t) for t in _tangents_of(check, i, tangent))

        expected = [derivative(t) for t in tangents]
        try:
            found = vmap(derivative)(make(np.stack([t._data for t in tangents])))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for nr, (g, pair) in enumerate(zip(found, zip(*expected, strict=True), strict=True)):
            _expect_batched(g._data, np.stack([p._data for p in pair]), nr, j)


def _tangents_of(check: Check, i: int, tangent: Tensor) -> list[Any]:
    return tangents_along(check.func, check.inputs, {i: tangent._data})
