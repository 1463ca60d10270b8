"""What asks an array for its memory while it is recorded: done, or refused in words; never an internal error."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd._compile.messages.errors import CompileError

from .compare import assert_same, bits

weight = torch.randn(3, 3).requires_grad_()


def gradient(loss: Any) -> Any:
    weight.grad = None
    loss.backward()
    found, weight.grad = weight.grad, None
    return found


def filled_diagonal(x: Any) -> Any:
    y = x * weight * 1
    y.fill_diagonal_(2.0)
    return gradient(y.square().sum())


def wrapped_diagonal(x: Any) -> Any:
    y = torch.zeros(7, 3) + x.sum()
    return y.fill_diagonal_(5.0, wrap=True)


def smaller(x: Any) -> Any:
    y = x * 2
    y.resize_(2, 2)
    return y + 1


def larger(x: Any) -> Any:
    y = x * 2
    y.resize_(4, 4)
    return y.flatten()[:9] + 1


def as_another(x: Any) -> Any:
    return (x * 2).resize_as_(torch.zeros(3))


def no_diagonal(x: Any) -> Any:
    y = x[:0] * 1
    y.diagonal().copy_(torch.zeros(0))
    return y


def far_diagonal(x: Any) -> Any:
    y = x * weight * 1
    y.diagonal(3).mul_(2.0)
    torch.diagonal(y, -3).fill_(1.0)
    return gradient(y.square().sum())


def copied(x: Any) -> Any:
    return copy.deepcopy(x * 2) + copy.copy(x)


RECORDED: list[Callable[..., Any]] = [
    *(filled_diagonal, wrapped_diagonal, smaller, larger, as_another, no_diagonal, far_diagonal),
    copied,
]
REFUSED: dict[str, Callable[..., Any]] = {
    "address": lambda x: x * ((x * 1).data_ptr() > 0),
    "storage": lambda x: x * ((x * 1).untyped_storage().data_ptr() > 0),
    "dlpack": lambda x: torch.from_dlpack(x * 1) + 1,
    "numpy": lambda x: torch.from_numpy((x * 1).numpy()) + 1,
}


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("body", RECORDED)
def test_it_is_done(body: Callable[..., Any], backend: str) -> None:
    compiled = torch.compile(body, backend=backend)
    for _ in range(4):
        x = torch.randn(3, 3)
        assert_same(bits(compiled(x.clone())), bits(body(x.clone())), 8)
    assert compiled.records == 1


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_words_or_runs_eagerly(name: str) -> None:
    body = REFUSED[name]
    compiled = torch.compile(body, backend="numpy")
    x = torch.randn(3, 3)
    compiled(x)
    with pytest.raises(CompileError, match=r"cannot be recorded.*\n  File .*test_memory_asked_for"):
        compiled(x)
    compiled = torch.compile(body, backend="numpy", fallback=True)
    compiled(x)
    with pytest.warns(UserWarning, match="is not compiled"):
        assert_same(bits(compiled(x)), bits(body(x)))
    assert_same(bits(compiled(x)), bits(body(x)))


def outcome(run: Callable[..., Any], x: Any) -> str:
    torch.manual_seed(0)
    try:
        run(x)
    except Exception as error:
        return type(error).__name__
    return "done"


UNUSUAL = ((), (0, 3), (4,))
ARGUMENTS: dict[str, Callable[..., Any]] = {
    "nothing": lambda x, y: (),
    "number": lambda x, y: (2,),
    "numbers": lambda x, y: (0, 0),
    "tensor": lambda x, y: (x + 1,),
    "itself": lambda x, y: (y,),
    "index": lambda x, y: (0, torch.zeros(x.shape, dtype=torch.int64)),
}


def sweep(shape: tuple[int, ...], given: str, fallback: bool, every: int = 1) -> list[str]:
    """Every attribute of tensors, called while it is recorded, that ends otherwise than in eager mode."""
    found = []
    for name in sorted(set(dir(torch.Tensor)) - {"__class__", "__init_subclass__"})[::every]:

        def run(x: Any, name: str = name) -> Any:
            y = x * 1
            member = getattr(y, name)
            if not callable(member):
                return y * 2
            result = member(*ARGUMENTS[given](x, y))
            return result if isinstance(result, torch.Tensor) else y

        x = torch.rand(shape) + 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outcome(run, x.clone())
            compiled = torch.compile(run, backend="numpy", fallback=fallback)
            for _ in range(3):
                ended = outcome(compiled, x.clone())
        if ended != expected and not (ended == "CompileError" and not fallback):
            found.append(f"{name}: {ended}, eagerly {expected}")
    return found


@pytest.mark.parametrize("fallback", [False, True])
def test_attributes_of_tensors(fallback: bool) -> None:
    assert sweep((3, 3), "nothing", fallback, every=5) == []


@pytest.mark.slow
@pytest.mark.parametrize("given", ARGUMENTS)
@pytest.mark.parametrize("shape", [(3, 3), *UNUSUAL])
def test_every_attribute_of_unusual_tensors(shape: tuple[int, ...], given: str) -> None:
    assert sweep(shape, given, False) == []
    assert sweep(shape, given, True) == []


def test_the_number_of_threads_is_set_while_another_thread_first_compiles() -> None:
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
import tautograd as torch
going, wrong = True, []
def setting():
    count = 0
    while going:
        count += 1
        try:
            torch.set_num_threads(1 + count % 2)
        except BaseException as error:
            wrong.append(error)
            return
def compiling():
    compiled = torch.compile(lambda x: x * 2)
    for _ in range(3):
        compiled(torch.ones(3))
threads = [threading.Thread(target=setting), threading.Thread(target=compiling)]
for thread in threads:
    thread.start()
threads[1].join()
going = False
threads[0].join()
assert not wrong, wrong
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
