"""How a program came out: run on both engines, its text compared, and a difference looked into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import judge
from .workers import Run, Worker

SIZES = Path(__file__).parent / "sizes.json"


def outcome(
    workers: dict[str, Worker],
    checkout: Path,
    job: dict[str, Any],
    seconds: int,
    theirs: Run | None = None,
) -> dict[str, Any]:
    """Run one on both (or on tautograd, where it has run on PyTorch); what is to be said of it."""
    rules = json.loads(SIZES.read_text())
    theirs = theirs or workers["torch"].run(checkout, job, rules, seconds)
    if theirs.status:
        return {"outcome": "PyTorch stops", "reason": theirs.err.strip()[-200:]}
    ours = workers["tautograd"].run(checkout, job, rules, seconds * 6)
    result: dict[str, Any] = {"torch_cpu": theirs.cpu, "cpu": ours.cpu}
    if ours.status:
        reason = ours.err.strip().rpartition("\n")[2][:300] or f"status {ours.status}"
        return {**result, "outcome": "stops", "reason": reason, "trace": ours.err[-1500:]}
    found = judge.verdict(theirs.out, ours.out)
    if found != "differs":
        return {**result, "outcome": found}
    # What memory holds that nobody has written to differs from run to run, if not between two forks.
    again = workers["torch"].run(checkout, job, rules, seconds, filled=True)
    if judge.verdict(theirs.out, again.out) != "same":
        return {**result, "outcome": "PyTorch differs from run to run"}
    both = [
        workers[e].run(checkout, job, rules, seconds * 6, double=True)
        for e in ("torch", "tautograd")
    ]
    exact = (
        all(r.status == 0 for r in both) and judge.verdict(both[0].out, both[1].out) != "differs"
    )
    return {
        **result,
        "outcome": "magnified" if exact else "differs",
        "reason": judge.first_difference(theirs.out, ours.out),
    }
