"""The names a program uses that tautograd lacks: line, presence in PyTorch, reason, nearest name."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tautograd._names.reasons import reason
from tautograd._names.resolve import Missing, is_here, resolve
from tautograd._names.table import is_public, public_names
from tautograd._nearest import suggested

from .program import Program
from .uses import Use

# Methods of Python's own containers, which a non-tensor object most often has.
_PYTHONS = frozenset(name for kind in (dict, list, str, set, bytes, tuple) for name in dir(kind))


@dataclass(frozen=True)
class Finding:
    """One use of a missing name."""

    file: str
    line: int
    column: int
    name: str
    in_pytorch: bool
    why: str
    instead: str
    nearest: str | None
    guarded: bool  # the program tests for it first, or catches the error
    sure: bool  # False for a method of an object that may not be a tensor

    @property
    def stops(self) -> bool:
        return self.sure and not self.guarded

    def text(self) -> str:
        """The finding as a line of text."""
        said = f"{self.file}:{self.line}: {self.name}"
        if not self.sure:
            said += ", if this is a tensor"
        if self.in_pytorch:
            said += (
                f" (PyTorch has it): {self.why}" if self.why else ": PyTorch has it, tautograd not"
            )
        elif any(step.startswith("_") for step in self.name.split(".")):
            said += ": not here; what PyTorch has by a private name is its own affair"
        else:
            said += ": neither PyTorch nor tautograd has it"
        if self.instead:
            said += f"; use {self.instead}"
        if self.nearest:
            said += f"; did you mean {self.nearest}?"
        return f"{said} [guarded]" if self.guarded else said

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def findings(program: Program) -> tuple[list[Finding], int]:
    """The missing names, in file order, and how many names were looked up."""
    found: dict[tuple[str, int, str], Finding] = {}
    looked_up = set()
    for path, use in program.uses():
        if not use.is_method:
            looked_up.add(use.path)
        for finding in _look(path, use):
            found.setdefault((finding.file, finding.line, finding.name), finding)
    return list(found.values()), len(looked_up)


def _look(path: Path, use: Use) -> Iterator[Finding]:
    file = os.path.relpath(path)
    file = str(path) if file.startswith("..") else file
    place = (file, use.line, use.column)
    if use.is_method:
        if use.path in _missing_methods():
            name = f"torch.Tensor.{use.path}"
            yield Finding(*place, name, True, *reason(name), None, use.guarded, sure=False)
        return
    missing = _missing(use.path)
    if missing is not None:
        public, near = missing
        yield Finding(*place, use.path, public, *reason(use.path), near, use.guarded, sure=True)


@functools.cache
def _missing(path: str) -> tuple[bool, str | None] | None:
    """Whether PyTorch has a name that is missing here, and the nearest one; None if it exists here."""
    try:
        resolve(path)
    except Missing as missing:
        public = is_public(f"{missing.parent}.{missing.name}")
        near = None if public else suggested(missing.parent, missing.name, dir(missing.found))
        return public, near
    return None


_methods: frozenset[str] | None = None


def _missing_methods() -> frozenset[str]:
    global _methods
    if _methods is None:
        names = public_names()["torch.Tensor"]
        _methods = frozenset(
            name for name in names if name not in _PYTHONS and not is_here(f"torch.Tensor.{name}")
        )
    return _methods
