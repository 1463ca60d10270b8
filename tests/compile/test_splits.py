"""With `fallback=True` a program is split where Python decides by a tensor's value: equal to the plain function."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd.nn import functional as F

from .compare import assert_same, bits, lockstep, seen_of

STEPS = 200
FEW = 40


def model_of() -> Any:
    first = nn.Linear(4, 8, bias=False)  # whose gradient is no mere rounding error after the norm
    return nn.Sequential(first, nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 1))


def training(body: Callable[..., Any], kind: str) -> Callable[[], Any]:
    """A step with a model and an optimizer of its own, and what it changes."""

    def make() -> Any:
        model = model_of()
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
        extra = torch.zeros(3)

        def step(x: Any, y: Any) -> Any:
            return body(model, optimizer, extra, x, y)

        return step, lambda: [seen_of(model, optimizer), extra, extra._version]

    return make


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return (F.dropout(model(x), 0.2) - y).square().mean()


def clipped(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """Clipping by hand, with dropout on both sides of the branch."""
    optimizer.zero_grad()
    loss = loss_of(model, x, y)
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    if norm > 1:
        for p in model.parameters():
            p.grad.mul_(1 / norm)
        extra.add_(F.dropout(torch.ones(3)))
    optimizer.step()
    return loss


def early_exit(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = F.dropout(model[4](x @ torch.ones(4, 8)) - y, 0.1).square().mean()
    if not torch.isfinite(loss):
        return None
    loss.backward()
    optimizer.step()
    value = loss.item()
    return value if math.isfinite(value) else 0.0


def scaled(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """What a gradient scaler does, with its scale in a tensor."""
    optimizer.zero_grad()
    scale = 1 + extra[0]
    (loss_of(model, x[:, :4], y) * scale).backward()
    found = torch.stack([torch.isfinite(p.grad).all() for p in model.parameters()]).all()
    if found and extra[1] < 5:
        for p in model.parameters():
            p.grad.div_(scale)
        optimizer.step()
        extra[1] += 1
    else:
        extra[0].mul_(0.5).add_(0.1)
        extra[1] = 0
    return scale


def returned(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = loss_of(model, x, y)
    value = loss.item()
    loss.backward()
    optimizer.step()
    return {"loss": value, "half": value / 2, "tensor": loss}


def weighted(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """A number that is computed with, compared, and meets tensors again."""
    optimizer.zero_grad()
    loss = loss_of(model, x, y)
    value = loss.item()
    weight = min(1.0, 1 / (value + 0.1)) if value > 0.5 else 2.0
    (loss * weight).backward()
    optimizer.step()
    return loss, weight


def iterated(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """A loop whose count depends on values, as long as it is short."""
    count = 0
    with torch.no_grad():
        z = x.abs().sum() + 1
        while (z - 1).abs() > 0.2 and count < 6:
            z = z.sqrt() + 0.01 * torch.rand(())
            count += 1
    extra.add_(z)
    return z, count


def stepped_before(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """What is written before the branch: parameters, an optimizer's states and settings, statistics, an argument."""
    for group in optimizer.param_groups:
        group["lr"] = 0.02
    optimizer.zero_grad()
    loss = loss_of(model, x, y)
    loss.backward()
    optimizer.step()
    x.mul_(0.5)
    extra.add_(1)
    if loss_of(model, x, y) > 0.9:
        extra.mul_(2).sub_(torch.rand(3))
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()
    return loss, x


def accumulated(model: Any, optimizer: Any, extra: Any, x: Any, y: Any) -> Any:
    """Gradients are added up until a count in a tensor says that it is time."""
    loss = loss_of(model, x, y)
    loss.backward()
    extra[2] += 1
    if extra[2] >= 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        extra[2] = 0
    return loss


STEPS_OF = {
    f.__name__: f
    for f in (
        clipped,
        early_exit,
        scaled,
        returned,
        weighted,
        iterated,
        stepped_before,
        accumulated,
    )
}


def arguments(i: int) -> tuple[Any, Any]:
    torch.manual_seed(1000 + i)
    x = torch.randn(6, 4) * (1 + 3 * (i % 3 == 0))
    if i % 11 == 7:
        x[0, 0] = math.inf if i % 2 else 1e20
    return x, torch.randn(6, 1)


def numbers_as_tensors(value: Any) -> Any:
    """So that they are compared as tensors are."""
    if isinstance(value, dict):
        return {k: numbers_as_tensors(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers_as_tensors(v) for v in value]
    return torch.tensor(value) if type(value) is float else value


EACH = [
    *((name, "numpy", FEW) for name in STEPS_OF),
    *((name, "llvm", FEW) for name in ("clipped", "early_exit", "stepped_before")),
    *(
        pytest.param(name, backend, STEPS, marks=pytest.mark.slow)
        for name in STEPS_OF
        for backend in ("numpy", "llvm")
    ),
]


@pytest.mark.parametrize(("name", "backend", "steps"), EACH)
@pytest.mark.filterwarnings("ignore:.* is split into parts")
def test_a_split_step_is_the_plain_step(name: str, backend: str, steps: int) -> None:
    """Results, gradients, states, version counters and the generator of random numbers, at each step."""
    make = training(STEPS_OF[name], "Adam" if backend == "numpy" else "SGD")
    torch.manual_seed(7)
    eager, state = make()
    torch.manual_seed(7)
    plain, other = make()
    compiled = torch.compile(plain, backend=backend, fallback=True)
    for i in range(steps):
        outcomes = []
        for run, seen in ((eager, state), (compiled, other)):
            x, y = arguments(i)
            if name != "early_exit":  # of which batch normalisation would remember infinities
                x = x.clamp(-1e19, 1e19) if name == "scaled" else x.clamp(-20, 20)
            torch.manual_seed(i)
            result = run(x, y)
            if backend != "numpy":
                result = numbers_as_tensors(result)
            outcomes.append(bits([result, x, seen(), torch.get_rng_state()]))
        bound = 0.0 if backend == "numpy" else 1e4  # rounding of 200 steps
        assert_same(outcomes[1], outcomes[0], bound, f"step {i}")
    found = [entry for entries in compiled._entries.values() for entry in entries]
    assert sum(entry.calls for entry in found) > steps // 2
    assert compiled.records <= 12


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.filterwarnings("ignore:.* is split into parts")
def test_results_go_backward_through_all_parts(backend: str) -> None:
    """Also those of an earlier call, and of one whose first record was given up in between."""

    def run(x: Any, w: Any) -> Any:
        y = (x * w).tanh()
        if y.sum() > 0:
            y = y * w
        value = y.abs().max().item()
        return (y * value).sum() + y.square().sum() / (value + 1)

    compiled = torch.compile(run, backend=backend, fallback=True)
    w = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
    inputs = [torch.tensor([1.0, 0.3, 0.5]) * (1 if i % 3 else -1) * (1 + i / 7) for i in range(24)]
    outs = [compiled(x, w) for x in inputs]
    for i in (23, 5, 6, 0, 1, 2, 12, 13, 20):
        (found,) = torch.autograd.grad(outs[i], w)
        out = run(inputs[i], w)
        (expected,) = torch.autograd.grad(out, w)
        bound = 0.0 if backend == "numpy" else 64.0
        assert_same(bits([outs[i], found]), bits([out, expected]), bound, f"call {i}")
    assert compiled.records == 2


def test_what_cannot_be_followed_runs_as_it_is_written() -> None:
    """A value that is printed, kept, or given to code that cannot be followed."""
    kept: list[float] = []
    runs: dict[str, Callable[..., Any]] = {
        "text": lambda x: x * len(f"{x.sum().item():.2f}"),
        "kept": lambda x: [kept.append(x.sum().item()), x * 2][1],
        "float": lambda x: x * float(x.sum()),
        "json": lambda x: x * len(json.dumps({"loss": [x.sum().item()]})),
        "type": lambda x: x * 2 if type(x.sum().item()) is float else x,
    }
    for name, run in runs.items():
        compiled = torch.compile(run, backend="numpy", fallback=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for i in range(8):
                x = torch.tensor([1.0, 2.0, 3.0]).roll(i) + i
                assert_same(bits(compiled(x)), bits(run(x)), where=name)
        assert len(seen) == 1, name
        assert "is not compiled" in str(seen[0].message)
        assert "test_splits.py" in str(seen[0].message)
    assert len(kept) == 16
    assert all(type(value) is float for value in kept)


def test_code_that_takes_only_a_float_says_so_once() -> None:
    """An exception, as any other: from then on the value is a plain number."""

    def run(x: Any) -> Any:
        return x * timedelta(seconds=x.sum().item()).seconds

    compiled = torch.compile(run, backend="numpy", fallback=True)
    x = torch.ones(3)
    assert_same(bits(compiled(x)), bits(run(x)))
    with pytest.raises(TypeError) as caught:
        compiled(x)
    assert "stood for a Python number" in caught.value.__notes__[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            assert_same(bits(compiled(x)), bits(run(x)))


@pytest.mark.filterwarnings("ignore:.* is split into parts")
def test_integers_and_truths_decide() -> None:
    def run(x: Any) -> Any:
        place = x.argmax().item()
        return x[:place].sum() * (2 if (x > 2).all().item() else 3), place

    compiled = torch.compile(run, backend="numpy", fallback=True)
    for i in range(40):
        x = torch.tensor([1.0, 2.0, 3.0]).roll(i % 3) + i % 4
        assert_same(bits(compiled(x)), bits(run(x)))
    assert compiled.records == 6
    assert sum(e.calls for found in compiled._entries.values() for e in found) > 20


@pytest.mark.filterwarnings("ignore:.* is split into parts")
def test_a_schedule_before_a_number_that_is_returned() -> None:
    """What cannot be put back may come before a value by which nothing is decided."""

    def make() -> Any:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(torch.ones(2, 3)).square().sum()
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss.item()

        return step, lambda: [seen_of(model, optimizer), schedule.last_epoch]

    found = lockstep(make, 10, fallback=True)
    assert found._last.calls == 8


def test_decisions_without_end_run_as_they_are_written() -> None:
    def run(x: Any) -> Any:
        count = 0
        while x.sum() > 0.5:
            x = x * 0.99
            count += 1
        return x, count

    compiled = torch.compile(run, backend="numpy", fallback=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(6):
            x = torch.ones(3) * (1 + i / 10)
            assert_same(bits(compiled(x)), bits(run(x)))
    assert "is not compiled" in str(seen[-1].message)


def test_the_warning_and_the_explanation_name_the_line() -> None:
    def run(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    compiled = torch.compile(run, backend="numpy", fallback=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(12):
            x = torch.ones(3) * (-1) ** i
            assert_same(bits(compiled(x)), bits(run(x)))
    assert [("x.sum() > 0" in str(w.message)) for w in seen] == [True]
    assert compiled.records == 2
    text = str(compiled.explain())
    assert "a branch on a tensor's value" in text
    assert "test_splits.py" in text
    assert compiled.explain().to_dict()["splits"][0]["line"]
