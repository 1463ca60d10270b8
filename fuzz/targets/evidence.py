"""Evidence files: valid ones with hostile values in them, and damaged bytes.

Each is shown, compared, and decided upon as `taut replay` would, up to the point where something would
be imported. It may be refused with a message; what is allowed must be a definition of the small project, as
it was hashed.
"""

from __future__ import annotations

import atexit
import copy
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fuzz.target import Case, Target

MODEL = """
import os
import tautograd as torch
from tautograd import nn
from os import system

def fn(x, y): return x * torch.sin(y)
def fn_inputs(): return torch.ones(3), torch.ones(3)
def mean(x, reduction="mean"): return x.mean()
def passed(x): return x
passed_inputs = os.abort
def twice(x): return x
twice = system

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
    def forward(self, x): return self.linear(x)
    def helper(self, x): return x

class Tools:
    escape = system
    @staticmethod
    def square(x): return x * x
    @property
    def described(self): return system

def make(): return torch.ones(3), torch.ones(3)
"""
DEFINED = {
    "fn",
    "mean",
    "passed",
    "Net",
    "Tools",
    "Tools.square",
    "Net.forward",
    "Net.helper",
    "Net.__init__",
}
MAKERS = {"make", "fn_inputs"}

WORDS = [
    "model.py", "model", "fn", "Net", "os.system", "torch.builtins.exec", "system", "twice", "Tools.escape",
    "Tools.described", "passed", "fn.__globals__", "__builtins__.exec", "make", "helper.py", "../model.py",
    "/dev/zero", "/proc/self/mem", "pipe.npz", "link.py", "inputs.npz", "", ".", "..", "/", "\x00",
    "\x1b[2J\x1b]0;x\x07", "\u202e\u200b", "\ud800", "nan", "inf", "-inf", "3x4", "1000000000x1000000000",
    "9" * 5000, "=1", "3:float64", "float64", "load", "__class__", "tautograd", "torch", "os", "cpu", "cuda",
    "0" * 64, "A" * 64, "A", "AAAA", "=", "auto", "full", "fast", "train", "x" * 100_000, "a,b\nc\td",
    "$(id)", "; true", "été", "日本", "%s%n", "{0}", "\\", "'", '"', "model.py:fn", "os:system",
]  # fmt: skip
NUMBERS = [
    0, 1, 2, 3, -1, 7, 255, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**9, 10**18, 10**299,
    -(10**299), 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, 1e16,
]  # fmt: skip
DAMAGE = [
    b"",
    b"\0",
    b"\xff",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"\\",
    b"1e999",
    b"NaN",
    b"\xed\xa0\x80",
]
PLACES = [
    "computation.name", "computation.file", "computation.target", "computation.kind", "computation.files",
    "computation.engine", "data.definition", "data.definition.kind", "data.definition.target",
    "data.definition.file", "data.definition.text", "data.definition.path", "data.definition.values",
    "data.definition.default_dtype", "data.definition.files", "random.seed", "random.state", "settings.probes",
    "settings.mode", "settings.order", "settings.wrt", "model.checkpoint", "model.state", "model.mode", "model",
    "runtime.as_torch", "report.confirmed", "report.tried", "report.checks", "report.behaviour", "figures.others",
]  # fmt: skip
"""What a replay uses, and what is shown."""
LIMIT = 2.0  # seconds for one file


class Evidence(Target):
    """Files of evidence."""

    name = "evidence"
    share = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._folder = ""
        self._sound: list[dict[str, Any]] = []
        self._watching = False
        self._events: list[str] = []

    # ---- cases

    def case(self, rng: random.Random) -> Case:
        edits = [self._edit(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6)))]
        damage = [
            [rng.random(), rng.choice((0, 1, 1, 2, 20)), rng.randrange(len(DAMAGE))]
            for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 3)))
        ]
        return {
            "base": rng.randrange(8),
            "edits": edits,
            "damage": damage,
            "digest": rng.random() < 0.95,
        }

    def _edit(self, rng: random.Random) -> Any:
        # A position is drawn as a number, which is taken modulo what there is to choose from.
        deep: list[Any] = [rng.randrange(1 << 16) for _ in range(rng.choice((1, 2, 3, 3, 4, 5, 8)))]
        if rng.random() < 0.6:
            deep = rng.choice(PLACES).split(".")
        if rng.random() < 0.75:  # of the existing type, so that it satisfies the schema
            return [deep, "alike", [rng.choice(WORDS), rng.choice(NUMBERS)]]
        how = rng.choice(("set", "set", "set", "drop", "add", "twin", "nest", "cut"))
        return [deep, how, self._value(rng)]

    def _value(self, rng: random.Random, depth: int = 0) -> Any:
        kind = rng.randrange(8 if depth < 3 else 5)
        if kind < 2:
            return rng.choice(WORDS)
        if kind < 4:
            return rng.choice(NUMBERS)
        if kind == 4:
            return rng.choice((None, True, False))
        if kind == 5:
            return [self._value(rng, depth + 1) for _ in range(rng.randrange(4))]
        if kind == 6:
            keys = (
                "kind",
                "items",
                "value",
                "shape",
                "dtype",
                "path",
                "sha256",
                "name",
                "",
                "\x1b",
            )
            return {rng.choice(keys): self._value(rng, depth + 1) for _ in range(rng.randrange(4))}
        return _nested(self._value(rng, depth + 1), rng.choice((1, 5, 60, 120)))

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in ("edits", "damage"):
            for number in range(len(case[key])):
                yield {**case, key: case[key][:number] + case[key][number + 1 :]}
        for number, (deep, how, value) in enumerate(case["edits"]):
            for simpler in (None, "", 0, [], {}):
                if value != simpler:
                    edits = [*case["edits"]]
                    edits[number] = [deep, how, simpler]
                    yield {**case, "edits": edits}

    # ---- what may happen

    def prepare(self) -> None:
        from tautograd._evidence import files, gather, job, replay, text  # noqa: F401

        self._folder = tempfile.mkdtemp(prefix="fuzz-evidence-")
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self._fill()
        here = os.getcwd()
        os.chdir(self._folder)
        try:
            self._sound = list(_sound_ones())
            self.check({"base": 0, "edits": [], "damage": [], "digest": True}, Counter())
        finally:
            os.chdir(here)
        sys.addaudithook(self._heard)

    def _fill(self) -> None:
        import numpy as np

        def write(name: str, text: str) -> None:
            with open(os.path.join(self._folder, name), "w", encoding="utf-8") as file:
                file.write(text)

        write("pyproject.toml", "")
        write("model.py", MODEL)
        write("helper.py", "raise SystemExit('imported')\n")
        os.mkfifo(os.path.join(self._folder, "pipe.npz"))
        os.symlink("/etc/hostname", os.path.join(self._folder, "link.py"))
        np.savez(os.path.join(self._folder, "inputs.npz"), x=np.ones(3), y=np.ones(3))

    def _heard(self, event: str, arguments: Any) -> None:
        if not self._watching:
            return
        if event in (
            "import",
            "exec",
            "os.system",
            "subprocess.Popen",
            "pickle.find_class",
            "os.fork",
        ):
            self._events.append(f"{event} {str(arguments)[:80]}")
        elif event == "open" and any(mark in str(arguments[1]) for mark in "wax+"):
            self._events.append(f"open {arguments[0]!r} to write")

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        if not self._folder:
            self.prepare()
        data = self._file_of(case)
        path = os.path.join(self._folder, "file.json")
        with open(path, "wb") as file:
            file.write(data)
        here = os.getcwd()
        os.chdir(self._folder)
        self._events.clear()
        self._watching = True
        started = time.perf_counter()
        try:
            wrong = self._tried(path, case["base"] % len(self._sound))
        finally:
            self._watching = False
            os.chdir(here)
        counts["files"] += 1
        if self._events:
            return f"a file made it do something: {self._events[0]}"
        seconds = time.perf_counter() - started
        return wrong or (f"too slow\n{seconds:.1f} s" if seconds > LIMIT else None)

    def _tried(self, path: str, base: int) -> str | None:
        from tautograd._evidence import files, replay, text
        from tautograd._evidence.causes import compare
        from tautograd._evidence.refusals import CannotRun, EvidenceError

        try:
            content = files.read(path)
        except EvidenceError as reason:
            return _wrong_refusal(reason)
        found = compare(self._sound[base], content)
        for shown in (
            text.evidence_text(content),
            text.comparison_text(found, everything=True),
            text.comparison_text(compare(content, self._sound[base])),
        ):
            if not shown.replace("\n", "").isprintable():
                return "a text that steers a terminal"
        try:
            job, _ = replay.job_of(content, None, replay.Changes())
        except (CannotRun, EvidenceError) as reason:
            return _wrong_refusal(reason)
        return self._allowed(job, content)

    def _allowed(self, job: Any, content: dict[str, Any]) -> str | None:
        """What is wrong with a decision to import something."""
        own = os.path.join(os.path.realpath(self._folder), "model.py")
        names = {*DEFINED, *MAKERS}  # a maker of inputs is a project function like any other
        if job.own is None or job.own.path != own or job.own.definition.name not in names:
            return f"it would run something else\n{job.own}"
        listed = {
            row["sha256"] for row in content["computation"]["files"] if row["path"] == "model.py"
        }
        if listed != {hashlib.sha256(MODEL.encode()).hexdigest()}:
            return "it would run code that the evidence does not know"
        if job.own_maker is not None and (
            job.own_maker.path != own or job.own_maker.definition.name not in MAKERS
        ):
            return f"it would make inputs with something else\n{job.own_maker}"
        data = os.path.join(os.path.realpath(self._folder), "inputs.npz")
        if job.inputs_file not in (None, data, own) and not job.inputs_file.endswith(
            ("toml", "json", "helper.py")
        ):
            return f"it would read another file\n{job.inputs_file}"
        if job.settings.get("probes", 1) > 10_000:
            return "it would never end"
        return None

    # ---- a case as a file

    def _file_of(self, case: Case) -> bytes:
        from tautograd._evidence.canonical import digest_of

        content = copy.deepcopy(self._sound[case["base"] % len(self._sound)])
        for deep, how, value in case["edits"]:
            _edited(content, deep, how, value)
        if case["digest"] and isinstance(content, dict):
            try:
                content["digest"] = digest_of(content)
            except (ValueError, RecursionError):
                content["digest"] = "sha256:" + "0" * 64
        data = json.dumps(content).encode()
        for where, length, number in case["damage"]:
            at = int(where * len(data))
            data = data[:at] + DAMAGE[number % len(DAMAGE)] + data[at + length :]
        return data


def _wrong_refusal(reason: Exception) -> str | None:
    if not str(reason).isprintable():
        return f"a refusal that steers a terminal\n{reason!r}"
    return f"a refusal without end\n{str(reason)[:200]}" if len(str(reason)) > 3000 else None


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"kind": "list", "items": [value]} if depth % 2 else [value]
    return value


def _edited(content: Any, deep: list[Any], how: str, value: Any) -> None:
    """Change what a path of names, or of numbers that stand for any name, leads to."""
    inside, key = content, None
    for step in deep:
        keys = _keys_of(inside if key is None else inside[key])
        if not keys:
            break
        if key is not None:
            inside = inside[key]
        key = step if isinstance(step, str) else keys[step % len(keys)]
        if key not in keys and not (isinstance(inside, dict) and step is deep[-1]):
            return
    if key is None:
        return
    if how == "alike":
        present = inside.get(key) if isinstance(inside, dict) else inside[key]
        if isinstance(present, (bool, dict, list)):
            return
        value = value[isinstance(present, (int, float))] if isinstance(value, list) else value
        inside[key] = int(value) if type(present) is int and type(value) is float else value
    elif how == "drop" and key in _keys_of(inside):
        del inside[key]
    elif how == "twin" and isinstance(inside, list):
        inside.append(copy.deepcopy(inside[key]))
    elif how == "add" and isinstance(inside, dict):
        inside[value if isinstance(value, str) else "more"] = value
    elif how == "nest" and key in _keys_of(inside):
        inside[key] = [inside[key]]
    elif how == "cut" and key in _keys_of(inside) and isinstance(inside[key], str):
        inside[key] = inside[key][: len(inside[key]) // 2]
    else:
        inside[key] = copy.deepcopy(value)


def _keys_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    return list(range(len(value))) if isinstance(value, list) else []


def _sound_ones() -> Iterator[dict[str, Any]]:
    """Evidence of several things in several ways, created in the current folder."""
    import tautograd as torch
    from tautograd._evidence.gather import gather
    from tautograd._evidence.job import Job, prepare, run
    from tautograd._evidence.targets import load_file
    from tautograd._verify.verify import verify

    def of(name: str, **how: Any) -> dict[str, Any]:
        job = Job(f"model.py:{name}", for_evidence=True, **how)
        return json.loads(json.dumps(gather(run(job, prepare(job)))))

    yield of("fn")
    yield of("fn", inputs="3,3")
    yield of("fn", inputs_from="model.py:make")
    yield of("fn", inputs_file="inputs.npz")
    yield of("Net", inputs="2x3")
    yield of("Tools.square", inputs="3", settings={"mode": "fast", "try_inputs": True})
    module = load_file("model.py")
    ones = torch.ones(3, dtype=torch.float64)
    yield json.loads(json.dumps(gather(verify(module.mean, (ones, "sum")))))
    yield json.loads(json.dumps(gather(verify(module.Net(), torch.ones(2, 3)))))


TARGET = Evidence()
