"""`taut lab`: the lessons, in the terminal or as notebooks, with the learner's progress kept."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tautograd._files.terminal import line, say, warn

if TYPE_CHECKING:
    from tautograd._lab.learner import Learner
    from tautograd._lab.progress import Progress

SUMMARY = "lessons: see backpropagation, break it, fix it, and keep the evidence"
EXAMPLE = """\
examples:
  taut lab                        resumes where you are, lesson by lesson
  taut lab chain-rule             this lesson (its number works too)
  taut lab --list                 all lessons, and your progress
  taut lab --engine torch         the same programs on PyTorch
  taut lab --auto chain-rule      shows a lesson with the model answers
  taut lab --notebook DIR         writes the lessons as notebooks

At every question: ? gives a hint, skip shows the answer, q (or Ctrl-C) stops and keeps your place.
Without a terminal, answers are read from stdin, one per line, and then the model
answers are used. Exit status: 0 fine, 1 a lesson observed something else than it says, 2 could not run."""

_FINE, _FOUND, _INTERRUPTED = 0, 1, 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut lab`."""
    parser.usage = "taut lab [options] [lesson]"
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="a lesson, by name or number")
    add("--list", action="store_true", help="only list the lessons")
    add(
        "--engine",
        choices=("tautograd", "torch"),
        default="tautograd",
        help="engine that runs the programs (default: tautograd)",
    )
    add("--auto", action="store_true", help="ask nothing, use the model answers, save no progress")
    add("--again", action="store_true", help="start the lesson again; your files are kept")
    add(
        "--progress",
        metavar="FILE",
        help="where progress is saved; the lessons' files are beside it "
        "(default: the variable TAUTOGRAD_LAB_PROGRESS, else your data folder)",
    )
    add("--notebook", metavar="DIR", help="write the lesson, or all of them, as notebooks")
    add("--json", action="store_true", help="print JSON: the list, or the outcome of a lesson")


def execute(namespace: argparse.Namespace) -> int:
    """Execute the command."""
    parser: argparse.ArgumentParser = namespace.parser
    from tautograd._lab.progress import VARIABLE, ForeignFile, NewerProgress, Progress, default_path

    name = _name(namespace)
    try:
        path = Path(namespace.progress) if namespace.progress else default_path()
        is_chosen = bool(namespace.progress or os.environ.get(VARIABLE))
        progress = Progress(path, is_chosen=is_chosen)
    except (
        ForeignFile,
        NewerProgress,
        RuntimeError,
        ValueError,
    ) as reason:  # or there is no home folder
        parser.error(str(reason))
    if namespace.list:
        return _list(namespace, progress)
    if namespace.notebook is not None:
        return _notebooks(namespace, name)
    if name is None and (namespace.auto or namespace.json):
        parser.error("which lesson? --auto and --json show one; taut lab --list names them")
    try:
        return _lessons(namespace, name, progress, _engine(namespace))
    except BrokenPipeError:  # the reader has closed it: not the files' fault
        raise
    except OSError as error:
        parser.error(f"the files of the lesson cannot be read or written: {error}")
    except KeyboardInterrupt:
        from tautograd._lab.screen import Screen

        screen = Screen(sys.stderr if namespace.json else None)
        screen.line()
        screen.say(_kept(progress))
        return _INTERRUPTED


def _name(namespace: argparse.Namespace) -> str | None:
    """The lesson requested."""
    from tautograd._lab.lessons import NAMES, names
    from tautograd._nearest import nearest

    parser: argparse.ArgumentParser = namespace.parser
    wanted: str | None = namespace.name
    if wanted is None:
        return None
    if wanted.isdecimal() and len(wanted) < 9 and 1 <= int(wanted) <= len(NAMES):
        wanted = NAMES[int(wanted) - 1]
    if wanted not in names():
        near = nearest(wanted, names())
        hint = f"did you mean '{near}'?" if near else "taut lab --list names them"
        parser.error(f"there is no lesson '{wanted}'; {hint}")
    return wanted


def _engine(namespace: argparse.Namespace) -> ModuleType:
    parser: argparse.ArgumentParser = namespace.parser
    try:
        return importlib.import_module(namespace.engine)
    except ImportError:
        parser.error(
            "--engine torch: PyTorch is not installed; every lesson runs on tautograd without it"
        )


# ---- lessons -------------------------------------------------------------------------------------


def _lessons(
    namespace: argparse.Namespace, name: str | None, progress: Progress, engine: ModuleType
) -> int:
    import io

    from tautograd._lab.learner import Left
    from tautograd._lab.lessons import lesson_called
    from tautograd._lab.screen import Screen
    from tautograd._lab.teacher import Teacher

    screen = Screen(io.StringIO() if namespace.json else None)
    learner = _learner(namespace)
    teacher = Teacher(screen, learner, progress, engine)
    wanted: str | None = name or _next(progress)
    surprises = []
    try:
        if wanted is None:
            screen.say("You have finished every lesson. taut lab NAME takes one again.")
        while wanted is not None:
            outcome = teacher.teach(
                lesson_called(wanted), again=_again(namespace, wanted, progress)
            )
            surprises += outcome.surprises
            if namespace.json:
                say(json.dumps(vars(outcome), indent=2))
            wanted = _following(wanted, screen, learner)
            namespace.again = False
    except Left:
        screen.say(_kept(progress))
    return _FOUND if surprises else _FINE


def _learner(namespace: argparse.Namespace) -> Learner:
    from tautograd._lab.learner import Lines, Nobody, Person

    if namespace.auto or namespace.json:
        return Nobody()
    return Person() if sys.stdin.isatty() else Lines()


def _again(namespace: argparse.Namespace, name: str, progress: Progress) -> bool:
    """Whether to begin at the first step: on request, or if the lesson was completed."""
    finished = progress.is_finished(name) and progress.step(name) is None
    return not namespace.auto and not namespace.json and (namespace.again or finished)


def _next(progress: Progress) -> str | None:
    """The lesson to continue with: the one that is open, else the first incomplete one."""
    from tautograd._lab.lessons import names

    current = progress.current
    if current in names() and progress.step(current) is not None:
        return current
    return next((name for name in names() if not progress.is_finished(name)), None)


def _following(name: str, screen: Any, learner: Learner) -> str | None:
    """The next lesson, if somebody is there and wants it."""
    from tautograd._lab.learner import Person
    from tautograd._lab.lessons import lesson_called, names

    after = names()[names().index(name) + 1 :]
    if not isinstance(learner, Person) or not after:
        return None
    screen.line()
    screen.say(f"Next: {lesson_called(after[0]).title} ({after[0]}).")
    typed = learner.answer("[Enter] goes on, q stops here ") or ""
    return None if typed.strip().lower() in ("q", "quit", "exit", "n", "no") else after[0]


def _kept(progress: Progress) -> str:
    """The message for a learner who stops halfway."""
    current = progress.current
    if not progress.keeps or current is None:
        return "Stopped."
    return f"Stopped. Your place is kept ({current}, {progress.state(current)}): taut lab goes on."


# ---- the list, notebooks -------------------------------------------------------------------------


def _list(namespace: argparse.Namespace, progress: Progress) -> int:
    from tautograd._lab.lessons import all_lessons, number_of

    rows = [
        {
            "number": number_of(lesson.name),
            "name": lesson.name,
            "title": lesson.title,
            "contract": list(lesson.contract),
            "state": progress.state(lesson.name),
        }
        for lesson in all_lessons()
    ]
    for note in progress.notes:
        warn(line(f"taut lab: {note}"))
    if namespace.json:
        say(json.dumps({"progress": str(progress.path), "lessons": rows}, indent=2))
        return _FINE
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        state = "" if row["state"] == "new" else f"  [{row['state']}]"
        say(f"{row['number']:>3}  {row['name']:<{width}}  {row['title']}{state}")
    return _FINE


def _notebooks(namespace: argparse.Namespace, name: str | None) -> int:
    from tautograd._lab.lessons import names
    from tautograd._lab.notebook import write

    try:
        paths = [
            write(each, Path(namespace.notebook), namespace.engine)
            for each in ([name] if name else names())
        ]
    except OSError as error:
        namespace.parser.error(f"--notebook: {error}")
    if namespace.json:
        say(json.dumps({"notebooks": [str(path) for path in paths]}, indent=2))
    else:
        for path in paths:
            say(line(str(path)))
    return _FINE
