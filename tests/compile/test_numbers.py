"""Python numbers that change from call to call are inputs of a record: equal to the plain function, recorded once."""

from __future__ import annotations

import json
import math
import random
import threading
from collections.abc import Callable
from math import exp as exponential
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd.nn import functional as F

from .compare import assert_same, bits, lockstep, seen_of

CALLS = 12


def training_step(loss_of: Callable[..., Any], **settings: Any) -> Any:
    """What makes a training step whose loss takes numbers, and shows its state."""

    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def step(x: Any, *numbers: Any, **named: Any) -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(x), *numbers, **named)
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: seen_of(model, optimizer)

    return make


TARGET = torch.tensor([0, 2, 1, 1, 0])
OTHER = torch.linspace(-1, 1, 15).reshape(5, 3)


def _penalty(y: Any, weight: float) -> Any:
    z = (y * 1.5).tanh()
    (slope,) = torch.autograd.grad((z * z * weight).sum(), y, create_graph=True)
    return z.mean() + weight * (slope.norm() - 1) ** 2


LOSSES: dict[str, Callable[..., Any]] = {
    "KL weight": lambda y, w: F.cross_entropy(y, TARGET) + w * (y * y).mean(),
    "temperature": lambda y, t: F.cross_entropy(y / (t + 0.1), TARGET),
    "distillation": lambda y, t: (
        F.kl_div(
            (y / (t + 1)).log_softmax(-1), (OTHER / (t + 1)).softmax(-1), reduction="batchmean"
        )
        * (t + 1) ** 2
    ),
    "label smoothing": lambda y, p: F.cross_entropy(y, TARGET, label_smoothing=p),
    "dropout": lambda y, p: F.dropout(y, p).square().sum(),
    "focal": lambda y, g: -((1 - y.sigmoid()) ** g * F.logsigmoid(y)).mean(),
    "Huber": lambda y, d: F.huber_loss(y, OTHER, delta=d + 0.1),
    "noise": lambda y, s: (y + s * torch.randn_like(y)).square().mean(),
    "clamped": lambda y, c: y.clamp(-c, c).sum() + torch.where(y > c, y, c).mean(),
    "a tensor of it": lambda y, w: (y * torch.tensor(w)).sum() + torch.full((3,), w) @ y[0],
    "double": lambda y, w: (y.double() * w / 3).sum().float(),
    "half": lambda y, w: (y.half() * w + w).float().sum(),
    "schedule": lambda y, t: y.square().mean() * min(1.0, max(0.1, 2 * t - 0.5) / 0.7),
    "NumPy's exp": lambda y, t: y.square().mean() * np.exp(-3 * t),
    "math": lambda y, t: y.square().mean() * (0.5 * (1 + math.cos(math.pi * t)) + math.exp(-t)),
    "gradient penalty": _penalty,
}


def values(name: str) -> list[float]:
    """Numbers that are different at each call; 0 and 1 among them."""
    return [random.Random(name).uniform(0.01, 0.95) for _ in range(CALLS - 1)] + [0.5]


NATIVE = [
    "KL weight",
    "temperature",
    "dropout",
    "focal",
    "gradient penalty",
]  # the others: slow tests
EACH = [
    *((name, "numpy") for name in LOSSES),
    *((name, "llvm") for name in NATIVE),
    *(pytest.param(n, "llvm", marks=pytest.mark.slow) for n in LOSSES if n not in NATIVE),
]


@pytest.mark.parametrize(("name", "backend"), EACH)
def test_a_number_that_changes_is_an_input(name: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 20).reshape(5, 4)
    calls = [lambda v=v: (x, v) for v in values(name)]
    bound = 0.0 if backend == "numpy" else 4096.0
    found = lockstep(training_step(LOSSES[name]), calls, backend=backend, bound=bound)
    assert found.records <= 2
    assert found._last.calls >= 3


def test_wherever_it_stands_among_the_arguments() -> None:
    """In tuples, lists, dictionaries and by name; also a NumPy scalar."""
    x = torch.linspace(0, 1, 6)

    def run(x: Any, pair: Any, more: Any, *, named: Any = 1.0, kept: Any = 2.0) -> Any:
        return x * pair[0] + pair[1] * more["a"][0] + more["b"] * named - kept

    compiled = torch.compile(run, backend="numpy")
    for i in range(10):
        more = {"a": [0.1 * i, 3.0], "b": np.float64(i) / 7}
        found = compiled(x, (0.3 * i, 2.0), more, named=1 / (i + 1))
        expected = run(x, (0.3 * i, 2.0), more, named=1 / (i + 1))
        assert_same(bits(found), bits(expected))
        assert type(more["b"]) is np.float64
        assert type(more["a"][0]) is float
    assert compiled.records == 1


def test_a_branch_takes_the_right_side_always() -> None:
    def run(x: Any, a: float, b: float) -> Any:
        if a > b:
            return x * a
        if not 0.2 < b < 0.8 or a == 0:
            return x - b
        return (x / b).exp() if b else x

    x = torch.linspace(0, 1, 6)
    compiled = torch.compile(run, backend="numpy")
    draw = random.Random(3)
    for _ in range(200):
        a, b = (draw.choice([0.0, draw.random(), float("nan")]) for _ in range(2))
        assert_same(bits(compiled(x, a, b)), bits(run(x, a, b)))
    assert compiled.records <= 12


def test_a_number_that_is_returned() -> None:
    def run(x: Any, a: float) -> Any:
        b = 2 * a + 1
        return {"loss": (x * b).sum(), "number": b, "pair": (a, b**2 // 3, -a)}

    x = torch.ones(3)
    compiled = torch.compile(run, backend="numpy")
    for i in range(8):
        found = compiled(x, i / 3)
        assert_same(bits(found), bits(run(x, i / 3)))
        assert type(found["number"]) is float
        assert type(found["pair"][0]) is float
    assert compiled.records == 1


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_backward_of_an_earlier_call_has_its_own_numbers(backend: str) -> None:
    """Also under create_graph, where the function itself runs again."""
    compiled = torch.compile(lambda x, a: (x**3 * a).sum(), backend=backend)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    outs = [compiled(x, 0.5 * (i + 1)) for i in range(6)]
    for i in (5, 0, 3, 4, 2, 1):
        (first,) = torch.autograd.grad(outs[i], x, create_graph=True)
        np.testing.assert_allclose(first.detach().numpy(), 3 * x.detach() ** 2 * 0.5 * (i + 1))
        (second,) = torch.autograd.grad(first.sum(), x)
        np.testing.assert_allclose(second.numpy(), 6 * x.detach() * 0.5 * (i + 1))
    assert compiled.records == 1


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
def test_settings_that_the_step_itself_writes(kind: str) -> None:
    """A learning rate that is an argument, and a weight decay that comes and goes."""

    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.5)

        def step(x: Any, lr: float, decay: float) -> Any:
            for group in optimizer.param_groups:
                group["lr"] = lr
                group["weight_decay"] = decay
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        shown = lambda: [g["lr"] for g in optimizer.param_groups]  # noqa: E731
        return step, lambda: [seen_of(model, optimizer), shown()]

    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    calls = [lambda i=i: (x, 0.1 / (i + 1), 0.01 * i * (i % 5 != 4)) for i in range(20)]
    assert lockstep(make, calls).records <= 2
    constant = [lambda i=i: (x, (0.1, 0.2)[i // 3 % 2], 0.0) for i in range(18)]
    lockstep(make, constant)


def test_what_cannot_be_followed_runs_as_it_is_written() -> None:
    """The value itself goes to code in C, into text, or into a dictionary: results are right."""
    kept: dict[Any, Any] = {}
    runs: dict[str, Callable[..., Any]] = {
        "math": lambda x, a: x * math.floor(a),
        "taken by name": lambda x, a: x * exponential(a),
        "text": lambda x, a: x * len(f"{a:.3f}"),
        "key": lambda x, a: x * {0.0: 2.0}.get(a, 3.0),
        "float": lambda x, a: x * float(a),
        "int": lambda x, a: x * int(a),
        "json": lambda x, a: x * len(json.dumps([float(a)])),
        "type": lambda x, a: x * a if type(a) is float else x,
        "array": lambda x, a: x * torch.from_numpy(np.ones(3, np.float32) * np.float32(a)),
        "round": lambda x, a: x * round(a),
        "is_integer": lambda x, a: x * a.is_integer(),
    }
    x = torch.tensor([1.0, 2.0, 3.0])
    for name, run in runs.items():
        compiled = torch.compile(run, backend="numpy")
        for i in range(8):
            a = (0.0, 0.5, 1.25)[i % 3] if i % 2 else 0.1 * i
            assert_same(bits(compiled(x, a)), bits(run(x, a)), where=name)
    assert not kept


def test_math_may_be_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that has it inside: then it has no file that would tell whose it is."""
    monkeypatch.delattr(math, "__file__", raising=False)
    step = torch.compile(lambda x, t: x * math.cos(t))
    for i in range(CALLS):
        assert step(torch.ones(2), i / 10).tolist() == (torch.ones(2) * math.cos(i / 10)).tolist()
    assert step.records == 1


def test_math_is_as_ever_afterwards() -> None:
    assert math.exp is exponential


class Keeper:
    """An object in which a step leaves its number."""

    def __init__(self) -> None:
        self.beta = 0.0
        self.all: list[float] = []


@pytest.mark.parametrize("how", ["attribute", "list", "module"])
def test_a_number_that_is_kept_is_a_number(how: str) -> None:
    keeper, module = Keeper(), nn.Linear(3, 1)

    def run(x: Any, a: float) -> Any:
        if how == "attribute":
            keeper.beta = a * 2
        elif how == "list":
            keeper.all.append(a)
        else:
            module.beta = a
        return module(x) * a

    compiled = torch.compile(run, backend="numpy")
    for i in range(6):
        a = 0.25 * i
        found = compiled(torch.ones(3), a)
        assert_same(bits(found.detach()), bits((module(torch.ones(3)) * a).detach()))
        left = {"attribute": keeper.beta / 2, "list": (keeper.all or [a])[-1]}
        assert left.get(how, getattr(module, "beta", None)) == a
        for value in (keeper.beta, *keeper.all, getattr(module, "beta", 0.0)):
            assert type(value) is float


def expression(draw: random.Random, depth: int) -> Callable[[float, float], Any]:
    """A random expression of two numbers, with decisions in it."""
    if depth == 0:
        number = draw.choice([0.5, 2.0, -1.0, 3, 0.1])
        return draw.choice([lambda a, b: a, lambda a, b: b, lambda a, b: number])
    f, g, h = (expression(draw, depth - 1) for _ in range(3))
    return draw.choice(
        [
            lambda a, b: f(a, b) + g(a, b),
            lambda a, b: f(a, b) - g(a, b),
            lambda a, b: f(a, b) * g(a, b),
            lambda a, b: f(a, b) / (abs(g(a, b)) + 1),
            lambda a, b: min(f(a, b), g(a, b)),
            lambda a, b: max(f(a, b), 0.25),
            lambda a, b: -f(a, b) % 3,
            lambda a, b: abs(f(a, b)) ** 0.5,
            lambda a, b: f(a, b) if g(a, b) > h(a, b) else h(a, b),
            lambda a, b: f(a, b) if g(a, b) else h(a, b) // 2,
            lambda a, b: np.tanh(f(a, b)),
        ]
    )


@pytest.mark.parametrize("first_seed", range(0, 60, 15))
@pytest.mark.filterwarnings("ignore:.* is not compiled")
def test_random_programs_of_numbers(first_seed: int) -> None:
    replays = 0
    for seed in range(first_seed, first_seed + 15):
        replays += _random_program(seed)
    assert replays > 15 * 24 // 3  # the others take branches that were not recorded yet


def _random_program(seed: int) -> int:
    draw = random.Random(seed)
    first, second, third = (expression(draw, 3) for _ in range(3))

    def run(x: Any, a: float, b: float) -> Any:
        y = (x * first(a, b)).tanh() + second(a, b)
        return y.sum() * third(a, b), second(a, b)

    x = torch.linspace(-1, 1, 5)
    compiled = torch.compile(run, backend="numpy")
    for _ in range(24):
        a, b = draw.uniform(-2, 2), draw.choice([0.0, 1.0, draw.uniform(0, 1)])
        assert_same(bits(compiled(x, a, b)), bits(run(x, a, b)), where=f"program {seed}")
    return sum(entry.calls for found in compiled._entries.values() for entry in found)


# --- numbers that are read by name ----------------------------------------------------------------------

BETA = 0.5


class Sharpened(nn.Module):
    """A module with a temperature that somebody changes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.dropout = nn.Dropout(0.5)
        self.temperature = 1.0

    def forward(self, x: Any) -> Any:
        return (self.dropout(self.linear(x)) / self.temperature).softmax(-1)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("where", ["global", "closure", "object", "module", "dropout", "all"])
def test_numbers_that_are_read_by_name(
    where: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "BETA", 0.5)

    def make() -> Any:
        model, keeper, scale = Sharpened(), Keeper(), 1.0

        def step(x: Any) -> Any:
            model.zero_grad()
            loss = model(x)[:, 0].sum() * BETA + scale * keeper.beta
            if keeper.beta > 0.5:
                loss = loss * 2
            loss.backward()
            return loss, scale * 2

        def change(value: float) -> None:
            nonlocal scale
            if where in ("global", "all"):
                globals()["BETA"] = value
            if where in ("closure", "all"):
                scale = value
            if where in ("object", "all"):
                keeper.beta = value
            if where in ("module", "all"):
                model.temperature = value + 0.5
            if where in ("dropout", "all"):
                model.dropout.p = value

        step.change = change  # type: ignore[attr-defined]
        return step, lambda: seen_of(model)

    torch.manual_seed(1)
    eager, state = make()
    torch.manual_seed(1)
    plain, other = make()
    compiled = torch.compile(plain, backend=backend)
    x = torch.linspace(-1, 1, 20).reshape(5, 4)
    for i in range(16):
        outcomes = []
        for run, change, seen in ((eager, eager.change, state), (compiled, plain.change, other)):
            change((i * 7 % 10) / 10)
            torch.manual_seed(i)
            outcomes.append(bits([run(x), seen(), torch.get_rng_state()]))
        assert_same(outcomes[1], outcomes[0], 0.0 if backend == "numpy" else 256.0)
    assert type(BETA) is float
    assert compiled.records <= (6 if where in ("object", "all") else 4)
    assert compiled._last.calls > 2


def test_create_graph_sees_what_was_there_in_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "BETA", 0.5)
    compiled = torch.compile(lambda x: (x**3 * BETA).sum(), backend="numpy")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    outs = []
    for i in range(6):
        globals()["BETA"] = i + 1.0
        outs.append(compiled(x))
    for i in (0, 5, 3):
        (first,) = torch.autograd.grad(outs[i], x, create_graph=True)
        np.testing.assert_allclose(first.detach().numpy(), 3 * x.detach() ** 2 * (i + 1))
        assert BETA == 6.0


class Reversed(torch.autograd.Function):
    """Gradients times a negative number, which the context keeps."""

    @staticmethod
    def forward(ctx: Any, x: Any, strength: float) -> Any:
        ctx.strength = strength
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g * ctx.strength, None


def test_a_number_in_the_context_of_a_function() -> None:
    compiled = torch.compile(lambda x, s: Reversed.apply(x.tanh(), s).sum(), backend="numpy")
    x = torch.tensor([0.1, -0.7], requires_grad=True)
    outs = [compiled(x, 0.25 * i) for i in range(8)]
    for i in reversed(range(8)):
        (grad,) = torch.autograd.grad(outs[i], x)
        expected = -(1 - np.tanh(x.detach().numpy()) ** 2) * 0.25 * i
        np.testing.assert_allclose(grad.numpy(), expected, rtol=1e-6)
    assert compiled.records == 1


def test_one_of_two_numbers_is_asked_for() -> None:
    """It is a constant of the record, also on the shortest way into the program."""

    def run(x: Any, a: float, b: float) -> Any:
        return x * float(a) * b

    x = torch.tensor([1.0, 2.0])
    compiled = torch.compile(run, backend="numpy")
    for i in range(40):
        a, b = (0.5, 0.25, -0.0, 0.0)[i // 5 % 4], i / 7
        assert_same(bits(1 / compiled(x, a, b)), bits(1 / run(x, a, b)), where=f"call {i}")
    assert compiled.records >= 4


def test_threads_have_numbers_of_their_own() -> None:
    compiled = torch.compile(lambda x, a: (x * a).sum(), backend="numpy")
    x = torch.ones(3)
    for i in range(4):
        compiled(x, i / 2)
    wrong: list[Any] = []

    def work(first: int) -> None:
        for i in range(200):
            a = float(first * 1000 + i)
            if compiled(x, a).item() != 3 * a:
                wrong.append(a)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert compiled.records == 1
