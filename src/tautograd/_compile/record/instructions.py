"""From an array function that was called to instructions: what is known by name, and a plain call else.

What becomes a typed instruction can be fused, planned and compiled; all other functions stay calls from
Python, with the same arguments, and so mean what they meant.
"""

from __future__ import annotations

from typing import Any

from ..program.ir import Call, Instruction
from . import compute_rules, move_rules
from .array_calls import Noted, Rule

_METHODS: dict[str, Rule] = {**compute_rules.METHODS, **move_rules.METHODS}
_RULES: dict[Any, Rule] = {**compute_rules.RULES, **move_rules.RULES}


def instructions_for(tape: Any, call: Noted) -> list[Instruction]:
    """The instructions that do what the call did."""
    rule: Rule | None
    if call.ufunc is not None:
        rule = _METHODS.get(call.method)
    else:
        rule = _RULES.get(call.function)
    found = rule(tape, call) if rule is not None else None
    return [_as_call(tape, call)] if found is None else found


def _as_call(tape: Any, call: Noted) -> Call:
    name = getattr(call.function, "__name__", str(call.function)).lstrip("_")
    if call.ufunc is not None and call.method != "__call__":
        name = f"{call.ufunc.__name__}.{call.method}"
    takes_out = call.method in ("__call__", "reduce", "accumulate") and len(call.outputs) == 1
    return Call(
        call.function,
        tape.views(call.args),
        tape.views(call.kwargs),
        tuple(call.outputs),
        tuple(call.targets),
        name=name,
        takes_out=takes_out and "out" not in call.kwargs,
    )
