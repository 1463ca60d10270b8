"""Question 3: does every record run on arrays that give nothing away but NumPy's protocols?

Each record's forward and rules run on `foreign.Foreign` arrays, on the very calls its samples make,
and must give what they give on plain arrays, as foreign arrays again. Whatever asks for values on
the way (an `if`, a loop over elements, a NumPy call outside the protocols) raises and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tautograd._autograd.lifted import Lifted, lift
from tautograd._tensor.tensor import make

from .cases import RECORDS, record
from .foreign import Foreign, ValuesRefusedError, hide, hide_arrays, reveal
from .gradient_checks import cotangents, direction
from .reporting import Problems
from .rules import RecordCall, calls_of, run_jvp, run_vjp, why_silent
from .tolerance import PATTERNS, STEP

# The shape of the result depends on values, so no array type could hide them: the only exceptions.
SHAPE_DEPENDS_ON_VALUES: dict[str, str] = {
    "bincount": "as long as the largest element",
    "masked_select": "as long as the mask is true",
    "nonzero": "as many rows as there are elements other than zero",
    "unique2": "as long as there are distinct elements",
    "unique_consecutive": "as long as there are runs",
    "unique_dim": "as long as there are distinct slices",
}


# What NumPy's protocols do not carry.
OUTSIDE_THE_PROTOCOLS: dict[str, str] = {
    "view_dtype": "an array's bytes as elements of another dtype",
}
EXCEPTIONS = {**SHAPE_DEPENDS_ON_VALUES, **OUTSIDE_THE_PROTOCOLS}


@pytest.mark.parametrize("name", [n for n in RECORDS if n not in EXCEPTIONS])
def test_runs_on_foreign_arrays(name: str, tally: Any) -> None:
    problems = Problems(name)
    checked = 0
    for dtype in ("float64", "complex128", "int64", "bool"):
        for call in calls_of(name, dtype):
            checked += 1
            try:
                for problem in seam_problems(call):
                    problems.add(call.label, problem, dtype)
            except ValuesRefusedError as error:
                problems.add(call.label, str(error), dtype)
            except Exception as error:
                problems.add(call.label, f"{type(error).__name__}: {error}", dtype)
    if not checked:
        problems.add("samples", f"not reached: {why_silent(name)}")
    tally("calls on foreign arrays", checked)
    tally("records run on foreign arrays")
    problems.fail_if_any()


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_are_exceptions(name: str) -> None:
    """A record listed above cannot run on a foreign array; otherwise it has no place there."""
    call = calls_of(name, "int64")[0]
    with pytest.raises((ValuesRefusedError, AttributeError)):
        call.op.forward(*hide_arrays(call.inputs), **hide_arrays(call.parameters))


def seam_problems(call: RecordCall) -> Iterator[str]:
    """Forward, VJP and JVP on foreign arrays against the same on plain ones."""
    plain = call.forward()
    foreign = RecordCall(call.op, call.label, call.inputs, hide_arrays(call.parameters))
    inputs = hide_arrays(call.inputs)
    out = call.op.forward(*inputs, **foreign.parameters)
    yield from _same("forward", out, lambda nudge: call.forward(_nudged(call.inputs, nudge)))
    if not call.op.differentiable or not call.slots() or call.refuses():
        return
    out = hide(reveal(out))
    g = cotangents(call, plain, 1)

    def vjp(nudge: Nudge) -> Any:
        moved = _nudged(call.inputs, nudge)
        return run_vjp(call, moved, call.forward(moved), _nudged(g, nudge), fit=False)

    yield from _same("VJP", run_vjp(foreign, inputs, out, hide(g), fit=False), vjp)
    for slot in call.slots():
        t = direction(call, slot, 1)

        def jvp(nudge: Nudge, slot: int = slot, t: Any = t) -> Any:
            moved = _nudged(call.inputs, nudge)
            return run_jvp(call, moved, call.forward(moved), {slot: _nudged([t], nudge)[0]})

        have = run_jvp(foreign, inputs, out, {slot: Foreign(t)})
        yield from _same(f"JVP of {call.op.inputs[min(slot, len(call.op.inputs) - 1)]}", have, jvp)


Nudge = tuple[float, int] | None  # a relative change of all inputs, and the pattern of its signs


def _nudged(values: Any, nudge: Nudge) -> Any:
    if nudge is None:
        return values
    step, pattern = nudge
    rng = np.random.default_rng(pattern)

    def moved(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return x
        return x * (1 + step * rng.choice([-1.0, 1.0], x.shape))

    return type(values)(moved(x) for x in values)


def _same(what: str, have: Any, plain_run: Callable[[Nudge], Any]) -> Iterator[str]:
    """What differs between a result on foreign arrays and the plain run's."""
    yield from _compare(what, have, plain_run(None), plain_run)


def _compare(what: str, have: Any, want: Any, plain_run: Callable[[Nudge], Any]) -> Iterator[str]:
    if isinstance(want, (tuple, list)):
        for i, (a, b) in enumerate(zip(have, want, strict=True)):
            yield from _compare(f"{what} {i}", a, b, lambda nudge, i=i: plain_run(nudge)[i])
    elif want is not None and isinstance(want, (np.ndarray, np.generic)):
        if not isinstance(have, Foreign):
            yield f"{what} gave a plain {type(have).__name__}, not a foreign array"
        elif have.dtype != want.dtype or have.shape != want.shape:
            yield f"{what}: {have} for {want.dtype} {want.shape}"
        elif not _alike(reveal(have), want, plain_run):
            yield f"{what} differs from the plain run"


def _alike(have: Any, want: Any, plain_run: Callable[[Nudge], Any]) -> bool:
    """Equal, or as close as the same function of memory that lies otherwise must be.

    NumPy and BLAS add in an order that depends on the strides and on the CPU. So the tolerance is
    that of `tolerance`, K · eps · (|want| + S), with the condition S measured on the plain run.
    """
    if want.dtype.kind not in "fc":
        return np.array_equal(have, want)
    roundings = 4 * max(want.size, 4) ** 0.5 * float(np.finfo(want.dtype).eps)
    with np.errstate(all="ignore"):
        if np.allclose(have, want, roundings, np.finfo(want.dtype).tiny, equal_nan=True):
            return True
        moves = max(
            np.max(np.abs(plain_run((STEP, k)) - plain_run((-STEP, k))), initial=0.0) / (2 * STEP)
            for k in range(PATTERNS)
        )
        return bool(np.allclose(have, want, roundings, roundings * moves, equal_nan=True))


def test_a_foreign_array_gives_nothing_away() -> None:
    x = Foreign(np.arange(3.0))
    for ask in (
        float, int, bool, complex, list, np.asarray, np.array, len, np.nonzero,
        lambda a: a.item(), lambda a: a.tolist(), lambda a: a.sum(), lambda a: 1.0 in a,
        lambda a: [1, 2, 3][a], lambda a: a[a > 1], lambda a: np.allclose(a, a), lambda a: a.T,
    ):  # fmt: skip
        with pytest.raises((ValuesRefusedError, TypeError, AttributeError)):
            ask(x)
    assert isinstance(np.sum(x * 2), Foreign)


# --- rules on tensors ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in RECORDS if record(n).differentiable])
def test_rules_stay_on_tensors(name: str, tally: Any) -> None:
    """Under `create_graph=True` a rule is given lifted tensors; what it returns must be lifted too.
    A raw array would be a constant: a second derivative of zero, without a word."""
    problems = Problems(name)
    for dtype in ("float64", "complex128"):
        for call in calls_of(name, dtype):
            if call.slots() and not call.refuses():
                for problem in _leaves_tensors(call):
                    problems.add(call.label, problem, dtype)
                tally("calls with rules on tensors")
    problems.fail_if_any()


def _leaves_tensors(call: RecordCall) -> Iterator[str]:
    plain = call.forward()

    def lifted(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            return lift(make(np.copy(value)).requires_grad_())
        if isinstance(value, (tuple, list)):
            return type(value)(lifted(v) for v in value)
        return lift(make(value)) if isinstance(value, np.ndarray) else value

    slots = call.slots()
    inputs = tuple(
        lifted(x) if i in slots else lift(make(x)) if isinstance(x, np.ndarray) else x
        for i, x in enumerate(call.inputs)
    )
    out = lifted(plain)
    g = [lifted(x) for x in cotangents(call, plain, 1)]
    try:
        gradients = run_vjp(call, inputs, out, g, fit=False)
    except Exception as error:
        yield f"VJP: {type(error).__name__}: {error}"
        return
    for slot, gradient in zip(slots, gradients, strict=True):
        if gradient is not None and not isinstance(gradient, Lifted):
            yield f"the VJP of input {slot} leaves tensors: {type(gradient).__name__}"
