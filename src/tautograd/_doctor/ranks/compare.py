"""The notes of all ranks compared: where replicas part, which rank it was, which parameter and which line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..._user_code.sites import Site
from ..report.findings import Finding
from .pages import PAGES, WARNINGS

Note = dict[str, Any]


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
    severity = "warning" if code in WARNINGS else "error"
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
        found += _replicas(ranks, steps)
    return found


def _kinds(ranks: list[list[Note]], kind: str) -> list[list[Note]]:
    return [[note for note in notes if note["kind"] == kind] for notes in ranks]


def _causes(ranks: list[list[Note]], steps: list[list[Note]]) -> Iterator[Finding]:
    yield from _bypassed(steps)
    yield from _clipped(steps)
    yield from _unsynced(steps)
    yield from _averaged_twice(steps)
    yield from _settings(steps)
    modes = list(_modes(steps))
    yield from modes
    parted = list(_collectives(_kinds(ranks, "collective")))
    yield from parted
    # `join` is for ranks with unequal numbers of batches.
    if not any(_kinds(ranks, "join")) and not modes and not parted and _are_replicas(ranks):
        yield from _counts(steps, _kinds(ranks, "batch"))
    epochs = _kinds(ranks, "epoch")
    data = list(_datasets(epochs)) or list(_epochs(epochs))
    yield from data
    if not any(finding.code == "TGR08" for finding in data):
        yield from _batches(steps)
    yield from _workers(_kinds(ranks, "workers"))
    yield from _saved(_kinds(ranks, "saved"))
    yield from _evaluated(_kinds(ranks, "evaluation"))


def _starts(ranks: list[list[Note]]) -> list[dict[str, str]]:
    """Hashes of each rank's parameters before its first step."""
    return [own[0]["parameters"] if own else {} for own in _kinds(ranks, "start")]


def _are_replicas(ranks: list[list[Note]]) -> bool:
    """Whether ranks train the same model: it is wrapped, or began alike. Stages of a pipeline do not."""
    starts = _starts(ranks)
    return any(_kinds(ranks, "wrap")) or all(start == starts[0] for start in starts)


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
        n, names = row[0]["n"], list(row[0]["parameters"])[:1]
        if len(set(counts)) > 1:
            odd = odd_ones([bool(count) for count in counts]) or odd_ones(counts)
            line = next(step["clips"][0] for step in row if step["clips"])
            says, others = ("clipped", "did not") if counts[odd[0]] else ("did not clip", "did")
            said = f"{says} the gradients, the others {others}"
        elif odd := odd_ones([step["limits"] for step in row]):
            line = row[odd[0]]["clips"][0]
            own, usual = (row[rank]["limits"][0] for rank in (odd[0], _first_not_in(odd)))
            said = f"clipped the gradients to {own}, the others to {usual}"
        else:
            continue
        yield _finding("TGR03", f"at step {n} {ranks_text(odd)} {said}", line, n, names)
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
                "TGR11", f"at step {row[0]['n']} the optimizer of {ranks_text(odd)} has other settings: "
                f"{_apart(row[odd[0]]['settings'], row[_first_not_in(odd)]['settings'])}", row[odd[0]]["line"],
                row[0]["n"],
            )  # fmt: skip
            return


def _first_not_in(odd: Sequence[int]) -> int:
    """A rank that has what most have."""
    return next(rank for rank in range(len(odd) + 1) if rank not in odd)


def _apart(theirs: Sequence[str], usual: Sequence[str]) -> str:
    """The settings of the first group that has others, and what they are elsewhere."""
    for one, other in zip(theirs, usual, strict=False):
        if one != other:
            pairs = zip(one.split("), ("), other.split("), ("), strict=False)
            own = next(((a, b) for a, b in pairs if a != b), (one, other))
            return " where others have ".join(text.strip("[()]") for text in own)
    return f"{len(theirs)} groups of parameters where others have {len(usual)}"


def _modes(steps: list[list[Note]]) -> Iterator[Finding]:
    """Modules that one rank trains in evaluation mode."""
    for row in zip(*steps, strict=False):
        modes = [step["evaluating"] for step in row]
        if None in modes or not (odd := odd_ones(modes)):
            continue
        usual = modes[_first_not_in(odd)]
        name = next(iter(set(modes[odd[0]]) ^ set(usual)))
        whole = "" in set(modes[odd[0]]) ^ set(usual)
        evaluates = len(modes[odd[0]]) > len(usual)
        yield _finding(
            "TGR12", f"at step {row[0]['n']} {ranks_text(odd)} had {'the model' if whole else repr(name)} in "
            f"{'evaluation' if evaluates else 'training'} mode, the others in "
            f"{'training' if evaluates else 'evaluation'} mode: .train() or .eval() was called on some ranks only",
            row[odd[0]]["mode_line"], row[0]["n"],
        )  # fmt: skip
        return


def _collectives(calls: list[list[Note]]) -> Iterator[Finding]:
    """The first collective of the script's own that not every rank calls."""
    for i in range(max(map(len, calls), default=0)):
        row = [own[i] if i < len(own) else None for own in calls]
        odd = odd_ones([None if call is None else call["name"] for call in row])
        if not odd:
            continue
        who, call, elsewhere = ranks_text(odd), row[odd[0]], row[_first_not_in(odd)]
        if call is None:
            said = f"{who} never came to the {_called(elsewhere)} that the others called"
        elif elsewhere is None:
            said = f"{who} called {_called(call)}, which the others never did"
        else:
            said = f"{who} called {_called(call)} where the others called {_called(elsewhere)} ({elsewhere['line']})"
        found = call or elsewhere or {}
        yield _finding("TGR14", said, found["line"], found["n"])
        return


def _called(call: Note | None) -> str:
    return f"{(call or {}).get('name')}()"


def _datasets(epochs: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*epochs, strict=False):
        data = [note["data"] for note in row]
        if None not in data and (odd := odd_ones(data)):
            yield _finding(
                "TGR15", f"the dataset of {ranks_text(odd)} holds other samples than the others' (split or drawn "
                "with another seed?), and the sampler shares out positions in it", row[odd[0]]["line"],
            )  # fmt: skip
            return


def _saved(files: list[list[Note]]) -> Iterator[Finding]:
    writers: dict[str, dict[int, Note]] = {}
    for rank, own in enumerate(files):
        for note in own:
            writers.setdefault(note["path"], {}).setdefault(rank, note)
    for path, by in writers.items():
        if len(by) > 1:
            first = next(iter(by.values()))
            yield _finding(
                "TGR13", f"{ranks_text(list(by))} save to one file, '{path}': let one of them do it, or give each a "
                "name of its own", first["line"], first["n"],
            )  # fmt: skip
            return


def _evaluated(evaluations: list[list[Note]]) -> Iterator[Finding]:
    for row in zip(*evaluations, strict=False):
        for name in row[0]["buffers"]:
            if odd := odd_ones([note["buffers"].get(name) for note in row]):
                yield _finding(
                    "TGR16", f"{ranks_text(odd)} evaluated with another '{name}' than the others (buffers are "
                    "brought together when the wrapper is called, unless broadcast_buffers=False)",
                    row[odd[0]]["line"], row[0]["n"], [name],
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
            if len({note["rank"] for note in row}) == 1:
                reason = f": the samplers of all ranks were made for rank {row[0]['rank']}"
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


def _replicas(ranks: list[list[Note]], steps: list[list[Note]]) -> Iterator[Finding]:
    starts = _starts(ranks)
    wrapped = any(_kinds(ranks, "wrap"))
    apart = _differing(starts)
    if wrapped and apart:
        yield _differed_before(ranks, starts, apart)
        return
    for row in zip(*steps, strict=False):
        # Without a wrapper, what began alike on every rank is taken to be meant alike: stages of a pipeline do not.
        names = [name for name in _differing([s["parameters"] for s in row]) if name not in apart]
        if not names:
            continue
        name = names[0]
        odd = odd_ones([step["parameters"].get(name) for step in row])
        same = not odd_ones([step["gradients"].get(name) for step in row])
        reason = "since its gradient differed before the step"
        if same:
            reason = "though its gradient was the same"
            if odd_ones([step["states"] for step in row]):
                reason += ": the optimizer's states differ, too"
        elif any(name in step["outside"] for step in row):
            reason += ": it was not in the model when that was wrapped, so that nobody averages it"
        more = _and_more(names)
        yield _finding(
            "TGR01", f"after step {row[0]['n']} '{name}' of {ranks_text(odd)} is not what the others have{more}, "
            f"{reason}", row[odd[0]]["line"], row[0]["n"], [name],
        )  # fmt: skip
        return


def _and_more(names: Sequence[str]) -> str:
    others = len(names) - 1
    return f" (and {others} more parameter{'s' * (others > 1)})" if others else ""


def _differing(rows: Sequence[dict[str, str]]) -> list[str]:
    """Parameters that not every rank has alike."""
    return [name for name in rows[0] if odd_ones([row.get(name) for row in rows])] if rows else []


def _differed_before(
    ranks: list[list[Note]], starts: list[dict[str, str]], names: list[str]
) -> Finding:
    odd = odd_ones([start.get(names[0]) for start in starts])
    restored = _kinds(ranks, "restored")
    loaded = [rank for rank, own in enumerate(restored) if own]
    more = _and_more(names)
    some = loaded if 0 < len(loaded) < len(ranks) else []
    reason = f": {ranks_text(some)} alone loaded a state" if some else ""
    line = restored[some[0]][-1]["line"] if some else _kinds(ranks, "start")[odd[0]][0]["line"]
    return _finding(
        "TGR01", f"before the first step '{names[0]}' of {ranks_text(odd)} is not what the others have{more}, though "
        f"wrapping had made all ranks alike{reason}", line, 0, [names[0]],
    )  # fmt: skip
