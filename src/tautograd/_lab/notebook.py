"""The same lessons as Jupyter notebooks: format 4.5, which is JSON and needs no library to write."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tautograd._files.atomic import replacing
from tautograd._files.regular import read_regular

from .contract import ROWS, SHOWN
from .lesson import Lesson, for_engine
from .lessons import lesson_called, number_of
from .questions import Choice, Question
from .screen import changed
from .workshop import set_aside


def write(name: str, folder: Path, engine: str) -> Path:
    """Write a lesson's notebook; an existing one that was changed is kept under a number."""
    lesson = lesson_called(name)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number_of(name):02}-{name}.ipynb"
    content = (json.dumps(notebook(lesson, engine), indent=1) + "\n").encode()
    if os.path.lexists(path) and read_regular(path) != content:
        set_aside(path)
    with replacing(path) as file:
        file.write(content)
    return path


def notebook(lesson: Lesson, engine: str) -> dict[str, Any]:
    """A lesson as a notebook's content."""
    cells = list(_cells(lesson, engine))
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cells(lesson: Lesson, engine: str) -> Iterator[dict[str, Any]]:
    program, broken = for_engine(lesson.program, engine), for_engine(lesson.broken, engine)
    breaks = lesson.breaks
    rows = "\n".join(f"- {ROWS[row]}" for row in lesson.contract)
    yield _text(f"# Lesson {number_of(lesson.name)}: {lesson.title}\n\n{lesson.idea}")
    yield _text(f"## Predict\n\n{_question(lesson.predict)}")
    yield _text("## Run it")
    yield _code(program)
    yield _text(f"It should print\n\n{_block(lesson.prints)}\n{lesson.seen}")
    yield _text(
        f"The same as a picture, of `{lesson.checks}`: space plays backward, the arrow keys step through it, "
        "and what stands out is said beside it."
    )
    yield _code(_picture(lesson))
    if lesson.experiment is not None:
        yield _text(lesson.experiment.how)
        yield _code(for_engine(lesson.experiment.program, engine), raises=True)
        yield _text(lesson.experiment.means)
    yield _text(f"## Break it on purpose\n\n{breaks.how}\n{_diff(program, broken)}")
    yield _code(_watched(broken, lesson), raises=bool(breaks.raises))
    yield _code(_verified(lesson, "before.json"))
    yield _text(breaks.means)
    yield _text(
        "## Mend it\n\nThe broken program again, for you to change. Run it, and the cell after it, "
        f"until nothing is wrong.\n\n{_folded('A hint', breaks.hint)}"
    )
    yield _code(_watched(broken, lesson), raises=bool(breaks.raises))
    yield _code(_verified(lesson, "after.json"))
    mended = f"{_block(program, 'python')}\n{breaks.mended}"
    yield _text(_folded("The mended program", mended))
    yield _text(
        "Both verifications are on record now. In a terminal, in this folder:\n\n"
        "    taut evidence diff before.json after.json"
    )
    questions = "\n\n".join(
        f"**{number}.** {_question(question)}"
        for number, question in enumerate(lesson.questions, 1)
    )
    yield _text(f"## What have you learned?\n\n{questions}\n\n{SHOWN}\n\n{rows}")


def _watched(program: str, lesson: Lesson) -> str:
    """The program, watched by the doctor if the lesson asks for it."""
    if not lesson.breaks.doctor:
        return program
    return (
        f"from tautograd import doctor\n\nwatching = doctor.watch()\n\n{program}\n"
        "watching.stop()\nwatching.show()\n"
    )


def _verified(lesson: Lesson, evidence: str) -> str:
    order = ", order=2" if lesson.order == 2 else ""
    return (
        "from tautograd import verify\n\n"
        f"report = verify({_subject(lesson)}, {_inputs(lesson)}{order})\n"
        f'report.save("{evidence}", overwrite=True)\n'
        "print(report)\n"
    )


def _picture(lesson: Lesson) -> str:
    """A cell whose value is the view of what the lesson checks, on copies that require a gradient."""
    what = (
        f"lambda *given: {_subject(lesson)}(*given).sum()" if lesson.several else _subject(lesson)
    )
    inputs = _inputs(lesson)
    each = f"[{inputs}]" if inputs.endswith("()") else inputs  # a function gives the input itself
    return (
        "from tautograd import view\n\n"
        f"inputs = [x.clone().requires_grad_(x.is_floating_point()) for x in {each}]\n"
        f"view({what}, *inputs)\n"
    )


def _subject(lesson: Lesson) -> str:
    """What is verified, as an expression: for a class its instance, or its `apply`."""
    found = re.search(rf"^class {lesson.checks}\((.*)\):", lesson.program, re.MULTILINE)
    if found is None:
        return lesson.checks
    return f"{lesson.checks}.apply" if "autograd.Function" in found[1] else f"{lesson.checks}()"


def _inputs(lesson: Lesson) -> str:
    name = f"{lesson.checks}_inputs"
    if re.search(rf"^def {name}\(", lesson.program, re.MULTILINE):
        return f"{name}()"
    lower = f"{lesson.checks.lower()}_inputs"
    for one in (name, lower):
        if re.search(rf"^{one} =", lesson.program, re.MULTILINE):
            return one
    return f"{lower}()"


# ---- Markdown ------------------------------------------------------------------------------------


def _question(question: Question) -> str:
    options = ""
    if isinstance(question, Choice):
        rows = zip(question.letters, question.options, strict=True)
        options = "".join(f"\n- {letter}) {option}" for letter, option in rows) + "\n"
    hint = f"\n\n{_folded('A hint', question.hint)}" if question.hint else ""
    answer = _folded("The answer", f"**{question.model}**. {question.why}")
    return f"{question.ask}\n{options}{hint}\n\n{answer}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text.rstrip()}\n\n</details>"


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _diff(before: str, after: str) -> str:
    return _block("\n".join(f"{kind} {line}" for kind, line in changed(before, after)), "diff")


# ---- cells ---------------------------------------------------------------------------------------


def _text(markdown: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(markdown)}


def _code(program: str, *, raises: bool = False) -> dict[str, Any]:
    metadata = {"tags": ["raises-exception"]} if raises else {}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": metadata,
        "outputs": [],
        "source": _lines(program),
    }


def _lines(text: str) -> list[str]:
    return text.strip("\n").splitlines(keepends=True)
