"""`taut lab` as a learner meets it: in a terminal, from a file of answers, interrupted, and again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tautograd._cli.main import main
from tautograd._lab.lessons import names
from tautograd._lab.progress import VARIABLE
from tests.lab.terminal import TAUT, Terminal, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such terminal")
PROMPT = "> "
ENTERS = "\n" * 3  # in lesson 1: to run the program, the experiment and the broken program
MEND = "e, c, h, s or q > "


@dataclass
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Learner:
    """A folder with a learner's progress in it, and ways to run the lab."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = environment(XDG_DATA_HOME=str(folder / "data"))
        self.file = folder / "data" / "tautograd" / "lab" / "progress.json"
        self.terminals: list[Terminal] = []

    def taut(self, *arguments: str, typed: str = "", **env: str) -> Ended:
        """Run a command in this process, with these lines for its stdin."""
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.folder):
            for name in ("EDITOR", "VISUAL", VARIABLE):
                patch.delenv(name, raising=False)
            for name, value in {"XDG_DATA_HOME": str(self.folder / "data"), **env}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO(typed))
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    status = main(arguments)
                except SystemExit as exit:
                    status = int(exit.code or 0)
        return Ended(status, out.getvalue(), err.getvalue())

    def lab(self, *arguments: str, typed: str = "", **env: str) -> Ended:
        return self.taut("lab", *arguments, typed=typed, **env)

    def terminal(self, *arguments: str, **env: str) -> Terminal:
        found = Terminal(*arguments, cwd=self.folder, env={**self.environment, **env})
        self.terminals.append(found)
        return found

    @property
    def progress(self) -> dict:
        return json.loads(self.file.read_text())

    @property
    def lesson(self) -> dict:
        return self.progress["lessons"]["tensor-and-mean"]

    @property
    def yours(self) -> Path:
        return self.file.parent / "lessons" / "01-tensor-and-mean" / "yours.py"


@pytest.fixture
def learner(tmp_path):
    found = Learner(tmp_path)
    yield found
    for terminal in found.terminals:
        terminal.close()


def test_a_whole_lesson_in_a_terminal(learner):
    """With wrong answers, wrong edits and an editor on the way; everything gets its reply."""
    edits = learner.folder / "edits"
    editor = learner.folder / "editor.py"
    editor.write_text(
        "import sys, pathlib\n"
        f"edits = pathlib.Path({str(edits)!r})\n"
        "old, _, new = edits.read_text().partition(' -> ')\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text()\n"
        "assert old in text, text\n"
        "file.write_text(text.replace(old, new))\n"
    )
    lab = learner.terminal(EDITOR=f"{sys.executable} {editor}")
    assert "Lesson 1 of" in lab.until(PROMPT)
    assert learner.lesson["step"] == "predict"
    lab.line("nine")
    assert "I cannot read 'nine' as a number" in lab.until(PROMPT)
    lab.line("9")
    assert "That is their sum" in lab.until(PROMPT)
    lab.line("3")
    assert "Right." in lab.until("runs the program")
    assert learner.lesson["answers"]["predict"] == {"given": "3", "right": True, "tries": 2}
    lab.line()
    assert "tensor([1., 2., 6.])" in lab.until("runs it")
    lab.line()
    assert "tensor(nan)" in lab.until("runs the broken program")
    lab.line()
    assert "WRONG" in lab.until(MEND)
    assert learner.lesson["step"] == "mend"

    def edit(text: str) -> str:
        edits.write_text(text)
        lab.line("e")
        return lab.until(MEND)

    said = edit("return x.sum() / x.ndim -> return x.sum() / (x.ndim")
    assert "Not yet; your file is kept as it is." in said
    assert "yours.py" in said
    assert "SyntaxError: '(' was never closed" in said
    said = edit("return x.sum() / (x.ndim -> return y.sum()")
    assert "yours.py, line 7: return y.sum()" in said
    assert "NameError: name 'y' is not defined" in said
    said = edit("return y.sum() -> return x.sum() / 2")
    assert "Verify says of" in said
    assert "differences give 0.5" in said
    said = edit("return x.sum() / 2 -> return x.sum() / 3 + 0.5")
    assert "prints something else" in said
    assert "tensor(3.5000)" in said
    assert edit("1 / 3 -> 1 / 3").count("has not changed") == 1
    edits.write_text("return x.sum() / 3 + 0.5 -> return x.sum() / len(x)")
    lab.line("e")
    assert "That is it." in lab.until("6/6")
    assert "len(x)" in learner.yours.read_text()
    lab.until(PROMPT)
    lab.line("0.025")
    lab.until(PROMPT)
    lab.line("b")
    assert "Right at the first try: 2 of 3" in lab.until("q stops here")
    lab.line("q")
    assert lab.end() == 0
    assert learner.lesson["finished"]
    assert "step" not in learner.lesson
    wide = [line for line in _plain(lab.shown).splitlines() if len(line) > 80]
    assert not [line for line in wide if str(learner.folder) not in line]
    assert "\x1b[1m" in lab.shown


def _plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


@pytest.mark.parametrize("how", ["\x03", "\x04", "q\n"], ids=["Ctrl-C", "Ctrl-D", "q"])
def test_stopping_keeps_the_place(learner, how):
    lab = learner.terminal("tensor-and-mean")
    lab.until(PROMPT)
    lab.line("3")
    lab.until("runs the program")
    if how == "\x03":
        assert lab.interrupt() == 130
    else:
        lab.type(how)
        assert lab.end() == 0
    assert "Your place is kept" in lab.until("goes on.")
    assert "Traceback" not in lab.shown
    assert learner.lesson["step"] == "run"
    assert learner.lesson["answers"]["predict"]["right"]

    again = learner.terminal()
    said = again.until("runs the program")
    assert "goes on where you stopped" in said
    assert "2/6" not in said
    assert again.interrupt() == 130


def test_ctrl_c_in_a_learners_program_stops_only_that(learner):
    first = learner.lab("1", typed=f"3\n{ENTERS}q\n")
    assert first.returncode == 0, first.stderr
    learner.yours.write_text("while True:\n    pass\n")
    lab = learner.terminal()
    lab.until(MEND)
    lab.line("c")
    lab.until("running it ...")
    lab.until("\n")
    time.sleep(1.0)
    lab.type("\x03")
    assert "You stopped your program" in lab.until(MEND)
    assert lab.interrupt() == 130
    assert learner.yours.read_text() == "while True:\n    pass\n"
    assert learner.lesson["step"] == "mend"


def test_answers_from_a_file_then_the_model_answers(learner):
    found = learner.lab("1", typed=f"\n3\n{ENTERS}s\n1/40\n")
    assert found.returncode == 0, found.stderr
    assert "No answer yet" in found.stdout
    assert found.stdout.count("Right.") == 2
    assert "Answer: b" in found.stdout
    assert "\x1b" not in found.stdout
    assert learner.lesson["step"] == "questions", "what nobody answered is not progress"
    assert "question 1" in learner.lesson["answers"]
    on = learner.lab(typed="b\n")
    assert "4 numbers" not in on.stdout, "a question that was answered is not asked again"
    assert "Right at the first try: 3 of 3" in on.stdout
    assert learner.lesson["finished"]


def test_a_finished_lesson_can_be_taken_again_and_edits_are_kept(learner):
    learner.lab("1", typed=f"3\n{ENTERS}s\n1/40\nb\n")
    learner.yours.write_text("# mine\n")
    found = learner.lab("1", typed=f"3\n{ENTERS}q\n")
    assert "1/6" in found.stdout
    assert learner.yours.with_name("yours-1.py").read_text() == "# mine\n"
    assert "x.ndim" in learner.yours.read_text()
    assert learner.lesson["finished"], "that it was finished once is remembered"
    learner.lab("--again", "1", typed="q\n")
    assert learner.lesson["step"] == "predict"


def test_auto_asks_nothing_and_keeps_no_progress(learner):
    found = learner.lab("--auto", "tensor-and-mean", typed="junk\n")
    assert found.returncode == 0, found.stderr
    assert "That was the lesson." in found.stdout
    _, _, rows = found.stdout.partition("That was the lesson.")
    assert "something you can hold tautograd to:" in rows
    assert "- a tensor from numbers, its mean" in rows
    assert "ontract" not in found.stdout, "a beginner knows of none"
    assert "C1" not in found.stdout
    assert not learner.file.exists()
    assert not learner.yours.exists()


def test_json(learner):
    found = learner.lab("--json", "tensor-and-mean")
    outcome = json.loads(found.stdout)
    assert found.returncode == 0
    assert outcome["surprises"] == []
    assert (outcome["broken"]["verdict"], outcome["mended"]["verdict"]) == ("wrong", "correct")
    assert os.path.isfile(outcome["broken"]["evidence"])
    learner.folder = Path(outcome["folder"])
    replayed = learner.taut("replay", "before.json")
    assert replayed.returncode == 0, replayed.stderr
    assert "SAME" in replayed.stdout
    difference = learner.taut("evidence", "diff", "before.json", "after.json")
    assert difference.returncode == 1
    assert "was wrong, now correct" in difference.stdout


def test_the_list(learner):
    learner.lab("1", typed="q\n")
    text = learner.lab("--list").stdout
    assert [line.split()[1] for line in text.splitlines()] == names()
    assert "[at step 2 of 6: predict]" in text
    rows = json.loads(learner.lab("--list", "--json").stdout)["lessons"]
    assert [row["name"] for row in rows] == names()
    assert rows[0]["state"].startswith("at step 2")
    assert rows[1]["state"] == "new"


def test_the_file_of_progress_can_be_chosen(learner):
    elsewhere = learner.folder / "a b" / "mine.json"
    learner.lab("--progress", str(elsewhere), "1", typed="q\n")
    assert json.loads(elsewhere.read_text())["current"] == "tensor-and-mean"
    other = learner.folder / "other.json"
    learner.lab("1", typed="q\n", TAUTOGRAD_LAB_PROGRESS=str(other))
    assert other.exists()
    assert not learner.file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chain-rul"], "did you mean 'chain-rule'?"),
        (["99"], "there is no lesson '99'"),
        (["--auto"], "which lesson?"),
        (["--engine", "jax"], "invalid choice"),
        (["--notebook", "/proc/nowhere"], "--notebook"),
    ],
)
def test_wrong_use_exits_2_and_says_why(learner, arguments, said):
    found = learner.lab(*arguments)
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_without_pytorch_it_says_so(learner, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it is an ImportError then
    found = learner.lab("--engine", "torch", "1")
    assert found.returncode == 2
    assert "PyTorch is not installed" in found.stderr


def test_a_damaged_file_is_set_aside_and_said(learner):
    learner.file.parent.mkdir(parents=True)
    learner.file.write_text('{"format": "tautograd lab pro')
    found = learner.lab("1", typed="q\n")
    assert found.returncode == 0
    flat = " ".join(found.stdout.split())
    assert "progress.json is damaged: it is not JSON" in flat
    kept = learner.file.with_name("progress-1.json")
    assert kept.read_text() == '{"format": "tautograd lab pro'
    assert learner.lesson["step"] == "predict"


def test_a_folder_that_cannot_be_written_is_said(learner):
    blocked = learner.folder / "blocked"
    blocked.write_text("a file, no folder")
    found = learner.lab("--progress", str(blocked / "progress.json"), "1", typed="q\n")
    assert found.returncode == 2
    assert "cannot be read or written" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_reader_who_leaves_is_no_error(learner):
    lab = subprocess.Popen(
        [sys.executable, "-c", TAUT, "lab", "--auto", "your-own-engine"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=learner.environment, text=True,
    )  # fmt: skip
    lab.stdout.readline()
    lab.stdout.close()
    assert lab.stderr.read() == ""
    lab.stderr.close()
    assert lab.wait(60) == 0
