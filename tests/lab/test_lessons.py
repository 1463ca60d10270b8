"""Every lesson does what it says: its output, what breaks, what is said of it, and the evidence."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import subprocess
import sys

import pytest

from tautograd import evidence
from tautograd._doctor.report.rule_pages import rule_called
from tautograd._lab.contract import ROWS
from tautograd._lab.learner import Left, Nobody, Person
from tautograd._lab.lesson import OWN_IMPORT
from tautograd._lab.lessons import NAMES, lesson_called, names
from tautograd._lab.progress import Progress
from tautograd._lab.questions import Choice, numbers_in
from tautograd._lab.running import run
from tautograd._lab.screen import Screen
from tautograd._lab.teacher import Teacher
from tests.both import shared_out

VERBATIM = ("    ", "   >")
"""How lines begin that are shown as they stand: output, and errors."""


def taught(name: str, engine: str, folder, stream=None):
    """A lesson gone through with the model answers."""
    progress = Progress(folder / "progress.json")
    teacher = Teacher(
        Screen(stream or io.StringIO()), Nobody(), progress, importlib.import_module(engine)
    )
    return teacher.teach(lesson_called(name))


@pytest.mark.parametrize(("name", "engine"), shared_out(names()))
def test_a_lesson_does_what_it_says(name, engine, tmp_path):
    lesson = lesson_called(name)
    shown = io.StringIO()
    outcome = taught(name, engine, tmp_path, shown)
    assert outcome.surprises == []
    assert outcome.run["output"] == lesson.prints
    assert outcome.run["error"] == ""
    assert outcome.run["codes"] == []
    assert outcome.broken["output"] == lesson.breaks.prints
    assert sorted(outcome.broken["codes"]) == sorted(lesson.breaks.doctor)
    assert outcome.broken["verdict"] == lesson.breaks.verdict
    assert outcome.mended["verdict"] == "correct"
    assert outcome.mended["codes"] == []
    assert unproved_numbers(lesson, shown.getvalue()) == set()
    assert "\n\n\n" not in shown.getvalue(), "rows of a small terminal, spent on nothing"
    wide = [line for line in shown.getvalue().splitlines() if len(line) > 80]
    assert not [
        line for line in wide if str(tmp_path) not in line and not line.startswith(VERBATIM)
    ]

    with contextlib.chdir(outcome.folder):
        before, after = evidence.load("before.json"), evidence.load("after.json")
        assert before["verdict"] == lesson.breaks.verdict
        assert after["verdict"] == "correct"
        assert before["computation"]["engine"] == after["computation"]["engine"] == engine
        assert not evidence.diff(before, after).same
        for file in ("before.json", "after.json"):
            with contextlib.redirect_stdout(io.StringIO()):
                assert evidence.replay(file).exact, file
    assert not os.path.exists(tmp_path / "progress.json"), "nobody was there to make progress"


NUMBER = re.compile(r"(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?!\w)")
EQUATION = re.compile(
    r"(?<![\w.])(?<![*/+-] )([-\d(][-\d.e() */+]*\d\)?) = (-?\d+(?:\.\d+)?)(?![\w.]*\w)"
)


def numbers(text: str) -> set[float]:
    return {float(found.replace("_", "")) for found in NUMBER.findall(text)}


def unproved_numbers(lesson, shown: str) -> set[float]:
    """Numbers of what is said after a program ran that are neither on the screen nor worked out in sight."""
    prose = [lesson.seen, lesson.breaks.means, lesson.breaks.mended]
    prose += [lesson.experiment.means] if lesson.experiment else []
    screen = " ".join(shown.split())
    for text in prose:  # taken out of the screen: a number must not be its own proof
        screen = screen.replace(" ".join(text.split()), "")
    found = set()
    for text in prose:
        plain = re.sub(r"[Ll]essons? \d+", "", " ".join(text.split()))
        worked_out = {float(result) for _, result in EQUATION.findall(plain)}
        found |= numbers(plain) - worked_out
    return found - numbers(screen) - {0.0, 1.0}


@pytest.mark.parametrize("name", names())
def test_what_is_worked_out_in_sight_is_right(name):
    lesson = lesson_called(name)
    texts = [lesson.idea, lesson.seen, lesson.breaks.how, lesson.breaks.means, lesson.breaks.mended]
    for question in (lesson.predict, *lesson.questions):
        texts += [question.why, question.hint, *question.slips.values()]
    for text in texts:
        for expression, result in EQUATION.findall(" ".join(text.split())):
            found = eval(expression, {"__builtins__": {}})
            digits = len(result.partition(".")[2])
            assert round(found, digits) == float(result), text


def test_the_chain_rules_question_does_not_give_its_factors_away():
    question = lesson_called("chain-rule").predict
    assert not numbers(question.ask) & {3.0, 4.0, 8.0, 24.0}


def test_the_equations_are_found():
    text = "So 2 * 3 * 6 = 36, 0.1 / 4 = 0.025, x = 3 and u = 3 * x + 1; (1 + 2) * -3 = -9."
    assert EQUATION.findall(text) == [
        ("2 * 3 * 6", "36"), ("0.1 / 4", "0.025"), ("(1 + 2) * -3", "-9"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_a_lesson_has_the_shape_of_all(name):
    lesson = lesson_called(name)
    assert lesson.name == name
    assert lesson.contract
    assert set(lesson.contract) <= set(ROWS)
    assert 2 <= len(lesson.questions) <= 3
    assert lesson.breaks.doctor or lesson.breaks.verdict != "correct", "who is to see it?"
    for code in lesson.breaks.doctor:
        assert rule_called(code).code == code
    for program in (lesson.program, *([lesson.experiment.program] if lesson.experiment else [])):
        assert program.split("\n").count(OWN_IMPORT) == 1
        assert "import torch" not in program
        assert max(map(len, program.split("\n"))) <= 72, "with line numbers it fits in 80 columns"
    assert lesson.broken != lesson.program
    compile(lesson.broken, "broken.py", "exec")
    texts = [lesson.idea, lesson.seen, lesson.breaks.how, lesson.breaks.means, lesson.breaks.hint]
    assert all(text.strip() and text.isascii() for text in texts)


@pytest.mark.parametrize("name", names())
def test_questions_take_their_answers_and_know_their_slips(name):
    lesson = lesson_called(name)
    for question in (lesson.predict, *lesson.questions):
        assert question.check(question.model).kind == "right", question.ask
        assert question.why
        assert question.hint
        assert question.check("no idea at all").kind == "unread"
        for slip, reply in question.slips.items():
            typed = slip if isinstance(slip, str) else " ".join(map(str, _row(slip)))
            found = question.check(typed)
            assert (found.kind, found.say) == ("wrong", reply), (question.ask, slip)
        if isinstance(question, Choice):
            assert len(set(question.options)) == len(question.options)
            assert question.answer in question.letters
            assert set(question.slips) < set(question.letters)
        else:
            assert numbers_in(question.model) is not None


def _row(value):
    return value if isinstance(value, tuple) else (value,)


def test_the_lessons_show_the_contract():
    shown = {row for name in names() for row in lesson_called(name).contract}
    assert shown >= {f"C{number}" for number in range(1, 14)}  # C14 is what each of them does


@pytest.mark.slow
def test_every_lesson_runs_where_pytorch_is_not(tmp_path):
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from tautograd._cli.main import main\n"
        "from tautograd._lab.lessons import names\n"
        "sys.exit(any([main(['lab', '--auto', name]) for name in names()]))"
    )
    environment = {**os.environ, "TAUTOGRAD_LAB_PROGRESS": str(tmp_path / "progress.json")}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_table_names_twenty_lessons_and_no_file_is_left_out():
    files = {file for file in os.listdir(os.path.dirname(lessons_file())) if file.endswith(".py")}
    assert len(set(NAMES)) == 20
    assert files - {"__init__.py"} == {f"{name.replace('-', '_')}.py" for name in names()}


def lessons_file() -> str:
    from tautograd._lab import lessons

    return lessons.__file__


def test_a_program_leaves_nothing_behind(tmp_path):
    import tautograd

    path = tmp_path / "program.py"
    path.write_text(
        "import sys, os, tautograd as torch\n"
        "torch.set_grad_enabled(False)\n"
        "torch.set_default_dtype(torch.float64)\n"
        "sys.path.insert(0, 'nowhere')\n"
        "os.chdir('/')\n"
        "import warnings; warnings.warn('careful', stacklevel=1)\n"
        "print('done')\n"
        "raise SystemExit('that was it')\n"
    )
    kept = os.getcwd(), list(sys.path), sys.modules["__main__"], sys.stdin
    ran = run(path, tautograd)
    assert ran.output == "done\n"
    assert "UserWarning: careful" in ran.aside
    assert ran.error == "It ended with sys.exit('that was it')."
    assert kept == (os.getcwd(), sys.path, sys.modules["__main__"], sys.stdin)
    assert tautograd.is_grad_enabled()
    assert tautograd.get_default_dtype() == tautograd.float32


class Reader(Person):
    """Someone at a terminal who presses Enter, and leaves at the first question."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return "" if prompt.startswith("[Enter]") else "q"


@pytest.mark.parametrize(("lines", "waits"), [("24", True), ("100", False)])
def test_the_idea_stays_in_sight_until_it_was_read(lines, waits, tmp_path, monkeypatch):
    monkeypatch.setenv("LINES", lines)
    monkeypatch.setenv("COLUMNS", "80")
    reader, shown = Reader(), io.StringIO()
    progress = Progress(tmp_path / "progress.json")
    teacher = Teacher(Screen(shown), reader, progress, importlib.import_module("tautograd"))
    with pytest.raises(Left):
        teacher.teach(lesson_called("custom-function"))
    assert ("[Enter] shows the program " in reader.prompts) == waits
    if waits:
        idea = shown.getvalue().partition("   1 | import")[0]
        assert idea.count("\n") <= 24 + 1, "all of it fits above the prompt"
