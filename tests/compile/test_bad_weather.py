"""Threads, forks, Ctrl-C, nesting, no compiler: clear behaviour and right results."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.run import replay
from tautograd._compile.run.entry import Entry
from tautograd._compile.run.replay import Replay

from .compare import assert_same, bits, training


def test_threads_that_call_one_function_at_once() -> None:
    weight = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    compiled = torch.compile(lambda x: (x @ weight).tanh().sum(), backend="numpy")
    failures: list[Any] = []

    def work(seed: int) -> None:
        try:
            for n in range(30):
                x = torch.full((2, 3), (seed + n) / 40, requires_grad=True)
                (found,) = torch.autograd.grad(compiled(x), x)
                (expected,) = torch.autograd.grad((x @ weight).tanh().sum(), x)
                assert_same(bits(found), bits(expected))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert compiled.records >= 1


def test_another_thread_sees_plain_tensors_while_one_records() -> None:
    weight = torch.ones(3, requires_grad=True)
    inside, seen = threading.Event(), threading.Event()
    found: list[Any] = []
    stops: list[bool] = []

    def run() -> Any:
        weight.grad = None
        loss = weight.square().sum()
        loss.backward()
        if stops:
            inside.set()
            seen.wait(10)
        return loss

    compiled = torch.compile(run, backend="numpy")
    compiled()
    stops.append(True)

    def look() -> None:
        inside.wait(10)
        found.append((weight * 2).sum().item() + weight.grad.numpy().sum())
        seen.set()

    thread = threading.Thread(target=look)
    thread.start()
    compiled()
    thread.join()
    assert found == [12.0]


def _in_child(compiled: Any, queue: Any) -> None:
    queue.put([compiled(torch.full((3,), float(n))).sum().item() for n in range(4)])


def test_a_child_process_makes_programs_of_its_own() -> None:
    weight = torch.ones(3)
    compiled = torch.compile(lambda x: x * weight + 1, backend="llvm")
    for _ in range(4):
        compiled(torch.ones(3))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(compiled, queue))
    child.start()
    assert queue.get(timeout=60) == [3.0, 6.0, 9.0, 12.0]
    child.join()
    assert compiled(torch.ones(3)).sum() == 6


@pytest.mark.parametrize("where", ["recording", "compiling"])
def test_control_c(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call starts anew; a step that was done when it was compiled is not done again."""
    weight = torch.ones(3)
    presses: list[bool] = []

    def step() -> Any:
        weight.add_(1)
        if presses and where == "recording":
            presses.clear()
            raise KeyboardInterrupt
        return weight * 2

    compiled = torch.compile(step, backend="numpy")
    compiled()
    if where == "compiling":
        made = Replay.__init__

        def interrupted(self: Any, *args: Any, **kwargs: Any) -> None:
            monkeypatch.setattr(Replay, "__init__", made)
            raise KeyboardInterrupt

        monkeypatch.setattr(Replay, "__init__", interrupted)
    presses.append(True)
    with pytest.raises(KeyboardInterrupt):
        compiled()
    presses.clear()
    for n in range(4):
        assert compiled().tolist() == [(4 + n) * 2.0] * 3
    assert isinstance(compiled._last, Entry)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_first_call_that_does_not_end(error: type[BaseException]) -> None:
    """What the first call makes (an optimizer's states) is not there yet: the next one is the first."""
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.5)
    fails = [True]

    def step() -> Any:
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        if fails:
            raise fails.pop() and error
        optimizer.step()
        return loss

    compiled = torch.compile(step, backend="numpy")
    with pytest.raises(error):
        compiled()
    found = [compiled().item() for _ in range(4)]
    assert isinstance(compiled._last, Entry)
    weight.detach().fill_(1)
    optimizer.state.clear()
    assert found == pytest.approx([step().item() for _ in range(4)])


def test_a_call_while_another_thread_is_in_the_first() -> None:
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.5)
    inside, goes_on = threading.Event(), threading.Event()

    def step(x: Any) -> Any:
        if threading.current_thread() is other:
            inside.set()
            goes_on.wait()
        optimizer.zero_grad()
        loss = (weight * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step, backend="numpy")
    other = threading.Thread(target=compiled, args=[torch.ones(3)])
    other.start()
    inside.wait()
    try:
        assert [compiled(torch.ones(3)).item() for _ in range(2)] == pytest.approx([3.0, 1.5])
    finally:
        goes_on.set()
        other.join()


def test_compiled_inside_compiled_and_recursion() -> None:
    inner = torch.compile(lambda x: x.sin() * 2, backend="numpy")

    @torch.compile(backend="numpy")
    def outer(x: Any, depth: int) -> Any:
        return inner(x) if depth == 0 else outer(x, depth - 1) + 1

    x = torch.ones(3)
    for _ in range(4):
        for depth in range(3):
            assert torch.equal(outer(x, depth), x.sin() * 2 + depth)


def test_ten_functions_that_share_parameters() -> None:
    model = nn.Linear(3, 3)
    twin = copy.deepcopy(model)

    def step_of(model: Any, rate: float) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        return training(model, optimizer, lambda: model(torch.ones(2, 3)).abs().sum())[0]

    plain = [step_of(twin, 0.01 * n) for n in range(1, 11)]
    compiled = [torch.compile(step_of(model, 0.01 * n), backend="numpy") for n in range(1, 11)]
    for _ in range(5):
        for one, other in zip(plain, compiled, strict=True):
            assert_same(bits(other()), bits(one()))
            assert_same(bits(list(model.parameters())), bits(list(twin.parameters())))


def test_a_program_of_which_no_machine_code_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded step is done and its result there; replays are NumPy's."""
    parts = replay._parts

    def broken(program: Any, start: int, stop: int, lowered: Any, saved: Any) -> Any:
        if lowered is not None:
            raise RuntimeError("no such instruction")
        return parts(program, start, stop, lowered, saved)

    monkeypatch.setattr(replay, "_parts", broken)
    weight = torch.zeros(3)
    compiled = torch.compile(lambda: weight.add_(1) * 2)
    compiled()
    with pytest.warns(UserWarning, match="no such instruction"):
        assert compiled().tolist() == [4.0] * 3
    for n in range(3, 6):
        assert compiled().tolist() == [2.0 * n] * 3
    assert "no such instruction" in str(compiled.explain())


def test_without_a_compiler_it_replays_with_numpy() -> None:
    code = """
import sys
sys.modules["llvmlite"] = None
import tautograd as torch
f = torch.compile(lambda x: x.exp() * 2)
x = torch.ones(3)
for _ in range(4):
    assert torch.equal(f(x), x.exp() * 2)
assert f.records == 1
print(f.explain())
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert found.returncode == 0, found.stderr
    assert "llvmlite" in found.stdout


# --- as part of something else ----------------------------------------------------------------------


class Trainer:
    def __init__(self, factor: float) -> None:
        self.factor, self.weight = factor, torch.ones(3)

    @torch.compile(backend="numpy")
    def run(self, x: Any) -> Any:
        """What it does."""
        return x * self.weight * self.factor


@dataclass(slots=True)
class Slotted:
    factor: float

    @torch.compile(backend="numpy")
    def run(self, x: Any) -> Any:
        return x * self.factor


def test_a_method_of_an_object_that_cannot_be_followed() -> None:
    for factor in (2.0, 3.0):
        one = Slotted(factor)
        for _ in range(4):
            assert one.run(torch.ones(2)).tolist() == [factor] * 2


def test_a_method_has_a_program_for_each_object() -> None:
    first, second = Trainer(2.0), Trainer(3.0)
    for _ in range(4):
        assert first.run(torch.ones(3)).tolist() == [2.0] * 3
        assert second.run(torch.ones(3)).tolist() == [3.0] * 3
    first.factor = 5.0
    assert first.run(torch.ones(3)).tolist() == [5.0] * 3
    assert Trainer.run.__doc__ == "What it does."
    assert copy.deepcopy(first).run(torch.ones(3)).tolist() == [5.0] * 3
    assert pickle.loads(pickle.dumps(second)).run(torch.ones(3)).tolist() == [3.0] * 3
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None


def test_a_method_of_a_module() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        @torch.compile(backend="numpy")
        def forward(self, x: Any) -> Any:
            return self.layer(x).tanh()

    net = Net()
    expected = net.layer(torch.ones(2, 3)).tanh()
    for _ in range(4):
        assert torch.equal(net(torch.ones(2, 3)), expected)
    assert net.forward.records == 1
    other = copy.deepcopy(net)
    assert list(other.state_dict()) == ["layer.weight", "layer.bias"]
    with torch.no_grad():
        other.layer.weight.zero_()
    for _ in range(4):
        assert torch.equal(other(torch.ones(2, 3)), other.layer.bias.tanh().expand(2, 3))
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_a_compiled_module_is_the_module() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    compiled = torch.compile(model, backend="numpy")
    x = torch.ones(2, 3)
    for seed in range(4):
        torch.manual_seed(seed)
        expected = model(x)
        torch.manual_seed(seed)
        assert torch.equal(compiled(x), expected)
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is model
    assert list(compiled.parameters()) == list(model.parameters())
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert compiled[0] is model[0]
    compiled.eval()
    assert not model.training
    assert not model[1].training
    assert torch.equal(compiled(x), model(x))
    compiled.train()
    assert compiled.training
    compiled.note = 3
    assert model.note == 3
    compiled.load_state_dict(compiled.state_dict())
    optimizer = torch.optim.SGD(compiled.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        compiled(x).sum().backward()
        optimizer.step()
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other._orig_mod is not model
        assert torch.equal(other.eval()(x), compiled.eval()(x))
    assert "explain" not in vars(model)
    assert "array operations" in str(compiled.explain())


def test_module_compile() -> None:
    model = nn.Linear(3, 3)
    expected = model(torch.ones(2, 3))
    model.compile(backend="numpy")
    for _ in range(4):
        assert torch.equal(model(torch.ones(2, 3)), expected)
    assert model.forward.records == 1
    assert list(model.state_dict()) == ["weight", "bias"]
    assert torch.equal(copy.deepcopy(model)(torch.ones(2, 3)), expected)


def test_what_is_said() -> None:
    code = """
import tautograd as torch
def step(x):
    return (x * 2).sum()
f = torch.compile(step, backend="numpy", dynamic=False)
print(f.explain())
for n in (3, 3, 3, 4, 4):
    f(torch.ones(n))
print(f.explain())
"""
    env = {**os.environ, "TAUT_LOG": "compile"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr.count("step: recorded (") == 2
    assert "not recorded yet" in found.stdout
    assert "array operations recorded" in found.stdout
    assert "native code: not asked for" in found.stdout
