"""The judge of a learner's edit: a good one passes however it is written, a bad one is told why."""

from __future__ import annotations

import importlib

import pytest

from tautograd._lab.lessons import lesson_called, names
from tautograd._lab.mending import judge
from tautograd._lab.workshop import Workshop
from tests.both import ENGINES


def judged(name, engine, folder, text):
    """The judgement of a text in the place of the broken program; None is that program itself."""
    workshop = Workshop.open(lesson_called(name), engine, folder)
    if text is not None:
        workshop.path("yours.py").write_text(text)
    return judge(workshop, importlib.import_module(engine))


FAST = ("accumulation", "chain-rule")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in FAST else [pytest.mark.slow]) for n in names()]
)
def test_the_broken_program_is_not_taken_for_mended(name, engine, tmp_path):
    found = judged(name, engine, tmp_path, None)
    assert found.reasons
    lesson = lesson_called(name)
    for code in lesson.breaks.doctor:
        assert any(code in reason for reason in found.reasons)


MENDS = [
    ("tensor-and-mean", "x.ndim", "len(x)"),
    ("chain-rule", "return outer\n", "return 6 * u\n"),
    ("dynamic-graph", "y.item() * x", "x * y"),
    ("accumulation", "        optimizer.step()\n", "        optimizer.step()\n        w.grad = None\n"),
    (
        "accumulation",
        "        loss(w).backward()\n",
        "        w.grad = torch.autograd.grad(loss(w), w)[0]\n",
    ),
    ("non-scalar-backward", "y.sum().backward()", "(weights * y).sum().backward()"),
    ("detach-and-no-grad", "self.second(features.detach())", "self.second(1 * features)"),
    (
        "training-step",
        "    optimizer.zero_grad()\n    optimizer.step()\n",
        "    optimizer.step()\n    optimizer.zero_grad()\n",
    ),
    ("finite-differences", "12.57", "12.566370614359172"),
    ("exploding-and-vanishing", "torch.sigmoid(layer(x))", "torch.tanh(layer(x)) * 1.0"),
    ("in-place", "y.data += 1", "y = 1 + y"),
    ("broadcasting", "(prediction - ys)", "(prediction - ys.reshape(5, 1))"),
    ("softmax-and-cross-entropy", "scores = torch.softmax(scores, dim=1)", "scores = scores * 1.0"),
    ("custom-function", "return 3 * x**2", "return 3 * x * x * g"),
    ("second-order", "(g,) = torch.autograd.grad(f(x), x)\n    return", "g = 3 * x**2\n    return"),
    ("mixed-precision", "    clip(model.parameters(), 10.0)\n", ""),
    (
        "train-and-eval",
        "        optimizer.zero_grad()\n",
        "        model.train()\n        optimizer.zero_grad()\n",
    ),
    (
        "reproducibility-and-checkpoints",
        "return weight, optimizer\n\n\ndef in",
        'optimizer.load_state_dict(dict(state["optimizer"]))\n    return weight, optimizer\n\n\ndef in',
    ),
    ("cpu-and-accelerator", "((x * x).mean() - mean**2)", "(x - mean).square().mean()"),
]  # fmt: skip
"""Lesson, what is changed in its broken program, and into what: not as the lesson itself does it."""


@pytest.mark.parametrize(
    ("name", "change", "into"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] * bool(lesson_called(row[0]).breaks.doctor))
        for row in MENDS
    ],
)
def test_there_is_more_than_one_good_mend(name, change, into, tmp_path):
    broken = lesson_called(name).broken
    assert broken.count(change) == 1
    found = judged(name, "tautograd", tmp_path, broken.replace(change, into))
    assert found.reasons == []


MEAN = lesson_called("tensor-and-mean")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no 'average'"),
        ("x = (1,\n", "SyntaxError: '(' was never closed"),
        ("y = 2 2\n", 'File "yours.py", line 1\n    y = 2 2\n          ^\nSyntaxError: invalid'),
        ("if True:\nprint(1)\n", "IndentationError"),
        ("\x00", "null bytes"),
        ("import nowhere\n", "yours.py, line 1: import nowhere\nModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", "It ended with sys.exit(3)"),
        ("def f():\n    f()\nf()\n", "RecursionError"),
        ("input('name?')\n", "EOFError"),
        ("raise KeyError('oops')\n", "KeyError: 'oops'"),
        (MEAN.program.replace("def average", "def mean"), "NameError: name 'average'"),
        (MEAN.program.replace("average_inputs", "inputs"), "nothing says what the inputs"),
        (MEAN.program.replace("average_inputs = (x,)", "average_inputs = 3"), "Verify could not"),
        (MEAN.program.replace("1 / 3)", "1 / 2)"), "differences give 0.333333, you gave 0.5"),
        (MEAN.program.replace("print(x)\n", ""), "prints something else"),
        (MEAN.program + "print(*range(99), sep='\\n')\n", "... and 82 more lines"),
        (MEAN.program + "import os; os.remove('yours.py')\n", "Verify could not check it"),
    ],
)  # fmt: skip
def test_a_wrong_edit_is_told_exactly(text, reason, tmp_path):
    found = judged("tensor-and-mean", "tautograd", tmp_path, text)
    said = "\n".join(line.removeprefix("    ") for line in "\n".join(found.reasons).split("\n"))
    assert reason in said
    yours = tmp_path / "01-tensor-and-mean" / "yours.py"
    assert not yours.exists() or yours.read_text() == text, "the file is as the learner left it"


def test_a_file_that_is_no_text_is_a_syntax_error(tmp_path):
    workshop = Workshop.open(MEAN, "tautograd", tmp_path)
    workshop.path("yours.py").write_bytes(b"print('\xff\xfe')\n")
    (reason,) = judge(workshop, importlib.import_module("tautograd")).reasons
    assert "SyntaxError" in reason
    workshop.take_model()
    assert workshop.path("yours-1.py").read_bytes() == b"print('\xff\xfe')\n"


def test_programs_that_somebody_changed_are_kept(tmp_path):
    workshop = Workshop.open(MEAN, "tautograd", tmp_path)
    workshop.path("program.py").write_text("# mine")
    workshop.path("yours.py").write_text("# mine, too")
    again = Workshop.open(MEAN, "tautograd", tmp_path)
    assert again.text_of("program.py") == MEAN.program
    assert again.text_of("program-1.py") == "# mine"
    assert again.text_of("yours.py") == "# mine, too"
