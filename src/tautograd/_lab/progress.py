"""The learner's progress: a small JSON file, written atomically and never thrown away."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

from tautograd._files.atomic import is_plain_or_new, replacing
from tautograd._files.folders import user_folder
from tautograd._files.json_text import parsed
from tautograd._files.regular import NotRegular, read_regular

from .workshop import set_aside

FORMAT, VERSION = "tautograd lab progress", 1
_LARGEST = 16 << 20  # bytes
_MARK, _BEGINNING = (
    b"tautograd lab",
    200,
)  # one of our files has this in its first bytes, damaged or not
_ANOTHER = "name another file for your progress: --progress FILE"
VARIABLE = "TAUTOGRAD_LAB_PROGRESS"
"""The environment variable for the file's path."""

STEPS = ("idea", "predict", "run", "break", "mend", "questions")
"""The steps of a lesson, in order."""


class NewerProgress(Exception):
    """The file was written by a later version, and is left alone."""


class ForeignFile(Exception):
    """The file named by the user is not one of ours, and is left alone."""


def default_path() -> Path:
    """The file named in the environment, else one in the user's data folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    data = user_folder("XDG_DATA_HOME", ".local", "share") or Path.cwd()
    return data / "tautograd" / "lab" / "progress.json"


class Progress:
    """What is known about a learner; `notes` are messages to them about the file itself.

    A file at the default path is ours, however damaged; a file chosen by the user may be
    anything, and is left alone unless it identifies itself as ours.
    """

    def __init__(self, path: Path, *, is_chosen: bool = False) -> None:
        self.path = path.absolute()
        self._is_chosen = is_chosen
        self.notes: list[str] = []
        self.keeps = True  # False: nothing is written any more
        self._content: dict[str, Any] = {"current": None, "lessons": {}}
        self._load()

    @property
    def folder(self) -> Path:
        """Where the files of the lessons are: beside the progress."""
        return self.path.parent / "lessons"

    # ---- what is known ---------------------------------------------------------------------------

    @property
    def current(self) -> str | None:
        """The most recently opened lesson."""
        found = self._content["current"]
        return found if isinstance(found, str) else None

    def step(self, lesson: str) -> str | None:
        """The learner's current step; None if the lesson was never opened."""
        found = self._of(lesson).get("step")
        return found if found in STEPS else None

    def is_finished(self, lesson: str) -> bool:
        """Whether the lesson has ever been completed."""
        return bool(self._of(lesson).get("finished"))

    def answers(self, lesson: str) -> dict[str, Any]:
        """The answers so far: `given`, `right` and `tries` of each question."""
        found = self._of(lesson).get("answers")
        return dict(found) if isinstance(found, dict) else {}

    def state(self, lesson: str) -> str:
        """`new`, `at step …` or `finished`, for a list."""
        if self.is_finished(lesson) and self.step(lesson) is None:
            return "finished"
        step = self.step(lesson)
        return "new" if step is None else f"at step {STEPS.index(step) + 1} of {len(STEPS)}: {step}"

    # ---- what changes ----------------------------------------------------------------------------

    def at(self, lesson: str, step: str) -> None:
        """Record that the learner has reached this step."""
        self._content["current"] = lesson
        self._own(lesson)["step"] = step
        self._save()

    def answered(self, lesson: str, question: str, given: str, *, right: bool, tries: int) -> None:
        """Record an answer, with how many tries it took."""
        own = self._own(lesson)
        answers = own.get("answers")
        answers = own["answers"] = dict(answers) if isinstance(answers, dict) else {}
        answers[question] = {"given": given, "right": right, "tries": tries}
        self._save()

    def finished(self, lesson: str) -> None:
        """Record that the end of a lesson has been reached."""
        own = self._own(lesson)
        own["finished"] = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        own.pop("step", None)
        self._save()

    def begin_again(self, lesson: str) -> None:
        """Restart the lesson; that it was completed before is remembered."""
        own = self._own(lesson)
        own["step"] = STEPS[0]
        own.pop("answers", None)
        self._content["current"] = lesson
        self._save()

    # ---- the file --------------------------------------------------------------------------------

    def _of(self, lesson: str) -> dict[str, Any]:
        found = self._content["lessons"].get(lesson)
        return found if isinstance(found, dict) else {}

    def _own(self, lesson: str) -> dict[str, Any]:
        own: dict[str, Any] = self._content["lessons"].setdefault(lesson, {})
        return own

    def _load(self) -> None:
        try:
            data = read_regular(self.path, _LARGEST)
            if not is_plain_or_new(self.path):  # /dev/stdout leads to a plain file, but is not one
                raise NotRegular(self.path)
        except FileNotFoundError:
            return
        except (NotRegular, IsADirectoryError):
            raise ForeignFile(f"{self.path} is not a regular file; {_ANOTHER}") from None
        except ValueError as error:  # a null character in the name
            raise ForeignFile(f"{self.path}: {error}; {_ANOTHER}") from None
        except OSError as error:
            self.keeps = False
            self.notes.append(
                f"{self.path} cannot be read ({error.strerror}); progress is not kept this time."
            )
            return
        try:
            content = parsed(data)
            problem = _problem(content, self.path)
        except ValueError as error:  # not JSON, or not UTF-8
            problem = f"it is not JSON ({error})"
        if problem is None:
            self._content = content
            return
        if self._is_chosen and data.strip() and _MARK not in data[:_BEGINNING]:
            raise ForeignFile(f"{self.path} is left alone: {problem}; {_ANOTHER}")
        try:
            kept = set_aside(self.path)
        except OSError as error:
            self.keeps = False
            self.notes.append(
                f"{self.path} is damaged: {problem}. It cannot be moved ({error.strerror}), so it is "
                "left as it is, and progress is not kept this time."
            )
            return
        self.notes.append(
            f"{self.path.name} is damaged: {problem}. It is kept as {kept}; progress starts anew."
        )

    def _save(self) -> None:
        if not self.keeps:
            return
        content = {"format": FORMAT, "version": VERSION, **self._content}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as file:
                file.write((json.dumps(content, indent=2) + "\n").encode())
        except OSError as error:
            self.keeps = False
            self.notes.append(
                f"{self.path} cannot be written ({error.strerror}); progress is not kept this time."
            )


def _problem(content: Any, path: Path) -> str | None:
    """What is wrong with a file that is JSON; a later version's is not judged."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return "it is not a progress file"
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        raise NewerProgress(
            f"{path} was written by a later version of tautograd (its version is {version}, {VERSION} is "
            "known here); use that one, or another file: --progress FILE"
        )
    lessons = content.get("lessons")
    if version != VERSION or not isinstance(lessons, dict):
        return "parts of it are missing"
    if not all(isinstance(entry, dict) for entry in lessons.values()):
        return "a lesson in it is no record"
    content.setdefault("current", None)
    return None
