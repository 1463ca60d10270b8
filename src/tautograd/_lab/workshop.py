"""The files of a lesson in the learner's folder: the program, the broken one, theirs, the evidence.

`yours.py` is the learner's: it starts as a copy of the broken program and is never overwritten. On a
restart it is renamed with a number.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from tautograd._files.atomic import is_plain_or_new, put_new, replacing
from tautograd._files.regular import read_regular

from .lesson import Lesson, for_engine
from .lessons import number_of


@dataclass(frozen=True)
class Workshop:
    """The location of a lesson's files, for one engine."""

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
        found.restore()
        return found

    def restore(self) -> bool:
        """Recreate the learner's file if it is gone; returns whether it was."""
        if self.path("yours.py").exists():
            return False
        self._write("yours.py", self.lesson.broken)
        return True

    def path(self, name: str) -> Path:
        """A file of the lesson."""
        return self.folder / name

    def text_of(self, name: str) -> str:
        """The contents of a lesson's file."""
        return read_regular(self.path(name)).decode("utf-8", "replace").replace("\r\n", "\n")

    def take_model(self) -> None:
        """Replace the learner's program by the solution; the learner's is kept under another name."""
        self._keep_edits()
        self._write("yours.py", self.lesson.program)

    def begin_again(self) -> None:
        """Restore the broken program; the learner's version is kept under another name."""
        self._keep_edits()
        self._write("yours.py", self.lesson.broken)

    def _keep_edits(self) -> None:
        known = (self._text(self.lesson.broken), self._text(self.lesson.program))
        if self.path("yours.py").exists() and self.text_of("yours.py") not in known:
            set_aside(self.path("yours.py"))

    def _text(self, program: str) -> str:
        return for_engine(program, self.engine)

    def _write(self, name: str, program: str) -> None:
        path, content = self.path(name), self._text(program).encode()
        if name != "yours.py" and path.exists():
            if read_regular(path) == content:
                return
            set_aside(path)  # somebody tried something in it
        with replacing(path) as file:
            file.write(content)


def set_aside(path: Path) -> Path:
    """Move a file to the first free name with a number; nothing is overwritten."""
    if not is_plain_or_new(path):
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    number = 1
    while True:
        kept = path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            put_new(str(path), str(kept))
        except FileExistsError:
            number += 1
        else:
            return kept
