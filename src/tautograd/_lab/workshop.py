"""The files of a lesson in the learner's folder: the program, the broken one, theirs, the evidence.

`yours.py` is the learner's: it begins as a copy of the broken program and is never overwritten. To
begin again it is set aside under a number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tautograd._files.atomic import replacing

from .lesson import Lesson, for_engine
from .lessons import number_of


@dataclass(frozen=True)
class Workshop:
    """Where a lesson's files are, for one engine."""

    lesson: Lesson
    engine: str
    folder: Path

    @classmethod
    def open(cls, lesson: Lesson, engine: str, root: Path) -> Workshop:
        """The lesson's folder below `root`, with its programs in it."""
        name = f"{number_of(lesson.name):02}-{lesson.name}"
        found = cls(lesson, engine, root / (name if engine == "tautograd" else f"{name}-{engine}"))
        found.folder.mkdir(parents=True, exist_ok=True)
        found._write("program.py", lesson.program)
        found._write("broken.py", lesson.broken)
        if lesson.experiment is not None:
            found._write("experiment.py", lesson.experiment.program)
        if not found.path("yours.py").exists():
            found._write("yours.py", lesson.broken)
        return found

    def path(self, name: str) -> Path:
        """A file of the lesson."""
        return self.folder / name

    def text_of(self, name: str) -> str:
        """What is in a file of the lesson."""
        return self.path(name).read_text(encoding="utf-8", errors="replace")

    def take_model(self) -> None:
        """The mended program in the place of the learner's, which is kept under another name."""
        if self.text_of("yours.py") not in (self._text(self.lesson.broken), self._model):
            self.set_aside()
        self._write("yours.py", self.lesson.program)

    def begin_again(self) -> None:
        """The broken program once more; what the learner made of it is kept under another name."""
        if self.text_of("yours.py") != self._text(self.lesson.broken):
            self.set_aside()
        self._write("yours.py", self.lesson.broken)

    def set_aside(self) -> Path:
        """Keep the learner's file as `yours-1.py`, or the next number that is free."""
        return set_aside(self.path("yours.py"))

    @property
    def _model(self) -> str:
        return self._text(self.lesson.program)

    def _text(self, program: str) -> str:
        return for_engine(program, self.engine)

    def _write(self, name: str, program: str) -> None:
        with replacing(self.path(name)) as file:
            file.write(self._text(program).encode())


def set_aside(path: Path) -> Path:
    """Move a file to the first free name with a number; nothing is overwritten."""
    number = 1
    while (kept := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    os.replace(path, kept)
    return kept
