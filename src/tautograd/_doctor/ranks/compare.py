"""The notes of all ranks compared: where replicas part, which rank it was, which parameter and which line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..._user_code.sites import Site
from ..report.findings import Finding

Note = dict[str, Any]

PAGES = {
    "TGR01": ("replicas-differ", "Replicas that differ are different models: their averaged gradients fit none."),
    "TGR02": ("wrapper-bypassed", "Only a call of the wrapper averages gradients; its module's own does not."),
    "TGR03": ("clipped-on-some-ranks", "The same averaged gradient has to become the same update on every rank."),
    "TGR04": ("steps-differ", "A rank that makes another number of steps has another model, or leaves others waiting."),
    "TGR05": ("not-averaged", "Inside of no_sync() gradients stay on their rank: each takes a step of its own."),
    "TGR06": ("averaged-twice", "Backward through the wrapper has averaged already; again is another scale."),
    "TGR07": ("epoch-never-set", "Without set_epoch() every epoch has the same order, and ranks the same part of it."),
    "TGR08": ("samples-overlap", "Ranks are to share out the data; some of it is seen twice, other never."),
    "TGR09": ("same-batch-everywhere", "Ranks that train on the same batch do the work of one."),
    "TGR10": ("equal-worker-seeds", "Workers of all ranks draw the same random numbers: augmentations repeat."),
    "TGR11": ("settings-differ", "An optimizer with other settings makes another update of the same gradient."),
}  # fmt: skip


def read(folder: Path, ranks: int) -> list[list[Note]]:
    """The notes of each rank, as far as they were written."""
    found = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        notes = []
        for line in lines:
            try:
                notes.append(json.loads(line))
            except json.JSONDecodeError:  # the last one of a rank that was killed
                break
        found.append(notes)
    return found


def _finding(
    code: str, message: str, line: str | None, step: int = 0, parameters: Sequence[str] = ()
) -> Finding:
    name, why = PAGES[code]
    site = None
    if line is not None:
        file, _, number = line.rpartition(":")
        site = Site(file, int(number))
    severity = "warning" if code in ("TGR07", "TGR10") else "error"
    return Finding(code, name, message, severity, step, site, why=why, parameters=list(parameters))


def ranks_text(ranks: Sequence[int]) -> str:
    """`rank 2` or `ranks 1 and 3`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def odd_ones(values: Sequence[Any]) -> list[int]:
    """The ranks that have something else than most have; of two that differ, the second."""
    keys = [json.dumps(value, sort_keys=True) for value in values]
    usual = Counter(keys).most_common(1)[0][0]
    return [rank for rank, key in enumerate(keys) if key != usual]


def compare(ranks: list[list[Note]]) -> list[Finding]:
    """What is wrong, causes before what follows from them."""
    steps = [[note for note in notes if note["kind"] == "step"] for notes in ranks]
    found = list(_causes(ranks, steps))
    told = {finding.code for finding in found}
    if not told & {"TGR02", "TGR03", "TGR04", "TGR05", "TGR11"}:
        found += _replicas(steps)
    return found


def _kinds(ranks: list[list[Note]], kind: str) -> list[list[Note]]:
    return [[note for note in notes if note["kind"] == kind] for notes in ranks]


def _causes(ranks: list[list[Note]], steps: list[list[Note]]) -> Iterator[Finding]:
    yield from _bypassed(steps)
    yield from _clipped(steps)
    yield from _unsynced(steps)
    yield from _averaged_twice(steps)
    yield from _settings(steps)
    if not any(_kinds(ranks, "join")):  # which is for ranks with unequal numbers of batches
        yield from _counts(steps, _kinds(ranks, "batch"))
    yield from _epochs(_kinds(ranks, "epoch"))
    yield from _batches(steps)
    yield from _workers(_kinds(ranks, "workers"))


def _bypassed(steps: list[list[Note]]) -> Iterator[Finding]:
    for line in {line for own in steps for step in own for line in step["bypassed"]}:
        who = [r for r, own in enumerate(steps) if any(line in step["bypassed"] for step in own)]
        first = min(s["n"] for own in steps for s in own if line in s["bypassed"])
        yield _finding(
            "TGR02", f"{ranks_text(who)} called the module inside of DistributedDataParallel, not the wrapper: "
            "its gradients are not averaged", line, first,
        )  # fmt: skip


def _clipped(steps: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*steps, strict=False):
        counts = [len(step["clips"]) for step in row]
        if len(set(counts)) > 1:
            odd = odd_ones([bool(count) for count in counts]) or odd_ones(counts)
            line = next(step["clips"][0] for step in row if step["clips"])
            says = "clipped" if counts[odd[0]] else "did not clip"
            names = list(row[0]["parameters"])[:1]
            yield _finding(
                "TGR03", f"at step {row[0]['n']} {ranks_text(odd)} {says} the gradients, the others "
                f"{'did not' if says == 'clipped' else 'did'}", line, row[0]["n"], names,
            )  # fmt: skip
            return


def _unsynced(steps: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*steps, strict=False):
        who = [rank for rank, step in enumerate(row) if step["unsynced"] and not step["synced"]]
        if who:
            step = row[who[0]]
            yield _finding(
                "TGR05", f"step {step['n']} of {ranks_text(who)} follows backward passes inside of no_sync() "
                f"alone: the gradients were never averaged (optimizer.step() at {step['line']})",
                step["unsynced"][-1], step["n"],
            )  # fmt: skip
            return


def _averaged_twice(steps: list[list[Note]]) -> Iterator[Finding]:
    size = len(steps)
    for row in zip(*steps, strict=False):
        for rank, step in enumerate(row):
            ratio = step["ratio"]
            if not step["synced"] or step["clips"] or ratio is None or size < 2:
                continue
            scaled = abs(ratio * size - 1) < 1e-3 or abs(ratio / size - 1) < 1e-3
            if step["reduced"] or scaled:
                times = f"{ratio:.4g} times as large" if scaled else "sent a second time"
                line = step["reduced"][0] if step["reduced"] else step["line"]
                yield _finding(
                    "TGR06", f"rank {rank}: between backward ({step['backward']}), which averages, and step "
                    f"{step['n']} every gradient became {times}: averaged by hand as well", line, step["n"],
                )  # fmt: skip
                return


def _settings(steps: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*steps, strict=False):
        odd = odd_ones([step["settings"] for step in row])
        if odd:
            yield _finding(
                "TGR11", f"at step {row[0]['n']} the optimizer of {ranks_text(odd)} has other settings (lr, weight "
                f"decay, momentum): {row[odd[0]]['settings']}", row[odd[0]]["line"], row[0]["n"],
            )  # fmt: skip
            return


def _counts(steps: list[list[Note]], batches: list[list[Note]]) -> Iterator[Finding]:
    counts = [len(own) for own in steps]
    odd = odd_ones(counts)
    if not odd:
        yield from _begun(batches)
        return
    usual = next(counts[r] for r in range(len(counts)) if r not in odd)
    lines = [own[-1]["line"] for own in steps if own]
    yield _finding(
        "TGR04", f"{ranks_text(odd)} made {counts[odd[0]]} steps, the others {usual}: unequal numbers of batches, or "
        "a step that was skipped", lines[0] if lines else None, min(counts),
    )  # fmt: skip


def _begun(batches: list[list[Note]]) -> Iterator[Finding]:
    """Batches for which other ranks had none: they wait for gradients that never come."""
    counts = [len(own) for own in batches]
    if odd := odd_ones(counts):
        usual = next(counts[r] for r in range(len(counts)) if r not in odd)
        most = max(batches, key=len)
        yield _finding(
            "TGR04", f"{ranks_text(odd)} began {counts[odd[0]]} batches, the others {usual}: unequal numbers of "
            "batches, of which the last wait for ranks that have ended (`model.join()` is for that)",
            most[-1]["line"], min(counts),
        )  # fmt: skip


def _epochs(epochs: list[list[Note]]) -> Iterator[Finding]:
    for rank, own in enumerate(epochs):
        shuffled = [note for note in own if note["shuffle"]]
        if len(shuffled) > 1 and len({note["epoch"] for note in shuffled}) == 1:
            yield _finding(
                "TGR07", f"rank {rank} began {len(shuffled)} epochs with the sampler's epoch at "
                f"{shuffled[0]['epoch']} each time: sampler.set_epoch(epoch) is never called", shuffled[0]["line"],
            )  # fmt: skip
            break
    for row in zip(*epochs, strict=False):
        if len(row) < 2:
            continue
        seen = Counter(index for note in row for index in set(note["indices"]))
        twice = sum(1 for count in seen.values() if count > 1)
        padding = sum(len(note["indices"]) for note in row) - row[0]["length"]
        if twice > max(padding, 0):
            odd = odd_ones(
                [[note["seed"], note["epoch"], note["replicas"], note["shuffle"]] for note in row]
            )
            reason = f": {ranks_text(odd)} shuffles with another seed or epoch" if odd else ""
            yield _finding(
                "TGR08", f"{twice} of {row[0]['length']} samples are given to more than one rank{reason}",
                row[odd[0] if odd else 0]["line"],
            )  # fmt: skip
            return


def _batches(steps: list[list[Note]]) -> Iterator[Finding]:
    rows = [row for row in zip(*steps, strict=False) if all(step["batch"] for step in row)]
    if (
        len(steps) > 1
        and len(rows) > 1
        and all(len({s["batch"] for s in row}) == 1 for row in rows)
    ):
        yield _finding(
            "TGR09", f"all {len(steps)} ranks train on the same batch at every step: the data is not shared out "
            "(DistributedSampler does)", rows[0][0]["line"], 1,
        )  # fmt: skip


def _workers(workers: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*workers, strict=False):
        seeds = [note["seed"] for note in row]
        if len(row) > 1 and seeds[0] is not None and len(set(seeds)) == 1:
            yield _finding(
                "TGR10", f"the DataLoader's workers of all {len(row)} ranks start from the same seed ({seeds[0]})",
                row[0]["line"],
            )  # fmt: skip
            return


def _replicas(steps: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*steps, strict=False):
        for name in row[0]["parameters"]:
            odd = odd_ones([step["parameters"].get(name) for step in row])
            if not odd:
                continue
            same = not odd_ones([step["gradients"].get(name) for step in row])
            reason = "since its gradient differed before the step"
            if same:
                reason = "though its gradient was the same"
                if odd_ones([step["states"] for step in row]):
                    reason += ": the optimizer's states differ, too"
            others = sum(
                1 for n in row[0]["parameters"] if odd_ones([s["parameters"].get(n) for s in row])
            ) - 1  # fmt: skip
            more = f" (and {others} more parameters)" if others else ""
            yield _finding(
                "TGR01", f"after step {row[0]['n']} '{name}' of {ranks_text(odd)} is not what the others have{more}, "
                f"{reason}", row[odd[0]]["line"], row[0]["n"], [name],
            )  # fmt: skip
            return
