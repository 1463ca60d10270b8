"""What became of a function: its record, its kernels, its memory, and what could not be fused, in words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..._user_code.sites import resolve
from ..program.ir import Call, Kind, Map, Reduce


class Explanation:
    """The record that ran last, as text and as plain data."""

    def __init__(
        self,
        name: str,
        entry: Any,
        refused: dict[Any, str],
        forms: int = 0,
        again: Sequence[str] = (),
        ledger: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.again = list(again)  # each record after the first, and why it was made
        self.ledger = ledger or {}  # what records cost and saved
        self.forms = forms  # of arguments that came, each once, without a record
        self._entry = entry
        self.refused = list(refused.values())

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for machines."""
        entry = self._entry
        if entry is None:
            return {
                "function": self.name,
                "recorded": False,
                "refused": self.refused,
                "ledger": self.ledger,
            }
        replay, program = entry.replay_of, entry.program
        kinds: Counter[str] = Counter()
        among_scratch = getattr(replay.memory, "left", ())
        for buffer in program.buffers:
            if buffer.number not in among_scratch:
                kinds[buffer.kind.value] += buffer.nbytes
        return {
            "function": self.name,
            "recorded": True,
            "recorded_again": self.again,
            "refused": self.refused,
            "ledger": self.ledger,
            "recorded_instructions": entry.recorded_size,
            "instructions": entry.size,
            "replays": entry.calls,
            "mode": _mode(entry),
            "audits": entry.audits.audits,
            "splits": [_split(*split) for split in entry.capture.splits],
            "parts": [
                {**_part(part), "stretch": number}
                for number, parts in enumerate(replay.stretches)
                for part in parts
            ],
            "memory": {
                "scratch": replay.scratch_bytes,
                "saved_for_backward": replay.memory.saved_bytes,
                **{k: v for k, v in kinds.items() if k != Kind.SCRATCH.value},
            },
            "native": replay.why_not_native or "yes",
            **({"graph": replay.graph_in_words} if hasattr(replay, "graph_in_words") else {}),
        }

    def __str__(self) -> str:
        data = self.to_dict()
        if not data["recorded"]:
            lines = [
                f"{self.name}: not recorded yet (the second call with arguments of one form is)"
            ]
            if self.forms > 2:
                lines.append(
                    f"{self.forms} forms of arguments came so far, each once. If an integer or a text among them "
                    "changes at each call, pass it as a tensor: its value is then an input."
                )
            lines += self._costs()
            return "\n".join([*lines, *(f"refused: {reason}" for reason in self.refused)])
        sizes = [f"{k.replace('_', ' ')} {_bytes(v)}" for k, v in data["memory"].items()]
        counts = f"{data['recorded_instructions']} array operations recorded, {data['instructions']} in the program"
        audits = f", audited {data['audits']} times" if data["audits"] else ""
        lines = [
            f"{self.name}: {counts}, replayed {data['replays']} times{audits}",
            f"mode: {data['mode']}",
            f"native code: {data['native']}",
            *([f"CUDA graph: {data['graph']}"] if "graph" in data else ()),
            f"memory: {', '.join(sizes)}",
            *self._costs(),
            *(f"other arguments are not compiled: {why}" for why in self.refused),
            *(f"recorded again, {line}" for line in data["recorded_again"]),
            "",
        ]
        splits = [f"then Python looks at {s['what']}  [{s['line']}]" for s in data["splits"]]
        before = 0
        for number, part in enumerate(data["parts"]):
            count = part["instructions"]
            lines += splits[before : part["stretch"]]
            before = part["stretch"]
            lines.append(f"part {number}: {part['kind']}, {count} instruction{'s' * (count != 1)}")
            lines += [f"    {line}" for line in part["lines"]]
        return "\n".join(lines + splits[before:])

    def _costs(self) -> list[str]:
        """What records cost and saved, if any call ran as written."""
        words = self.ledger.get("words")
        sizes = [f"sizes: {line}" for line in self.ledger.get("sizes", ())]
        if not words or self.ledger["runs_as_written"] < 2:
            return sizes
        paused = "; it runs as written for a while" if self.ledger["paused"] else ""
        return [f"costs: {words}{paused}", *sizes]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _mode(entry: Any) -> str:
    """Whether the function's Python runs at each call, what that costs, and why or why not."""
    followed = entry.followed_calls
    if followed is None:
        why = f" ({entry.not_followed})" if entry.not_followed else ""
        return f"guarded: Python is skipped while nothing that it reads has changed{why}"
    text = (
        f"sound: Python runs at each call, held against {len(followed.calls)} calls of the record"
    )
    if followed.runs:
        text += f"; {followed.python * 1e6:.0f} µs of it beside {followed.program * 1e6:.0f} µs of the program"
    return f"{text}; the last call that differed: {followed.why}" if followed.why else text


def _split(effects: int, what: str, site: Any) -> dict[str, Any]:
    line = resolve(site)
    name = "" if line is None else f"{os.path.basename(line.file)}:{line.line}"
    return {"what": what, "line": name}


def _part(part: Any) -> dict[str, Any]:
    count = len(part.instructions)
    if part.native is not None:
        kind = "native code"
        if part.block is not None:
            kind += f", for each of {part.block.count} parts of the batch"
            kind += f" in {part.block.slots} threads" if part.block.slots > 1 else ""
        kernels = [
            f"{kernel}{_at([part.sites[i] for i in kernel.instructions])}"
            for kernel in part.native.kernels
        ]
        return {"kind": kind, "instructions": count, "lines": kernels}
    lines = []
    noted = zip(part.instructions, part.sites, strict=True)
    for at, pairs in groupby(noted, lambda pair: _at([pair[1]])):
        names = ", ".join(_name(instruction) for instruction, _ in pairs)
        lines.append(names + at)
    return {"kind": f"called from Python ({part.why})", "instructions": count, "lines": lines}


def _at(sites: list[Any]) -> str:
    """The lines of the user's code that something comes from."""
    found = {(s.file, s.line) for s in map(resolve, sites) if s is not None}
    files: dict[str, list[int]] = {}
    for name, line in sorted(found):
        files.setdefault(os.path.basename(name), []).append(line)
    text = "; ".join(f"{name}:{','.join(map(str, lines))}" for name, lines in files.items())
    return f"  [{text}]" if text else ""


def _name(instruction: Any) -> str:
    if isinstance(instruction, Call):
        return instruction.name
    if isinstance(instruction, (Map, Reduce)):
        kind = "" if isinstance(instruction, Map) else ".reduce"
        return f"{instruction.function}{kind} → {instruction.output.shape}"
    return type(instruction).__name__.lower()


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
