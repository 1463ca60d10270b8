"""Would a wrong rule be noticed? Every VJP and JVP rule is broken on purpose, in three ways.

Per input: sign flipped, scaled by 1.01, zeroed. Of a joint VJP every slot it returns, of a joint JVP every
tangent it is given and every one it returns; a slot that no sample reaches is a failure. LINEAR and
MULTILINEAR stand for explicit rules, which are broken likewise. Each must fail the first-order
check of test_numerical; a rule that is zero everywhere (a step function's) cannot be broken by a
factor, so it is given a slope instead. Caught and total are printed; one not caught is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tautograd._ops.declare.record import LINEAR, Op
from tests.planted_rules import declared

from .cases import RECORDS, record
from .gradient_checks import cotangents, first_order_problems, random_like
from .reporting import Problems
from .rules import (
    RecordCall,
    calls_of,
    only_refuses,
    refuses_derivative,
    run_jvp,
    run_vjp,
    zero_like,
)

DIFFERENTIABLE = [name for name in RECORDS if record(name).differentiable]
CHANGES: dict[str, Callable[[Any], Any]] = {
    "sign flipped": lambda x: -x,
    "scaled by 1.01": lambda x: x * 1.01,
    "zeroed": lambda x: x * 0,
}
SLOPES: dict[str, Callable[[Any], Any]] = {
    "given a slope of 1": lambda x: x + 1,
    "given a slope of -1": lambda x: x - 1,
    "given a slope of 0.01": lambda x: x + 0.01,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_broken_rules_are_caught(name: str, tally: Any) -> None:
    op = record(name)
    calls = _instructive(name)
    problems = Problems(name)
    if refuses_derivative(name):
        return
    vjp, jvp = declared(op)
    for part in unreached(op, calls):
        problems.add("all samples", f"{part} is reached by none")
    try:
        for what, broken_vjp, broken_jvp in mutants(op, calls, vjp, jvp):
            op.set_rules(broken_vjp, broken_jvp)
            tally("broken rules")
            if any(next(first_order_problems(call), None) for call in calls):
                tally("broken rules caught")
            else:
                problems.add("all samples", f"{what}: not caught")
    finally:
        op.set_rules(vjp, jvp)
    problems.fail_if_any()


def _instructive(name: str) -> list[RecordCall]:
    """Calls that reach a rule: the smallest few, in real and complex numbers."""
    calls = [c for d in ("float64", "complex128") for c in calls_of(name, d) if c.checkable()]
    return sorted(calls, key=lambda c: sum(x.size for x in c.inputs if hasattr(x, "size")))


def mutants(op: Op, calls: list[RecordCall], vjp: Any, jvp: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every broken version of a record's rules: (what was done, vjp, jvp)."""
    explicit = _explicit(op, calls, jvp) if isinstance(jvp, str) else jvp
    vjp_parts, jvp_parts = _live_parts(calls, joint_jvp=callable(explicit))
    for part, rule in _parts(op, vjp, vjp_parts):
        for how, change in (CHANGES if vjp_parts.get(part, True) else SLOPES).items():
            yield f"VJP of {_named(op, part)} {how}", _with(vjp, part, rule, change), jvp
    for part, rule in _parts(op, explicit, jvp_parts):
        for how, change in (CHANGES if jvp_parts.get(part, True) else SLOPES).items():
            yield f"JVP of {_named(op, part)} {how}", vjp, _with(explicit, part, rule, change)

    if callable(explicit):
        for slot, is_live in _live_tangents(calls).items():
            for how, change in CHANGES.items() if is_live else ():
                what = f"JVP along {op.inputs[min(slot, len(op.inputs) - 1)]} {how}"
                yield what, vjp, _with_tangent(explicit, slot, change)


def unreached(op: Op, calls: list[RecordCall]) -> list[str]:
    """Inputs of a joint rule that are numbers with a derivative, and in no call are given as such."""
    if not op.joint or op.variadic or not calls:
        return []
    given = {i for call in calls for i, x in enumerate(call.inputs) if x is not None}
    exact = {
        i for call in calls for i, x in enumerate(call.inputs) if i not in call.slots()
    } & given
    reached = {slot for call in calls for slot in call.slots()}
    return [name for i, name in enumerate(op.inputs) if i not in reached | exact]


def _live_tangents(calls: list[RecordCall]) -> dict[int, bool]:
    """For each input: whether anything moves with it somewhere."""
    live: dict[int, bool] = {}
    for call in calls:
        out = call.forward()
        for slot in call.slots():
            tangents = run_jvp(call, call.inputs, out, {slot: random_like(call.inputs[slot], 1)})
            live[slot] = live.get(slot, False) or any(map(np.any, tangents))
    return live


def _named(op: Op, part: Any) -> str:
    return part if isinstance(part, str) else f"slot {part}"


def _parts(op: Op, rules: Any, live: dict[Any, bool]) -> Iterator[tuple[Any, Any]]:
    """What can be broken on its own: each input's rule, or each slot of a joint rule."""
    if isinstance(rules, dict):
        yield from ((name, rule) for name, rule in rules.items() if not only_refuses(rule))
    elif rules is not None:
        for slot in sorted(s for s in live if isinstance(s, int)):
            yield slot, rules


def _live_parts(
    calls: list[RecordCall], joint_jvp: bool
) -> tuple[dict[Any, bool], dict[Any, bool]]:
    """For each part of the VJP and of the JVP: whether it is other than zero somewhere."""
    vjp_live: dict[Any, bool] = {}
    jvp_live: dict[Any, bool] = {}
    for call in calls:
        op, out = call.op, call.forward()
        g = cotangents(call, out, 11)
        for slot, gradient in zip(call.slots(), run_vjp(call, call.inputs, out, g), strict=True):
            part = slot if op.joint else op.inputs[slot]
            vjp_live[part] = vjp_live.get(part, False) or bool(np.any(gradient))
            tangents = run_jvp(call, call.inputs, out, {slot: random_like(call.inputs[slot], 1)})
            for nr, tangent in enumerate(tangents):
                part = nr if joint_jvp else op.inputs[slot]
                jvp_live[part] = jvp_live.get(part, False) or bool(np.any(tangent))
    return vjp_live, jvp_live


def _with(rules: Any, part: Any, rule: Any, change: Callable[[Any], Any]) -> Any:
    """The rules with one part of them changed."""
    if isinstance(rules, dict):
        return {**rules, part: _wrapped(rule, lambda result: _each(result, change))}

    def change_slot(result: Any) -> Any:
        if not isinstance(result, (tuple, list)):
            return change(result)
        return tuple(change(r) if i == part and r is not None else r for i, r in enumerate(result))

    return _wrapped(rule, change_slot)


def _with_tangent(rule: Any, slot: int, change: Callable[[Any], Any]) -> Any:
    """A joint JVP that is given one tangent changed."""

    def before(t: Any) -> tuple[Any, ...]:
        return tuple(change(x) if i == slot and x is not None else x for i, x in enumerate(t))

    code = rule.__code__
    names = code.co_varnames[: code.co_argcount]
    given = ", ".join(f"before({n})" if n == "t" else n for n in names)
    return eval(f"lambda {', '.join(names)}: rule({given})", {"rule": rule, "before": before})


def _each(result: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(result, (tuple, list)):
        return tuple(None if r is None else change(r) for r in result)
    return change(result)


def _wrapped(rule: Any, after: Callable[[Any], Any]) -> Any:
    """A rule with the same parameter names, since those say what it is given."""
    code = rule.__code__
    names = ", ".join(code.co_varnames[: code.co_argcount])
    return eval(f"lambda {names}: after(rule({names}))", {"rule": rule, "after": after})


def _explicit(op: Op, calls: list[RecordCall], jvp: str) -> Any:
    """What LINEAR or MULTILINEAR stand for, written as rules."""
    parameters = list(calls[0].parameters) if calls else []
    given = ", ".join(f"{p}={p}" for p in parameters)
    known = {"forward": op.forward, "zero": zero_like}
    if op.variadic:
        return eval(f"lambda {', '.join(['t', *parameters])}: forward(*t, {given})", known)
    other = "zero({})" if jvp == LINEAR else "{}"
    rules = {}
    for name in op.inputs:
        names = ", ".join(["t", *(n for n in op.inputs if n != name), *parameters])
        inputs = ", ".join("t" if n == name else other.format(n) for n in op.inputs)
        rules[name] = eval(f"lambda {names}: forward({inputs}, {given})", known)
    return {n: r for n, r in rules.items() if any(n in _reached(op, c) for c in calls)}


def _reached(op: Op, call: RecordCall) -> set[str]:
    return {op.inputs[slot] for slot in call.slots()}
