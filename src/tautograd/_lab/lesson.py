"""The data type of a lesson, the same for all. The package's docstring explains each part."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from .questions import Question

OWN_IMPORT, TORCH_IMPORT = "import tautograd as torch", "import torch"
"""The line of a program that selects its engine, and its replacement for PyTorch."""


def text(indented: str) -> str:
    """A text from an indented, triple-quoted string; it ends with a newline."""
    return textwrap.dedent(indented).strip("\n") + "\n"


@dataclass(frozen=True)
class Break:
    """A deliberate mistake: what is changed, and its effects."""

    how: str
    changes: tuple[tuple[str, str], ...]
    verdict: str
    means: str
    hint: str
    mended: str
    prints: str = ""
    raises: str = ""
    doctor: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A small program that stops with an error worth reading."""

    how: str
    program: str
    raises: str
    """A phrase of the error, the same on both engines."""
    means: str


@dataclass(frozen=True)
class Lesson:
    """One lesson."""

    name: str
    title: str
    contract: tuple[str, ...]
    idea: str
    program: str
    prints: str
    predict: Question
    seen: str
    checks: str
    breaks: Break
    questions: tuple[Question, ...]
    experiment: Experiment | None = None
    order: int = 1
    several: bool = False
    """`checks` gives several numbers; a picture shows their sum."""

    @property
    def broken(self) -> str:
        """The program with the mistake in it."""
        program = self.program
        for old, new in self.breaks.changes:
            if program.count(old) != 1:
                raise ValueError(f"lesson {self.name}: not once in the program: {old!r}")
            program = program.replace(old, new)
        return program


def for_engine(program: str, engine: str) -> str:
    """A program of a lesson, for tautograd or for PyTorch."""
    lines = program.split("\n")
    if engine == "torch":
        lines = [TORCH_IMPORT if line == OWN_IMPORT else line for line in lines]
    return "\n".join(lines)
