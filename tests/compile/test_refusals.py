"""What cannot be recorded: an error with the line and advice, nothing left behind; or, with `fallback`, the
plain step, done once."""

from __future__ import annotations

import gc
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.messages.errors import CompileError
from tautograd._compile.record.recorded_array import Recorded

from .compare import lockstep

KEPT: list[Any] = []
COUNT = 0
TABLE = np.ones(10_000, np.float32)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = 0

    def forward(self, x: Any) -> Any:
        self.counter += 1
        return x * self.counter


counting = Counting()
numbers = iter(range(1000))


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def counted(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x * COUNT


def kept(x: Any) -> Any:
    y = x * 2
    KEPT.append(y)
    return x + y


class Keeper:
    """Keeps a tensor where no name of the function leads to."""

    __slots__ = ("value",)

    def __call__(self, x: Any) -> Any:
        self.value = x * 2
        return x + 1


KEEPER = Keeper()


def history(x: Any) -> Any:
    return x * OUTSIDE


OUTSIDE = torch.ones(3, requires_grad=True) * 2


def other_memory(x: Any) -> Any:
    KEPT_WEIGHT.data = x * 2
    return x * KEPT_WEIGHT


KEPT_WEIGHT = torch.ones(3)

# The function, words of what could not be recorded, words of the advice.
ROWS: dict[str, tuple[Any, str, str]] = {
    "if": (branch, "a branch on a tensor's value", "torch.where"),
    "bool": (lambda x: x * bool(x[0]), "a branch on a tensor's value", "torch.where"),
    "item": (lambda x: x * x.sum().item(), r"\.item\(\)", "Return the tensor"),
    "float": (lambda x: x * float(x.sum()), "Python number", "Return the tensor"),
    "int": (lambda x: x * int(x.sum()), "Python number", "Return the tensor"),
    "tolist": (lambda x: x * x.tolist()[0], r"\.tolist\(\)", "Return the tensor"),
    "numpy": (lambda x: x + torch.from_numpy(x.numpy() * 2), "NumPy array", "Stay with tensor"),
    "print": (lambda x: x * len(str(x)), r"as text", "print what it returns"),
    "format": (lambda x: x * len(f"{x.sum():.3f}"), "Python number|as text", "Return the tensor"),
    "mask": (lambda x: x[x > 0].sum(), r"x\[mask\]", "torch.where"),
    "nonzero": (lambda x: x.nonzero().float().sum(), "shape depends on values", "torch.where"),
    "range": (
        lambda x: sum(x for _ in range(x.argmax())),
        "index or size|Python number",
        "argument|Return",
    ),
    "equal": (lambda x: x * torch.equal(x, x), "Python value", "torch.where"),
    "kept": (kept, "is kept in `KEPT`", "keep it there"),
    "kept elsewhere": (KEEPER, "is kept .*after the call", "keep it there"),
    "module counter": (counting, "attribute `counter`", "buffer"),
    "global counter": (counted, "the global variable `COUNT`", "buffer"),
    "iterator": (lambda x: x * next(numbers), "`numbers`", "as an argument"),
    "random": (lambda x: x * random.random(), "a random number of Python", "torch.rand"),
    "NumPy's random": (lambda x: x * np.random.rand(), "a random number of Python", "torch.rand"),  # noqa: NPY002
    "large array": (lambda x: x * TABLE[0], "the NumPy array `TABLE`", "from_numpy"),
    "history": (history, "history lies outside", "as an argument"),
    "other memory": (other_memory, "other memory", "copy_"),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_error_names_the_line_and_says_what_to_do(name: str) -> None:
    fn, what, advice = ROWS[name]
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = torch.compile(fn, backend="numpy")
    compiled(x)
    with pytest.raises(CompileError, match=what) as caught:
        compiled(x)
    text = str(caught.value)
    assert "test_refusals.py" in text
    assert "fallback=True" in text
    assert re.search(advice, text), text
    KEPT.clear()


weights = nn.Linear(3, 1)
plain_sgd = torch.optim.SGD(weights.parameters(), lr=0.1)
lbfgs = torch.optim.LBFGS(weights.parameters())
scaler = torch.amp.GradScaler("cpu")


def backward(x: Any) -> Any:
    plain_sgd.zero_grad()
    loss = weights(x).sum()
    scaler.scale(loss).backward()
    return loss


def scaled(x: Any) -> Any:
    loss = backward(x)
    scaler.step(plain_sgd)
    scaler.update()
    return loss


def searched(x: Any) -> Any:
    return lbfgs.step(lambda: backward(x))


def packed(x: Any) -> Any:
    return nn.utils.rnn.pack_sequence([x, x[:2]]).data


# The function, which one of the library asks, words of the advice, the line of the user's code.
ASKING: dict[str, tuple[Any, str, str, str]] = {
    "scaler": (scaled, "GradScaler.step", "the scaler's `step`", "scaler.step(plain_sgd)"),
    "LBFGS": (searched, "LBFGS.step", r"`optimizer.step\(\)` outside", "return lbfgs.step("),
    "packing": (packed, "pack_sequence", "padded and mask", "pack_sequence([x, x[:2]])"),
    "allclose": (
        lambda x: x * torch.allclose(x, x),
        "torch.allclose",
        "`torch.allclose` outside",
        "torch.allclose(x, x)",
    ),
}


@pytest.mark.parametrize("name", ASKING)
def test_what_the_library_asks_for_is_not_laid_to_the_user(name: str) -> None:
    fn, asker, advice, line = ASKING[name]
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = torch.compile(fn, backend="numpy")
    compiled(x)
    with pytest.raises(CompileError, match=f"which `{asker}` asks for, cannot") as caught:
        compiled(x)
    text = str(caught.value)
    assert line in text
    assert re.search(advice, text), text
    assert "Return the tensor" not in text
    assert "torch.where" not in text


@pytest.mark.parametrize("name", ["item", "if", "float", "tolist", "print"])
def test_what_the_user_asks_for_is_his(name: str) -> None:
    fn, _, _ = ROWS[name]
    compiled = torch.compile(fn, backend="numpy")
    compiled(torch.ones(3))
    with pytest.raises(CompileError) as caught:
        compiled(torch.ones(3))
    assert "asks for" not in str(caught.value)


@pytest.mark.parametrize("name", ROWS)
def test_with_fallback_it_runs_as_it_is_written_and_says_so_once(name: str) -> None:
    fn, what, _ = ROWS[name]
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = torch.compile(fn, backend="numpy", fallback=True)
    compiled(x)
    with pytest.warns(UserWarning, match=what):
        compiled(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(x)
    assert what
    KEPT.clear()


def test_a_full_graph_is_an_error_in_any_case() -> None:
    compiled = torch.compile(branch, backend="numpy", fallback=True, fullgraph=True)
    compiled(torch.ones(3))
    with pytest.raises(CompileError):
        compiled(torch.ones(3))


def late(kind: str) -> Any:
    """A training step that cannot be recorded at its end: it must be done, and done once."""

    def make() -> Any:
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        x = torch.ones(2, 3)
        losses: list[Any] = []

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            optimizer.step()
            schedule.step()
            if kind == "item":
                return loss.item()
            losses.append(loss.detach())
            return (model(x) * 2).sum() if kind == "graph" else loss

        def seen() -> Any:
            return [
                list(model.parameters()),
                optimizer.state_dict(),
                schedule.last_epoch,
                len(losses),
            ]

        return step, seen

    return make


@pytest.mark.parametrize("kind", ["item", "kept", "graph"])
@pytest.mark.filterwarnings("ignore:.*(is not compiled|is split into parts)")
def test_with_fallback_a_step_is_never_done_twice(kind: str) -> None:
    lockstep(late(kind), 6, fallback=True)


@pytest.mark.filterwarnings("ignore:.*(is not compiled|is split into parts)")
def test_with_fallback_histories_go_on_through_the_function() -> None:
    weight = torch.ones(3, requires_grad=True)

    def run(x: Any) -> Any:
        y = (x * weight).tanh()
        return y * y.sum().item()

    compiled = torch.compile(run, backend="numpy", fallback=True)
    for fn in (run, compiled, compiled, compiled):
        x = torch.full((3,), 0.5, requires_grad=True)
        weight.grad = None
        fn(x * 2).sum().backward()
        expected = (1 - np.tanh(1.0) ** 2) * 3 * np.tanh(1.0)
        assert np.allclose(x.grad.numpy(), 2 * expected, rtol=1e-5)
        assert np.allclose(weight.grad.numpy(), expected, rtol=1e-5)


def test_nothing_is_left_behind_by_a_failure() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    kept: list[Any] = []

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()
        kept.append(loss)
        loss.backward()
        optimizer.step()
        return loss.item()

    compiled = torch.compile(step, backend="numpy")
    compiled()
    with pytest.raises(CompileError):
        compiled()
    gc.collect()
    tensors = [o for o in gc.get_objects() if type(o) in (torch.Tensor, nn.Parameter)]
    assert not [t for t in tensors if type(torch.Tensor._data.__get__(t)) is Recorded]
    assert kept[1].requires_grad
    assert isinstance(kept[1].detach().numpy(), np.ndarray)
    step()  # what was done before the error is done; everything goes on
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.parameters())


def test_an_exception_of_the_function_passes_through() -> None:
    class Own(Exception):
        pass

    calls = []

    def run(x: Any) -> Any:
        y = x * 2
        if len(calls) == 1:
            raise Own("mine")
        return y

    compiled = torch.compile(run, backend="numpy")
    x = torch.ones(3)
    compiled(x)
    calls.append(1)
    for _ in range(2):
        with pytest.raises(Own, match="mine"):
            compiled(x)
    calls.clear()
    for _ in range(4):
        assert compiled(x).tolist() == [2.0] * 3


def test_an_error_that_the_function_catches_is_still_an_error() -> None:
    def run(x: Any) -> Any:
        try:
            scale = x.sum().item()
        except RuntimeError:
            scale = 100.0
        return x * scale

    compiled = torch.compile(run, backend="numpy")
    compiled(torch.ones(3))
    with pytest.raises(CompileError, match="item"):
        compiled(torch.ones(3))


@pytest.mark.filterwarnings("ignore:.*is not compiled")
def test_with_fallback_a_write_into_such_an_argument_is_an_error_once() -> None:
    def run(x: Any) -> Any:
        return x.add_(1) * 2

    compiled = torch.compile(run, backend="numpy", fallback=True)
    for call in range(5):
        weight = torch.ones(3, requires_grad=True)
        x = weight * 2
        if call == 1:
            with pytest.raises(CompileError, match="a write into an argument that has a history"):
                compiled(x)
            assert x.tolist() == [2.0] * 3
        else:
            compiled(x).sum().backward()
            assert weight.grad.tolist() == [4.0] * 3


def test_what_is_done_to_an_argument_with_a_history() -> None:
    """A write into it, or a backward pass through it, would reach into a graph outside."""
    x = torch.ones(3, requires_grad=True)
    for run, words in (
        (lambda x: x.mul_(2).sum(), "a write into an argument"),
        (lambda x: x.sum().backward(), "a backward pass into the history of an argument"),
    ):
        compiled = torch.compile(run, backend="numpy")
        compiled(x * 2)
        with pytest.raises(CompileError, match=words):
            compiled(x * 2)


def test_wrong_arguments_of_compile() -> None:
    with pytest.raises(ValueError, match="'backend'"):
        torch.compile(branch, backend="nonsense")
    with pytest.raises(TypeError, match="'model'"):
        torch.compile(3)
