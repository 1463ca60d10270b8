"""Every number that a lesson asks for is computed here by the engine, and none is given away before."""

from __future__ import annotations

import importlib
import math
import re
from typing import Any

import numpy as np
import pytest

from tautograd._lab.lessons import lesson_called, names
from tautograd._lab.questions import Number
from tests.both import ENGINES


def slope(torch: Any, function: Any, at: float) -> float:
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    function(x).backward()
    return float(x.grad)


def second_slope(torch: Any, function: Any, at: float) -> tuple[float, float]:
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    return float(first), float(second)


def twice(torch: Any) -> float:
    x = torch.tensor(3.0, requires_grad=True)
    for _ in range(2):
        (x * x).backward()
    return float(x.grad)


def of_row(torch: Any) -> Any:
    b = torch.zeros(3, requires_grad=True)
    (torch.ones(4, 3) + b).sum().backward()
    return set(b.grad.tolist())


def of_mean(torch: Any, count: int) -> Any:
    x = torch.zeros(count, requires_grad=True)
    x.mean().backward()
    return set(x.grad.tolist())


def handed_back(torch: Any, lesson: str, x: float, g: float) -> float:
    """What the Function of a lesson's program returns on the way back."""
    space: dict[str, Any] = {}
    source = lesson_called(lesson).program.partition("def error")[0]
    exec(source.replace("import tautograd as torch", ""), {"torch": torch}, space)
    value = torch.tensor([x], requires_grad=True)
    (space["Cube"].apply(value) * g).sum().backward()
    return float(value.grad)


def multiplications(torch: Any, x: float) -> int:
    y, count = x, 0
    while y < 10:
        y, count = y * x, count + 1
    return count


def weighted(torch: Any) -> list[float]:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).backward(gradient=torch.tensor([1.0, 10.0, 100.0]))
    found: list[float] = x.grad.tolist()
    return found


def second_push(torch: Any) -> float:
    w = torch.tensor([0.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.0, momentum=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (4 * w).sum().backward()
        optimizer.step()
    return float(optimizer.state[w]["momentum_buffer"])


def of_scores(torch: Any, scores: list[float]) -> list[float]:
    x = torch.tensor([scores], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.cross_entropy(x, torch.tensor([0])).backward()
    found: list[float] = x.grad[0].tolist()
    return found


def moved_mean(torch: Any) -> float:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    before = x.mean()
    x[0] += 0.1
    return float(x.mean() - before)


def dropout(torch: Any, training: bool) -> float:
    torch.manual_seed(0)
    layer = torch.nn.Dropout(0.5)
    layer.train(training)
    return float(layer(torch.full((100,), 3.0)).max())


def scaled(torch: Any) -> float:
    w = torch.tensor([0.0], requires_grad=True)
    torch.amp.GradScaler("cpu", init_scale=1024.0).scale((0.5 * w).sum()).backward()
    return float(w.grad)


def stepped(torch: Any) -> float:
    w = torch.tensor([2.0], requires_grad=True)
    w.grad = torch.tensor([-3.0])
    torch.optim.SGD([w], lr=0.1).step()
    return float(w)


def kept_slope(torch: Any) -> float:
    return slope(torch, torch.exp, 0.0)


def gap(h: float) -> float:
    """The relative error of central differences for r ** 3 at 1."""
    return abs(((1 + h) ** 3 - (1 - h) ** 3) / (2 * h) / 3 - 1)


# By lesson: what is asked for, the prediction first. Each is computed, none is written down.
COMPUTED: dict[str, dict[int, Any]] = {
    "tensor-and-mean": {
        0: lambda t: t.tensor([1.0, 2.0, 6.0]).mean().item(),
        1: moved_mean,
    },
    "variables-and-gradients": {
        0: lambda t: slope(t, lambda x: x * x, 3.0),
        1: lambda t: slope(t, lambda x: x * x, -1.5),
        2: lambda t: slope(t, lambda x: x * x * x, 2.0),
    },
    "chain-rule": {
        0: lambda t: slope(t, lambda x: (3 * x + 1) ** 2, 1.0),
        1: lambda t: slope(t, lambda x: (5 * x) * (5 * x), 2.0),
        2: lambda t: slope(t, lambda x: 3 * x + x * x, 1.0),
    },
    "dynamic-graph": {
        0: lambda t: slope(t, lambda x: x * x * x * x, 2.0),
        2: lambda t: multiplications(t, 4.0),
    },
    "accumulation": {1: twice},
    "non-scalar-backward": {0: weighted, 2: lambda t: of_mean(t, 4)},
    "detach-and-no-grad": {1: lambda t: slope(t, lambda x: x * x.detach(), 3.0)},
    "training-step": {0: lambda t: tuple(t.nn.Linear(3, 1)(t.zeros(16, 3)).shape), 1: stepped},
    "finite-differences": {1: lambda t: 0.003 * gap(0.01) / gap(0.1)},
    "exploding-and-vanishing": {
        0: lambda t: slope(t, t.sigmoid, 0.0) ** 3,
        1: lambda t: slope(t, lambda x: x * 2**10, 1.0),
    },
    "in-place": {0: lambda t: slope(t, lambda x: t.log(t.exp(x) + 1), 0.0)},
    "broadcasting": {0: of_row, 2: lambda t: of_mean(t, 8)},
    "softmax-and-cross-entropy": {
        0: lambda t: of_scores(t, [0.0, 0.0, 0.0]),
        1: lambda t: of_scores(t, [math.log(0.9), math.log(0.1)])[0],
    },
    "custom-function": {
        0: lambda t: handed_back(t, "custom-function", 2.0, 5.0),
        1: lambda t: slope(t, lambda x: 2 * (3 * x), 1.0),
    },
    "second-order": {
        0: lambda t: second_slope(t, lambda x: x**3, 1.0),
        1: lambda t: second_slope(t, lambda x: x**4, 1.0)[1],
        2: lambda t: t.zeros(100, 100).numel(),
    },
    "mixed-precision": {1: scaled},
    "train-and-eval": {0: lambda t: dropout(t, False), 1: lambda t: dropout(t, True)},
    "reproducibility-and-checkpoints": {0: second_push},
    "cpu-and-accelerator": {2: lambda t: float(np.spacing(np.float32(10000)))},
    "your-own-engine": {2: kept_slope},
}


def asked(name: str) -> dict[int, Number]:
    lesson = lesson_called(name)
    all_ = enumerate((lesson.predict, *lesson.questions))
    return {i: question for i, question in all_ if isinstance(question, Number)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", names())
def test_what_a_lesson_asks_for_is_what_the_engine_computes(name, engine):
    torch = importlib.import_module(engine)
    questions = asked(name)
    assert set(questions) == set(COMPUTED.get(name, {}))
    for place, question in questions.items():
        found = COMPUTED[name][place](torch)
        if isinstance(found, set):  # of equal numbers
            assert len(found) == 1
            found = next(iter(found))
        wanted = np.ravel(question.answer).astype(float)
        gaps = np.abs(np.ravel(found) - wanted)
        assert gaps.max() <= max(question.within, 1e-6 * np.abs(wanted).max()), question.ask
        for slip in question.slips:
            assert not np.allclose(np.ravel(slip), wanted), "a right answer is no slip"


@pytest.mark.parametrize("name", names())
def test_no_prediction_is_a_product_of_what_its_question_says(name):
    question = asked(name).get(0)
    if question is None or isinstance(question.answer, tuple):
        return
    said = [float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", question.ask)]
    given = {a * b for i, a in enumerate(said) for b in said[i + 1 :] if 1.0 not in (a, b)}
    assert float(question.answer) not in given, question.ask
