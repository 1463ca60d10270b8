"""What commands keep as JSON and read again: recordings of `taut simulate`, reports of `taut doctor`.

Whatever stands in one, it is refused in words, or what follows from it is computed and shown.
"""

from __future__ import annotations

import copy
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fuzz.target import Case, Target

ODD = (
    None, True, -1, 0, 1, 2**63, 10**400, 1.5, 1e308, "", "wall", "compute", "start", "nan", "\x1b[2J\u202e",
    "</script><script>alert(1)", [], {}, [[]], [None], {"a": 1}, "x" * 5000,
)  # fmt: skip
WORSE = (
    b"[" * 100_000,
    b"{\0",
    b"\xff\xfe{\0}\0",
    b"",
    b"9" * 5000,
    b"\xef\xbb\xbf{}",
    b'{"format": NaN}',
)
RANKS = (1, 2, 8, 1000)


class Kept(Target):
    """A file that one command wrote, with places of it changed."""

    name = "kept"
    share = 0.25
    limit = 20.0

    def prepare(self) -> None:
        import tautograd as torch
        from tautograd._doctor.doctor import Doctor
        from tautograd._doctor.report.report import plain

        with Doctor(engines=[torch]) as found:
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
        self._report = json.loads(json.dumps(plain(found), default=str))
        self._folder = tempfile.TemporaryDirectory()

    def case(self, rng: random.Random) -> Case:
        if not hasattr(self, "_report"):
            self.prepare()
        kind = rng.choice(("recording", "report"))
        content = copy.deepcopy(_recording(rng) if kind == "recording" else self._report)
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            _change(content, rng)
        text = json.dumps(content)
        if rng.random() < 0.1:
            at = rng.randrange(len(text))
            odd = rng.choice(WORSE).decode("latin-1")
            text = rng.choice((odd, text[:at], text[:at] + odd + text[at:]))
        return {"kind": kind, "text": text}

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        if not hasattr(self, "_report"):
            self.prepare()
        counts["files"] += 1
        counts[f"files: {case['kind']}"] += 1
        path = os.path.join(self._folder.name, "kept.json")
        with open(path, "wb") as file:
            file.write(case["text"].encode("latin-1", "backslashreplace"))
        said = _simulated(path) if case["kind"] == "recording" else self._shown(path)
        if said is not None and (not said or len(said) > 2000):
            return f"a refused {case['kind']} is refused in no words\n{said[:500]!r}"
        return None

    def _shown(self, path: str) -> str | None:
        from tautograd._doctor.report.page import as_page
        from tautograd._doctor.report.two_runs import NotAReport, read_report

        try:
            other = read_report(path)
        except NotAReport as error:
            return str(error)
        page = as_page(self._report, None, "taut doctor", other)
        page = page if isinstance(page, str) else "".join(page)
        assert "<script>alert" not in page, "a report is markup on the page"
        return None

    def smaller(self, case: Case) -> Iterator[Case]:
        text = case["text"]
        for size in (len(text) // 2, len(text) // 8, 1):
            for at in range(0, len(text), max(size, 1)):
                yield {**case, "text": text[:at] + text[at + size :]}


def _simulated(path: str) -> str | None:
    """Why a recording is refused."""
    from tautograd._cli.simulate import _read
    from tautograd.distributed._simulation.network import network_of
    from tautograd.distributed._simulation.replay import predict
    from tautograd.distributed._simulation.steps import step_of

    network = network_of("bandwidth=10,latency=5,node=8")
    try:
        step = step_of(*_read(path))
        for ranks in RANKS:
            predict(step, network, ranks)
    except ValueError as error:
        return str(error)
    return None


def _recording(rng: random.Random) -> dict[str, Any]:
    ranks = rng.choice((1, 2, 4))

    def step() -> dict[str, Any]:
        events = [
            ["compute", 0.01, 0.02], ["start", 0, "all_reduce", 4096, [*range(ranks)]], ["compute", 0.01, 0.02],
            ["wait", 0], ["start", 1, "all_gather", 64, [*range(ranks)]], ["wait", 1], ["compute", 0.0, 0.0],
        ]  # fmt: skip
        return {"seconds": 0.1, "cpu": 0.05, "memory": 10_000, "events": events}

    recordings = [[[step() for _ in range(4)] for _ in range(ranks)]]
    return {"format": "tautograd recording", "clock": "wall", "recordings": recordings}


def _change(content: Any, rng: random.Random) -> None:
    """Another value somewhere, one that is missing, or one that is there twice."""
    while True:
        keys = [*content] if isinstance(content, dict) else [*range(len(content))]
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(content[key], (dict, list)) and content[key] and rng.random() < 0.85:
            content = content[key]
            continue
        what = rng.random()
        if what < 0.7:
            content[key] = copy.deepcopy(rng.choice(ODD))
        elif what < 0.85:
            del content[key]
        elif isinstance(content, list):
            content.insert(key, copy.deepcopy(content[key]))
        return


TARGET = Kept()
