"""A custom Function in isolation: is its rule right for gradients other than those that arrive here?

If a sum follows, only ones arrive, and a rule that swaps two entries looks right. So each rule is also
compared with differences for random gradients. A rule that is not its derivative even for what does
arrive, in a computation whose gradient is right, is compensated elsewhere: that is the program's own
business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..locate.call_gradient import RuleCheck, check_rule
from ..locate.isolated_call import Isolated
from ..locate.tape import Call
from ..numerics.tolerance import WrongEntry
from ..report.findings import Entry
from ..subject.engines import as_reals
from .comparing import Difference
from .problem import Problem

ELSEWHERE = "another than what arrives here"


def wrong_elsewhere(
    problem: Problem, isolated: Isolated, call: Call, results: Sequence[Any], seed: int
) -> Difference | None:
    """Where a rule is not the derivative, though it is for the gradients these results send."""
    verdict = check_rule(isolated, seed)
    if not verdict.wrong:
        return None
    arriving = _arriving(call, isolated, results, seed)
    if arriving is None or not np.any(arriving):
        return None
    here = RuleCheck(isolated, isolated.x, seed, only=arriving)
    if here.entries(here.search()).wrong:
        return None
    entries = [_entry(isolated, one) for one in verdict.wrong]
    gap = abs(entries[0].got - entries[0].expected)
    return Difference(ELSEWHERE, entries, len(entries), gap, entries[0].error)


def _arriving(call: Call, isolated: Isolated, results: Sequence[Any], seed: int) -> Any:
    """What arrives at a call for a random gradient of the results, as one row; None if nothing does."""
    engine = call.engine
    random = np.random.default_rng(seed)
    live = [out for out in results if out.requires_grad]
    outputs = [t for t in call.outputs if t.is_floating_point() or t.is_complex()]
    outputs = [outputs[i] for i in isolated.live if i < len(outputs)]
    if not live or len(outputs) != len(isolated.live):
        return None
    sent = [
        engine.from_numpy(random.uniform(0.5, 1.5, tuple(out.shape))).to(out.dtype) for out in live
    ]
    with without_warnings:
        found = engine.autograd.grad(live, outputs, sent, allow_unused=True, retain_graph=True)
    rows = [
        as_reals(engine.zeros_like(out) if g is None else g)
        for g, out in zip(found, outputs, strict=True)
    ]
    return np.concatenate(rows)


def _entry(isolated: Isolated, one: WrongEntry) -> Entry:
    tensor, index = isolated.place(one.number)
    return Entry(tensor, index, one.expected, one.got, one.error, "the output with random weights")
