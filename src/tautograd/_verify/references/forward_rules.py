"""Which operation's forward rule is wrong, when forward mode and backward disagree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._stand_ins.slots import replace
from ..locate.isolated_call import Isolated
from ..locate.tape import Call
from ..locate.trace import trace
from ..numerics.differences import directional
from ..numerics.signs import sign_vectors
from ..report.findings import Entry, Suspect
from ..subject.engines import as_reals

NOTE = "its backward is right, but its forward-mode rule (jvp) is not"

NO_RULE = "it has no forward-mode rule (jvp), and drops the tangent"


def wrong_forward_rules(engine: Any, run: Callable[[], Any], seed: int) -> list[Suspect]:
    """The calls of `run()` whose tangent is not the derivative of their values."""
    with engine.enable_grad():
        tape = trace(engine, run)
    suspects: list[Suspect] = []
    for call in sorted(tape.calls, key=lambda c: not c.custom):
        try:
            entry = _wrong_tangent(engine, call, seed)
        except Exception:  # not every call can run in isolation, or has a forward rule
            continue
        if entry is not None:
            note = NO_RULE if np.isnan(entry.got) and _is_registered(call.function) else NOTE
            suspects.append(
                Suspect(call.name, call.node_name, call.module, call.site, [entry], note)
            )
    return suspects


def runs_elsewhere(run: Callable[[], Any]) -> bool:
    """Whether a computation starts threads: forward mode's levels are thread-local, gradients are not."""
    started = False
    own = threading.get_ident()

    def seen(below: Any) -> Any:
        def start(thread: threading.Thread) -> None:
            nonlocal started
            started = started or threading.get_ident() == own
            below(thread)

        return start

    end = replace(threading.Thread, "start", seen)
    try:
        run()
    finally:
        end()
    return started


def _is_registered(function: Any) -> bool:
    """Whether it is an operator that a third party registered with the engine, not one of its own."""
    return getattr(function, "namespace", "aten") not in ("aten", "prims", "prim")


def _wrong_tangent(engine: Any, call: Call, seed: int) -> Entry | None:
    alone = Isolated(engine, call, double=True)
    if not alone.x.size or not alone.y.size:
        return None
    (direction,) = sign_vectors(1, alone.x.size, seed)
    ad = engine.autograd.forward_ad
    with ad.dual_level():
        duals = [
            ad.make_dual(t, d)
            for t, d in zip(alone._tensors(alone.x), alone._tensors(direction), strict=True)
        ]
        outputs = alone._run(duals)
        parts = []
        dropped = all(ad.unpack_dual(outputs[i]).tangent is None for i in alone.live)
        for i in alone.live:
            primal, tangent = ad.unpack_dual(outputs[i])
            parts.append(as_reals(engine.zeros_like(primal) if tangent is None else tangent))
    pushed = np.concatenate(parts)
    found = directional(alone.values, alone.x, direction[None], claimed=pushed[None])
    gap = np.abs(found.value[0] - pushed)
    allowed = found.error[0] + 1e-9 * np.abs(found.value[0]).max(initial=0.0)
    wrong = found.finite[0] & ~found.kink[0] & (gap > allowed)
    if not wrong.any():
        return None
    at = int(np.argmax(np.where(wrong, gap, -1.0)))
    got = np.nan if dropped else float(pushed[at])
    return Entry(
        "tangent of the output", (at,), float(found.value[0, at]), got,
        float(found.error[0, at]),
    )  # fmt: skip
