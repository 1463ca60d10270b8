"""The outcome of a program: run on both engines, its output compared, and a difference investigated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import judge, spread
from .workers import Run, Worker

SIZES = Path(__file__).parent / "sizes.json"


def outcome(
    workers: dict[str, Worker],
    checkout: Path,
    job: dict[str, Any],
    seconds: int,
    theirs: Run | None = None,
) -> dict[str, Any]:
    """Run one on both (or on tautograd, if it has run on PyTorch); returns the outcome."""
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
    # Uninitialised memory differs from run to run, though not between two forks.
    again = workers["torch"].run(checkout, job, rules, seconds, filled=True)
    if not spread.same_length([theirs.out, again.out]):
        return {**result, "outcome": "PyTorch differs from run to run"}
    others = _elsewhere(workers, checkout, job, rules, seconds)
    result["reason"] = judge.first_difference(theirs.out, ours.out)
    if spread.agrees(theirs.out, again.out, others, ours.out):
        shown = spread.first_spread(theirs.out, [again.out, *others], ours.out)
        return {**result, "outcome": "spread", "reason": shown}
    both = [
        workers[e].run(checkout, job, rules, seconds * 6, double=True)
        for e in ("torch", "tautograd")
    ]
    exact = (
        all(r.status == 0 for r in both) and judge.verdict(both[0].out, both[1].out) != "differs"
    )
    return {**result, "outcome": "magnified" if exact else "differs"}


def _elsewhere(
    workers: dict[str, Worker],
    checkout: Path,
    job: dict[str, Any],
    rules: list[list[str]],
    seconds: int,
) -> list[str]:
    """PyTorch's output with other instruction sets and numbers of threads."""
    found = []
    for name, (instructions, threads) in spread.VARIANTS.items():
        if name not in workers:
            workers[name] = Worker("torch", instructions, threads)
        found.append(workers[name].run(checkout, job, rules, seconds * 3))
    return [r.out for r in found if r.status == 0]
