"""Hostile evidence files, built from a sound one: what is named, and the mechanism that names it.

Each is well-formed as far as whoever wrote it could see to that, its digest included, and is about the
small project of `conftest.py` with `traps.py` in it, which must never be imported.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tautograd._evidence.canonical import digest_of

TRAPS = """
import pathlib
pathlib.Path(__file__).with_name("IMPORTED").write_text("executed")
import os, subprocess, builtins
import tautograd as torch
import tautograd.nn as nn
from os import system, abort as made_inputs
from subprocess import *

def made(x): return x
def passed_on(x): return x
passed_on_inputs = os.abort
def attributed(x): return x
attributed.inputs = os.abort
def aliased(x): return x
aliased.inputs = system
class Attributed(nn.Module):
    inputs = os.abort
    def forward(self, x): return x

def twice(x): return x
twice = os.system
def deleted(x): return x
del deleted
def looped(x): return x
for looped in [os.system]: pass
def opened(x): return x
with open(os.devnull) as opened: pass
def caught(x): return x
try: pass
except OSError as caught: pass
def unpacked(x): return x
unpacked, other = os.system, os.abort
def starred(x): return x
*starred, last = [os.system, os.abort]
def walrus(x): return x
(walrus := os.system)
def matched(x): return x
match os.system:
    case matched: pass
def mapped(x): return x
match {}:
    case {**mapped}: pass
def imported_again(x): return x
import os as imported_again
def from_elsewhere(x): return x
from os import system as from_elsewhere
def augmented(x): return x
augmented += ""
def made_global(x): return x
def sets():
    global made_global
    made_global = os.system
if os.environ:
    def chosen(x): return x
else:
    def chosen(x): return os.system(x)
async def asynchronous(x): return x
alias = os.system
second_alias = alias
partial = __import__("functools").partial(os.system)
foreign = nn.Linear(1, 1)
chained = both = lambda x: os.system(x)
Made = type("Made", (nn.Module,), {})

class Holder:
    escape = os.system
    modules = os
    @property
    def described(self): return os.system
    def method(self, x): return x
    class Inner(nn.Module):
        run = os.system
class Derived(subprocess.Popen): pass
class Loop:
    inner = None
a = b()
b = a()

def __getattr__(name): return getattr(os, name)
"""

NAMES = [
    # out of the module, through what it imported
    "torch.builtins.exec", "torch.os.system", "os.system", "os.path.os.system", "os", "subprocess.run",
    "subprocess.Popen", "builtins.exec", "builtins.eval", "builtins.__import__", "nn.Linear", "system",
    "torch.load", "torch.hub.load", "nn.os.system",
    # out of an object, through what every object has
    "made.__globals__", "made.__globals__.os.system", "made.__builtins__.exec", "made.__code__",
    "made.__class__", "made.__call__", "made.__get__", "Holder.__init__.__globals__",
    "Holder.__subclasses__", "Holder.mro", "Holder.__class__.__call__", "__builtins__.exec", "__loader__",
    "__spec__.loader.exec_module", "__loader__.load_module", "__import__", "exec", "eval", "breakpoint",
    # through a class, a descriptor, an instance, a module's __getattr__
    "Holder.escape", "Holder.modules.system", "Holder.described", "Holder.described.fget",
    "Holder.method.__globals__", "Holder.Inner.run", "Derived.communicate", "Derived.__init__",
    "Attributed.zero_grad", "foreign.forward", "popen", "execv", "Made", "Loop.inner.run",
    # names that are bound otherwise than by one definition
    "twice", "deleted", "looped", "opened", "caught", "unpacked", "starred", "walrus", "matched", "mapped",
    "imported_again", "from_elsewhere", "augmented", "made_global", "chosen", "asynchronous", "alias",
    "second_alias", "partial", "foreign", "chained", "both", "a", "b", "check_output",
    # no names at all
    "", ".", "..", "made.", ".made", "made\x00", "made()", "made; import os", "__getattr__.x", "mаde",
    "ｍade.__globals__", "made\n", " made", "made ", "*", "lambda x: x", "traps:made", "../model:fn",
    "." * 10_000, "made." * 5_000 + "x",
]  # fmt: skip

PATHS = [
    "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ", "../traps.py", "./traps.py",
    "package/../traps.py", "package//part.py", "package/./part.py", "//traps.py", "traps.py/", "", ".",
    "..", "traps.py\x00.txt", "\x00", "TRAPS.PY", "Traps.py", "traps", "traps.pyc", "link.py",
    "linked/part.py", "loop/loop.py", "package", "pipe.py", "C:/traps.py", "C:\\traps.py", "package\\part.py",
    "~/traps.py", "$HOME/traps.py", "file:///traps.py", "traps.py:made", ".hidden/traps.py",
    "venv/lib/python3.12/site-packages/traps.py", "env/traps.py", "env/lib/traps.py",
    "node_modules/traps.py", "<installed>/os.py", "<installed>/subprocess.py", "a/" * 3_000 + "traps.py",
    "x" * 5_000 + ".py", "trаps.py", "traps.py ", "trap?.py", "*.py", "dotted.name.py", "not_source.txt",
    "broken.py", "null.py", "deep.py", "no/such/file.py", "\ud800.py", "tra\u200bps.py",
]  # fmt: skip


def fill(folder: Path) -> None:
    """Put what the files lead to into the small project."""
    (folder / "pyproject.toml").write_text("")
    (folder / "traps.py").write_text(TRAPS)
    hidden = (
        ".hidden",
        "venv/lib/python3.12/site-packages",
        "env",
        "env/lib",
        "node_modules",
        "loop",
    )
    for name in hidden:
        (folder / name).mkdir(parents=True)
        (folder / name / "traps.py").write_text(TRAPS)
    (folder / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    outside = folder.parent / f"{folder.name}-outside"
    (outside / "package").mkdir(parents=True)
    (outside / "part.py").write_text(TRAPS)
    (folder / "link.py").symlink_to(outside / "part.py")
    (folder / "linked").symlink_to(outside)
    (folder / "loop" / "loop.py").symlink_to("loop.py")
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / "pipe.npz")
    (folder / "dotted.name.py").write_text(TRAPS)
    (folder / "not_source.txt").write_text(TRAPS)
    (folder / "broken.py").write_text("def fn(x:\n" + TRAPS)
    (folder / "null.py").write_bytes(b"def fn(x): return x\0\n" + TRAPS.encode())
    (folder / "deep.py").write_text("x = " + "(" * 3000 + ")" * 3000 + "\ndef fn(x): return x\n")
    (folder / "huge.npz").write_bytes(b"PK\x03\x04 not really")


class Builder:
    """Changes a sound evidence about the project in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sound: dict[str, Any] = json.loads((folder / "fn.json").read_text())

    def rows(self, *paths: str) -> list[dict[str, str]]:
        """Paths with the right hash of what is there, if anything is."""
        return [{"path": path, "sha256": self._hash(path)} for path in paths]

    def _hash(self, path: str) -> str:
        try:
            where = self.folder / path
            return hashlib.sha256(where.read_bytes() if where.is_file() else b"").hexdigest()
        except (OSError, ValueError):
            return "0" * 64

    def about(self, file: str | None, name: str | None, **more: Any) -> dict[str, Any]:
        """Evidence about something, its hashes right."""
        content = copy.deepcopy(self.sound)
        content["computation"].update(
            file=file, name=name, target=f"{file}:{name}", files=self.rows(file or "")
        )
        content["data"]["definition"] = SHAPES
        content["computation"].update(more)
        return content

    def made_by(self, file: str | None, name: str) -> dict[str, Any]:
        """Sound evidence, but for what makes its inputs."""
        content = copy.deepcopy(self.sound)
        content["data"]["definition"] = {
            "kind": "function", "target": f"{file}:{name}", "file": file,
            "files": self.rows(file or ""), "seed": 0,
        }  # fmt: skip
        return content

    def changed(self, **sections: Any) -> dict[str, Any]:
        """Sound evidence with other values in its sections."""
        content = copy.deepcopy(self.sound)
        for section, values in sections.items():
            content[section].update(values)
        return content


SHAPES = {"kind": "shapes", "text": "3x4,4", "default_dtype": "float64", "seed": 0}
TENSOR = {
    "kind": "tensor", "dtype": "float64", "shape": [1], "requires_grad": True, "data": "AAAAAAAA8D8="
}  # fmt: skip


def values(*items: Any, **named: Any) -> dict[str, Any]:
    """A definition of inputs by their values."""
    rows = [item if isinstance(item, dict) else {"kind": "value", "value": item} for item in items]
    keyed = [
        item if isinstance(item, dict) else {"kind": "value", "value": item}
        for item in named.values()
    ]
    args = {"kind": "tuple", "items": rows}
    kwargs = {"kind": "dict", "keys": list(named), "items": keyed}
    return {"kind": "values", "values": {"kind": "tuple", "items": [args, kwargs]}}


def forged(content: dict[str, Any]) -> bytes:
    """A content as a file, its digest right."""
    content["digest"] = digest_of(content)
    return json.dumps(content).encode()


def corpus(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every hostile file, by a name that says what it tries; none may have anything imported or run."""
    build = Builder(folder)
    for number, name in enumerate(NAMES):
        yield f"target {number} {name[:30]!r}", forged(build.about("traps.py", name))
        yield f"maker {number} {name[:30]!r}", forged(build.made_by("traps.py", name))
    for number, path in enumerate(PATHS):
        yield f"path {number} {path[:30]!r}", forged(build.about(path, "made"))
        yield f"maker's path {number} {path[:30]!r}", forged(build.made_by(path, "made"))
        data = {"kind": "file", "path": path, "sha256": "0" * 64}
        if path not in _IN_THE_PROJECT:
            yield f"data {number} {path[:30]!r}", forged(build.changed(data={"definition": data}))
            model = {**MODEL, "checkpoint": {"path": path, "sha256": "0" * 64}}
            yield f"checkpoint {number} {path[:30]!r}", forged({**build.changed(), "model": model})
    yield from _hashes(build)
    yield from _companions(build)
    yield from _requests(build)
    yield from _states(build)


_IN_THE_PROJECT = {
    ".hidden/traps.py", "venv/lib/python3.12/site-packages/traps.py", "env/traps.py", "env/lib/traps.py",
    "node_modules/traps.py", "dotted.name.py", "not_source.txt", "broken.py", "null.py", "deep.py",
}  # fmt: skip
"""No sources of the user's, but files of the user's: as data they are read, and found to be none."""

MODEL = {
    "class": "model:Net", "mode": "eval", "parts": 1, "parameters": 0, "trainable": 0, "buffers": 0,
    "tensors": [], "sha256": "0" * 64, "checkpoint": None, "state": None,
}  # fmt: skip


def _hashes(build: Builder) -> Iterator[tuple[str, bytes]]:
    """Lists of code that do not say, or do not say once, what the file is."""
    (right,) = build.rows("model.py")
    wrong = {**right, "sha256": "0" * 64}
    lists = {
        "none": [], "wrong": [wrong], "both": [right, wrong], "elsewhere": build.rows("helper.py"),
        "another spelling": [{**right, "path": "./model.py"}], "of nothing": [{**right, "sha256": _EMPTY}],
        "of traps": [{**right, "sha256": build.rows("traps.py")[0]["sha256"]}],
    }  # fmt: skip
    for name, files in lists.items():
        yield f"code listed: {name}", forged(build.about("model.py", "fn", files=files))
        content = build.made_by("model.py", "fn_inputs")
        content["data"]["definition"].update(target="model:another", files=files)
        yield f"maker's code listed: {name}", forged(content)
    yield "no file", forged(build.about(None, "fn"))
    yield "no name", forged(build.about("model.py", None, target=None))
    yield "a module of Python's", forged(build.about(None, "system", target="os:system"))


_EMPTY = hashlib.sha256(b"").hexdigest()


def _companions(build: Builder) -> Iterator[tuple[str, bytes]]:
    """Functions that are the file's own, with inputs beside them that are not."""
    for name in ("made", "passed_on", "attributed", "aliased", "Attributed"):
        for definition in (
            {"kind": "attribute", "target": f"traps:{name}_inputs"},
            {"kind": "attribute", "target": "anything at all"},
            {
                "kind": "function",
                "target": f"traps:{name}_inputs",
                "file": None,
                "files": [],
                "seed": 0,
            },
        ):
            content = build.about("traps.py", name)
            content["data"]["definition"] = definition
            yield f"beside {name}, {definition['kind']}", forged(content)
    for name in ("made", "sets.x", "Holder", "foreign"):
        yield f"a maker with arguments, {name}", forged(build.made_by("traps.py", name))


def _requests(build: Builder) -> Iterator[tuple[str, bytes]]:
    """Sound code, asked for more than there is, or called with what is no tensor."""
    for probes in (10_001, 10**9, 10**18, 10**299):
        yield f"{probes:.3g} probes", forged(build.changed(settings={"probes": probes}))
    for seed in (-1, 2**64, 10**299):
        yield f"seed {seed:.3g}", forged(build.changed(random={"seed": seed}))
    for text in (
        "1000000000x1000000000", "9" * 5_000, "1x" * 4_000 + "1", "0x" + "9" * 30, "2:float64x3",
        "1000000" + ",1000000" * 900, "3" * 20, "=1", "", ",", "=__import__('os')", "3x4;", "①x②",
        "4:int64<" + "9" * 40, "3x4,=__import__('os')", "3x4:__class__", "3x4:load", "x" * 20_000,
    ):  # fmt: skip
        data = {"definition": {**SHAPES, "text": text}}
        yield f"shapes {text[:20]!r}", forged(build.changed(data=data))
    for state in ("!", "A", "A" * 10**6, "\x00"):
        yield f"random state {state[:3]!r}", forged(build.changed(random={"state": state}))
    full = {"mode": "full"}
    data = {"definition": {**SHAPES, "text": "1000x1000"}}
    yield "a whole Jacobian", forged(build.changed(settings=full, data=data))
    for number, definition in enumerate(_values()):
        yield f"values {number}", forged(build.changed(data={"definition": definition}))
    for number, state in enumerate(
        ({"kind": "list", "items": []}, _keys(["a"]), _keys(["a", "a"], 2))
    ):
        model = {**MODEL, "state": state}
        yield f"state {number}", forged({**build.changed(), "model": model})


def _states(build: Builder) -> Iterator[tuple[str, bytes]]:
    """States of a module with text in them, which the module's own code would be handed."""
    text: dict[str, Any] = {"kind": "value", "value": "rm -rf ~"}
    nest = {"kind": "list", "items": [TENSOR, {"kind": "tuple", "items": [text]}]}
    inner = {"kind": "dict", "keys": ["/etc/passwd"], "items": [TENSOR]}
    for number, item in enumerate((text, nest, inner)):
        state = {"kind": "dict", "keys": ["_extra_state"], "items": [item]}
        content = {**build.about("model.py", "Net"), "model": {**MODEL, "state": state}}
        yield f"text in a state {number}", forged(content)
    for key in ("rm -rf ~", "../first", "first..weight", ".first", "a" * 501, "first\n", "été"):
        content = build.about("model.py", "Net")
        yield (
            f"key of a state {key[:20]!r}",
            forged({**content, "model": {**MODEL, "state": _keys([key], 1)}}),
        )


def _keys(keys: list[str], count: int = 0) -> dict[str, Any]:
    return {"kind": "dict", "keys": keys, "items": [TENSOR] * count}


def _values() -> Iterator[dict[str, Any]]:
    yield values()
    yield values(1.5, 2)
    for text in (
        "rm -rf ~",
        "/etc/passwd",
        "; true",
        "$(id)",
        "a" * 65,
        "\x1b[2J",
        "été",
        "a.b",
        "\ud800",
    ):
        yield values(TENSOR, text)
        yield values(TENSOR, option=text)
    yield values(TENSOR, **{"; true": 1})
    yield values(TENSOR, {"kind": "dict", "keys": ["/etc/passwd"], "items": [TENSOR]})
    yield values({"kind": "list", "items": [TENSOR, {"kind": "value", "value": "a b"}]})
    for change in (
        {"shape": [2]}, {"shape": [2**62, 2**62]}, {"shape": [0, 2**62, 2]}, {"shape": [2**63 - 1] * 64},
        {"data": "!!"}, {"data": ""}, {"dtype": "load"}, {"dtype": "__class__"}, {"dtype": "qint8"},
        {"dtype": "Tensor"}, {"dtype": "int64"}, {"dtype": "bool", "shape": [8], "requires_grad": False},
    ):  # fmt: skip
        yield values({**TENSOR, **change})
    for row in (
        TENSOR,
        {"kind": "list", "items": []},
        {"kind": "tuple", "items": [TENSOR]},
        _keys(["x"], 1),
    ):
        yield {"kind": "values", "values": row}
