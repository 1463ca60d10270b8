"""Ways in which Python changes what a function reads, between two calls of it: compiled, it gives what eager gives.

The ways are in `ways/`, by what the language and its library offer. Each is a module: `f(x)` reads, `change()`
changes something. It is imported twice, so that eager and compiled have a state each, and run in each mode. Where
`compile` cannot follow, it refuses and names the line; an old answer is never given.
Audits are off: they would find it too late.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.messages.errors import CompileError

FOLDER = Path(__file__).parent / "ways"
MODES = {"sound": True, "guarded": False, "default": None}
BEFORE, AFTER = 4, 4  # calls before the change and after it
_count = itertools.count()


def _ways() -> dict[str, str]:
    found = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text().split("# --- ")[1:]:
            name, _, text = block.partition("\n")
            key = f"{path.stem}: {name}"
            assert key not in found, key
            found[key] = text
    return found


WAYS = _ways()


def test_there_are_many() -> None:
    assert len(WAYS) >= 200


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the ways change beyond their own module."""
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    limit, where, dtype, threads = (
        sys.getrecursionlimit(),
        os.getcwd(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
    )
    environment, modules = dict(os.environ), dict(sys.modules)
    state, printing = random.getstate(), np.get_printoptions()
    with warnings.catch_warnings():
        yield
    gc.enable()
    sys.setrecursionlimit(limit)
    os.chdir(where)
    os.environ.clear()
    os.environ.update(environment)
    for name in sys.modules.keys() - modules.keys():
        if name.startswith("way_"):
            del sys.modules[name]
    random.setstate(state)
    np.set_printoptions(**printing)
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)


def module_of(text: str, folder: Path) -> Any:
    """The way as a module of its own."""
    number = next(_count)
    path = folder / f"way_{number}.py"
    # Code that begins in the same line and reads the same is equal, whatever file it is in.
    path.write_text("import tautograd as torch" + "\n" * (number + 1) + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def bits(value: Any) -> Any:
    plain = value.detach().float() if value.dtype is torch.bfloat16 else value.detach()
    return value.dtype, tuple(value.shape), plain.resolve_conj().numpy().tobytes()


def outcomes(text: str, folder: Path, mode: str) -> list[Any]:
    """What each call gave: alone, so that nothing global is changed by two."""
    module = module_of(text, folder)
    fn = module.f
    if mode != "eager":
        fn = torch.compile(fn, backend="numpy", audit="never", sound=MODES[mode])
    x = torch.tensor([1.0, 2.0, 3.0])
    found = []
    for call in range(BEFORE + AFTER):
        if call == BEFORE:
            module.change()
        try:
            found.append(bits(fn(x)))
        except CompileError as error:
            return [*found, None if str(folder) in str(error) else f"no line is named: {error}"]
    return found


def _marked(number: int, name: str) -> Any:
    """Some of each kind run always; all of them with the slow tests."""
    return pytest.param(name, marks=() if number % 12 == 0 else pytest.mark.slow)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [_marked(i, name) for i, name in enumerate(WAYS)])
def test_a_way(name: str, mode: str, tmp_path: Path) -> None:
    where = os.getcwd()
    expected = outcomes(WAYS[name], tmp_path, "eager")
    np.set_printoptions(precision=8)
    gc.enable()
    os.chdir(where)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    found = outcomes(WAYS[name], tmp_path, mode)
    if found and found[-1] is None:  # a refusal, which names the line
        del found[-1]
    assert found == expected[: len(found)]


def test_a_method_of_the_library_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = torch.compile(lambda x: x.exp(), backend="numpy", audit="never")
    x = torch.ones(3)
    for _ in range(4):
        compiled(x)
    monkeypatch.setattr(torch.Tensor, "exp", lambda self: self * 3)
    assert [compiled(x).tolist() for _ in range(3)] == [[3.0] * 3] * 3
    monkeypatch.undo()
    assert compiled(x).tolist() == x.exp().tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fallback", [True, False])
def test_a_number_that_changes_where_python_runs(fallback: bool) -> None:
    """It is no input of a record then, for that would have neither guards nor Python."""
    place = {"scale": 1.0}
    step = lambda x, by: x * by * place["scale"]  # noqa: E731
    compiled = torch.compile(step, sound=True, dynamic=False, fallback=fallback, audit="never")
    x = torch.ones(3)
    for by in (0.5, 0.5, 0.5, 0.25, 0.25, 0.25):
        compiled(x, by)
    place["scale"] = 3.0
    assert compiled(x, 0.25).tolist() == step(x, 0.25).tolist()


@pytest.mark.filterwarnings("ignore")
def test_an_optimizer_of_a_class_of_the_users_own() -> None:
    """Whose update is part of no call that could be missed."""

    class Own(torch.optim.SGD):
        pass

    p = torch.nn.Parameter(torch.ones(3))
    optimizer, steps = Own([p], lr=0.5), [True]

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (x * p).sum().backward()
        if steps[0]:
            optimizer.step()
        return p.detach() * 1

    compiled = torch.compile(step, sound=True, fallback=True, audit="never")
    x = torch.ones(3)
    for _ in range(4):
        compiled(x)
    steps[0] = False
    assert compiled(x).tolist() == compiled(x).tolist() == [-1.0] * 3
