"""A case from outside as two programs: the family's module without its fixes, and without its bugs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
SOUND = ("sound_loops", "sound_practice", "sound_reports")
APART = ("__init__", "variants", "facts", "divide", "count", "fixes", *SOUND)
_MARK = re.compile(r"#\s*(bug|fix|here)\s*$")


@dataclass(frozen=True)
class Case:
    """One report: its family, the fact that is wrong, and the lines that are to blame."""

    name: str
    family: str
    fact: str
    why: str
    source: str
    lines: tuple[int, ...]

    @property
    def file(self) -> Path:
        """Where the program with the mistake was written."""
        return _folder() / f"{self.family}_bug.py"

    def loops(self, torch: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """The mistake and the correction, ready to run."""
        bug, fix = (seeded(torch, getattr(_module(self.family, kind), self.name)) for kind in KINDS)
        return bug, fix


KINDS = ("bug", "fix")


def seeded(torch: Any, loop: Callable[[Any], Any]) -> Callable[[], Any]:
    def run() -> Any:
        torch.manual_seed(0)
        return loop(torch)

    return run


@cache
def sound_loops() -> dict[str, Callable[[Any], Any]]:
    """The loops in which nothing is wrong, by name."""
    modules = [importlib.import_module(f".{name}", __package__) for name in SOUND]
    here = (f for m in modules for f in vars(m).values() if inspect.isfunction(f))
    names = {m.__name__ for m in modules}
    return {f.__name__: f for f in here if f.__module__ in names}


@cache
def cases() -> dict[str, Case]:
    """All cases, by name."""
    found: dict[str, Case] = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in APART:
            for case in _of_family(path):
                assert case.name not in found, f"two cases are called {case.name}"
                found[case.name] = case
    return found


def _of_family(path: Path) -> list[Case]:
    text = path.read_text(encoding="utf-8")
    marked, made = blamed(text), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == ["torch"]:
            told = " ".join((ast.get_docstring(node) or "").split())
            fact, _, rest = told.partition(": ")
            why, _, source = rest.rpartition(" ")
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            lines = tuple(n for n in marked if n in span)
            assert source.startswith("http"), f"{node.name}: no source"
            assert lines, f"{node.name}: no line is marked"
            made.append(Case(node.name, path.stem, fact, why, source, lines))
    return made


@cache
def _folder() -> Path:
    """Where the programs are written, once for each process."""
    return Path(tempfile.mkdtemp(prefix="outside-"))


@cache
def _module(family: str, kind: str) -> ModuleType:
    path = _folder() / f"{family}_{kind}.py"
    path.write_text(
        variant((HERE / f"{family}.py").read_text(encoding="utf-8"), kind), encoding="utf-8"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blamed(text: str) -> list[int]:
    """The lines that are to blame: the mistake itself, and those marked `# here`."""
    marks = {n: m[1] for n, line in enumerate(text.splitlines(), 1) if (m := _MARK.search(line))}
    return [n for n, mark in marks.items() if mark in ("bug", "here")]


def variant(text: str, kind: str) -> str:
    """A marked program with its mistake or with its correction; lines keep their numbers."""
    other = KINDS[1 - KINDS.index(kind)]
    kept = [
        "" if (m := _MARK.search(line)) and m[1] == other else _bare(line)
        for line in text.splitlines()
    ]
    return "\n".join(kept) + "\n"


def _bare(line: str) -> str:
    return _MARK.sub("", line).rstrip()
