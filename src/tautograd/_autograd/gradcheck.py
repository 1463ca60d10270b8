"""`gradcheck`: gradients compared with finite differences.

For each pair of an output and an input the Jacobian is computed twice: numerically, and by reverse
(or forward) mode. `fast_mode` compares one number per pair instead, `v · J · u` for random
vectors. Around that stand smaller checks: backward must give the same twice, must be linear in the
gradient it is given, and must accept that some outputs have none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._random import Generator, default_generator, normal, uniform
from .._tensor.tensor import Tensor, make
from .api import grad
from .function import Function
from .jacobians import (
    along,
    as_tuple,
    by_forward,
    by_reverse,
    differentiable,
    direction,
    numerical,
    tangents_along,
    vector_times,
)
from .vmap import vmap


class GradcheckError(RuntimeError):
    """A gradient that is wrong, with the numbers that show it."""


class _Check:
    """What is being checked, and how closely."""

    def __init__(
        self, func: Any, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.nondet_tol = 0.0
        self.check_grad_dtypes = False
        self.fast = False
        # Set while one part of complex outputs (or inputs, in forward mode) is looked at.
        self.part: str | None = None
        self.complex_places: tuple[int, ...] = ()

    def with_function(self, func: Any, inputs: Any, part: str | None, places: Any) -> _Check:
        copy = _Check(func, inputs, self.eps, self.atol, self.rtol)
        copy.nondet_tol, copy.check_grad_dtypes, copy.fast = (
            self.nondet_tol,
            self.check_grad_dtypes,
            self.fast,
        )
        copy.part, copy.complex_places = part, tuple(places)
        return copy

    @property
    def wanted(self) -> list[int]:
        """Which inputs are differentiated."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` agree with finite differences; if not, an error that shows
    where.

    The inputs that require gradients should be float64 or complex128: differences of lower
    precision say little.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    check = _Check(func, as_tuple(inputs), eps, atol, rtol)
    check.nondet_tol, check.check_grad_dtypes, check.fast = nondet_tol, check_grad_dtypes, fast_mode
    try:
        _check_inputs(check.inputs)
        outputs = as_tuple(func(*check.inputs))
        if check_backward_ad:
            _check_backward(check, outputs)
        if check_forward_ad:
            _check_forward(check, outputs, check_undefined_grad)
        if check_batched_forward_grad:
            _check_batched_forward(check)
        if check_backward_ad:
            if check_batched_grad:
                for i, output in enumerate(_recorded(outputs)):
                    _check_batched(check, output, i)
            _check_linear(check, _recorded(outputs))
            if check_undefined_grad:
                _check_undefined(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _recorded(outputs: tuple[Any, ...]) -> list[Tensor]:
    return [o for o in outputs if o.requires_grad]


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    wanted = False
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        wanted = True
        if x._data.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=3,
            )
        if any(
            stride == 0 and n > 1 for stride, n in zip(x._data.strides, x._data.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


# --- complex numbers: one real part at a time ----------------------------------------------------


def _part_of(name: str, tensor: Any) -> Any:
    return getattr(tensor, name) if isinstance(tensor, Tensor) and tensor.is_complex() else tensor


def _check_backward(check: _Check, outputs: tuple[Any, ...]) -> None:
    if not any(o.is_complex() for o in outputs):
        _compare(check, outputs, forward=False)
        return
    places = [i for i, o in enumerate(_recorded(outputs)) if o.is_complex()]
    for part, name in (("imaginary", "imag"), ("real", "real")):

        def one_part(*inputs: Any, name: str = name) -> Any:
            return tuple(_part_of(name, o) for o in as_tuple(check.func(*inputs)))

        _compare(
            check.with_function(one_part, check.inputs, part, places),
            one_part(*check.inputs),
            False,
        )


def _check_forward(check: _Check, outputs: tuple[Any, ...], undefined: bool) -> None:
    places = [i for i, x in enumerate(check.inputs) if isinstance(x, Tensor) and x.is_complex()]
    if not places:
        _compare(check, outputs, forward=True)
        if undefined:
            _check_undefined_tangents(check)
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
            _check_undefined_tangents(part_check)


# --- the comparison ------------------------------------------------------------------------------


def _compare(check: _Check, outputs: tuple[Any, ...], forward: bool) -> None:
    (_compare_products if check.fast else _compare_jacobians)(check, outputs, forward)


def _compare_jacobians(check: _Check, outputs: tuple[Any, ...], forward: bool) -> None:
    wanted = check.wanted
    differences = {i: numerical(check.func, check.inputs, i, check.eps) for i in wanted}
    recorded = [k for k, o in enumerate(outputs) if o.requires_grad]
    if not recorded:
        _check_constant([d for per_output in differences.values() for d in per_output])
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


def _check_constant(jacobians: list[Any], tolerance: float = 0.0) -> None:
    for jacobian in jacobians:
        if jacobian.size and float(np.max(np.abs(jacobian))) > tolerance:
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _by_reverse_twice(check: _Check, output: Tensor) -> list[Any]:
    """The Jacobians of one output; backward must give them again when asked again."""
    inputs = [check.inputs[i] for i in check.wanted]
    first, gradients = by_reverse(output, inputs)
    second, _ = by_reverse(output, inputs)
    _check_kind(check, gradients, inputs)
    _check_repeatable(check, first, second)
    return first


def _check_kind(check: _Check, gradients: Any, inputs: list[Tensor]) -> None:
    for g, x in zip(gradients, inputs, strict=True):
        if g is None:
            continue
        if g.shape != x.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
        if check.check_grad_dtypes and g.dtype != x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")


def _check_repeatable(check: _Check, first: list[Any], second: list[Any]) -> None:
    for a, b in zip(first, second, strict=True):
        if a.size and float(np.max(np.abs(a - b))) > check.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient. The tolerance for nondeterminism was {check.nondet_tol}. If "
                "the function is random by nature, pass nondet_tol=."
            )


def _close(analytical: Any, differences: Any, rtol: float, atol: float) -> Any:
    with np.errstate(invalid="ignore"):
        near = np.abs(analytical - differences) <= atol + rtol * np.abs(differences)
    return near | (analytical == differences)


def _expect_close(
    check: _Check, analytical: Any, differences: Any, nr: int, j: int, forward: bool
) -> None:
    near = _close(analytical, differences, check.rtol, check.atol)
    if near.all():
        return
    raise GradcheckError(
        _heading(check, nr, j, forward)
        + f"numerical:{make(differences)!r}\nanalytical:{make(analytical)!r}\n"
        + _worst(check, analytical, differences, near, j)
    )


def _heading(check: _Check, nr: int, j: int, forward: bool) -> str:
    place = j if forward else nr
    prefix = ""
    if check.part is not None and place in check.complex_places:
        prefix = f"While considering the {check.part} part of complex {'inputs' if forward else 'outputs'} only, "
    mode = "computed with forward mode " if forward else ""
    return f"{prefix}Jacobian {mode}mismatch for output {nr} with respect to input {j},\n"


def _worst(check: _Check, analytical: Any, differences: Any, near: Any, j: int) -> str:
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


# --- fast mode -----------------------------------------------------------------------------------


def _compare_products(check: _Check, outputs: tuple[Any, ...], forward: bool) -> None:
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
        _check_constant([d for per in differences.values() for d in per], check.nondet_tol)
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
            if not np.all(_close(analytical, difference, check.rtol, atol)):
                raise GradcheckError(
                    _heading(check, nr, j, forward)
                    + f"numerical:{difference}\nanalytical:{analytical}\n"
                    + _slow_report(check, outputs, k, nr, j, forward)
                )


def _dot(row: Any, u: Any) -> Any:
    if isinstance(u, tuple):
        return np.dot(row.real, u[0]) + 1j * np.dot(row.imag, u[1])
    return np.dot(row, u)


def _products_twice(check: _Check, output: Tensor, v: Any) -> list[Any]:
    inputs = [check.inputs[i] for i in check.wanted]
    start = make(np.reshape(v, output._data.shape))
    rounds = []
    for _ in range(2):
        gradients = vector_times(output, inputs, start)
        _check_kind(check, gradients, inputs)
        rounds.append(
            [
                np.zeros(x._data.size, x._data.dtype) if g is None else np.reshape(g._data, -1)
                for g, x in zip(gradients, inputs, strict=True)
            ]
        )
    _check_repeatable(check, *rounds)
    return rounds[0]


def _slow_report(check: _Check, outputs: Any, k: int, nr: int, j: int, forward: bool) -> str:
    """The whole Jacobians, for the message of a failed fast check."""
    i = check.wanted[j]
    differences = numerical(check.func, check.inputs, i, check.eps)[k]
    if forward:
        places = [m for m, o in enumerate(outputs) if differentiable(o)]
        analytical = by_forward(check.func, check.inputs, i)[places.index(k)]
    else:
        analytical = by_reverse(outputs[k], [check.inputs[i]])[0][0]
    near = _close(analytical, differences, check.rtol, check.atol)
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
    return text + _worst(check, analytical, differences, near, j)


# --- smaller checks ------------------------------------------------------------------------------


def _check_linear(check: _Check, outputs: list[Tensor]) -> None:
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


def _check_undefined(check: _Check) -> None:
    """Backward must take a missing gradient for zero: of all outputs, and of each by itself."""
    inputs = [check.inputs[i] for i in check.wanted]
    count = len(_recorded(as_tuple(check.func(*check.inputs))))
    cases = [set(range(count))] + ([{i} for i in range(count)] if count > 1 else [])
    for without in cases if count else ():
        outputs = [
            _Undefined.apply(o) if i in without else o
            for i, o in enumerate(_recorded(as_tuple(check.func(*check.inputs))))
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
        stacklevel=4,
    )


def _check_undefined_tangents(check: _Check) -> None:
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


def _check_batched(check: _Check, output: Tensor, nr: int) -> None:
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


def _check_batched_forward(check: _Check) -> None:
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


def _tangents_of(check: _Check, i: int, tangent: Tensor) -> list[Any]:
    return tangents_along(check.func, check.inputs, {i: tangent._data})


# --- second order --------------------------------------------------------------------------------


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of `func` agree with finite differences.

    What is checked is the function `(inputs, grad_outputs) ↦ gradients of the inputs`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_rev_over_rev to be True"
        )
    arguments = as_tuple(inputs)
    if grad_outputs is None:
        outputs = _recorded(as_tuple(func(*arguments)))
        starts = tuple(_random_start(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        starts = as_tuple(grad_outputs)
    # Forward mode is given detached inputs: remember which ones are to be differentiated.
    wanted = {i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad}
    wanted_starts = {i for i, x in enumerate(starts) if x.requires_grad}

    def gradient(*values: Any) -> Any:
        head = tuple(
            x.requires_grad_() if i in wanted else x for i, x in enumerate(values[: len(arguments)])
        )
        tail = tuple(
            x.requires_grad_() if i in wanted_starts else x
            for i, x in enumerate(values[len(arguments) :])
        )
        outputs = _recorded(as_tuple(func(*head)))
        chosen = tuple(x for i, x in enumerate(head) if i in wanted)
        found = grad(outputs, chosen, tail, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _random_start(output: Tensor, scattered: bool) -> Any:
    """A random gradient for an output, from the default generator."""
    dtype, shape = output._data.dtype, output._data.shape
    if dtype.kind == "c":
        halves = uniform(
            default_generator, (*shape, 2), -1.0, 1.0, dtype=np.empty(0, dtype).real.dtype
        )
        values = np.reshape(np.ascontiguousarray(halves).view(dtype), shape)
    else:
        values = uniform(default_generator, shape, -1.0, 1.0, dtype=dtype)
    if scattered and len(shape):
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return make(values).requires_grad_()  # type: ignore[attr-defined]
