"""What a record depends on, changed one thing at a time between calls: the plain answer each time."""

from __future__ import annotations

import gc
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.run.records import MOST

from .compare import assert_same, bits

SCALE = 2.0


def side_by_side(fn: Any, *calls: Any, **options: Any) -> Any:
    """Call a function and its compiled twin with the same arguments, one call after the other."""
    compiled = torch.compile(fn, backend="numpy", **options)
    for number, args in enumerate(calls):
        expected, found = fn(*args), compiled(*args)
        assert_same(bits(found), bits(expected), where=f"call {number}")
    return compiled


def test_what_an_argument_is() -> None:
    """Shape, dtype, strides, requires_grad and history are each a form of their own."""
    x = torch.arange(12.0).reshape(3, 4)
    forms = [
        x,
        x[:2],
        x.double(),
        x.t().contiguous().t(),
        x.clone().requires_grad_(),
        x.clone().requires_grad_() * 1,
        x[:, ::2],
        x.t(),
    ]
    calls = [(form,) for form in forms for _ in range(3)] * 2
    found = side_by_side(lambda x: (x * 2 + 1).sum(0), *calls)
    assert found.records == len(forms)


def test_python_arguments() -> None:
    x = torch.ones(3)
    values = [
        0.0,
        -0.0,
        1,
        True,
        1.0,
        2,
        None,
        "a",
        float("nan"),
        (1, 2),
        [1, 2],
        {"k": 1},
        np.float32(3),
    ]

    def run(x: Any, value: Any) -> Any:
        if isinstance(value, (int, float, np.floating)):
            return 1 / (x * value)
        return x * len(str(value))

    found = side_by_side(run, *((x, v) for v in values for _ in range(3)))
    assert (
        found.records == len(values) - 2
    )  # the second float is recorded as any: 1.0 and NaN are replayed


def test_which_arguments_are_the_same_tensor() -> None:
    x, y = torch.ones(3), torch.full((3,), 5.0)
    pairs = [(x, x), (x, x), (x, x), (x, y), (y, x), (x, y), (x, x), (y, y)]
    side_by_side(lambda a, b: a * 2 + b, *pairs)


def test_containers() -> None:
    def run(nest: Any) -> Any:
        return {"sum": nest["a"] + nest["b"][0], "all": [nest["a"], nest["b"]]}

    calls = []
    for n in (3, 3, 3, 4, 4, 4, 3):
        nest = OrderedDict(a=torch.ones(n), b=(torch.full((n,), 2.0),))
        calls.append((nest,))
    assert side_by_side(run, *calls).records == 2


def test_an_object_and_its_attributes() -> None:
    class Batch:
        def __init__(self) -> None:
            self.x, self.weight = torch.ones(3), 2.0

    batch = Batch()
    run = torch.compile(lambda batch: batch.x * batch.weight, backend="numpy")
    for _ in range(4):
        assert run(batch).tolist() == [2.0] * 3
    batch.x = torch.full((3,), 7.0)
    for _ in range(3):
        assert run(batch).tolist() == [14.0] * 3
    batch.weight = 3.0
    assert run(batch).tolist() == [21.0] * 3


def test_a_tensor_that_is_also_used_from_outside() -> None:
    shared, other = torch.ones(3), torch.zeros(3)
    side_by_side(lambda w: shared * 2 + w, *[(shared,)] * 4, *[(other,)] * 3, (shared,))
    model = nn.Linear(3, 3)
    weight = torch.zeros(3, 3, requires_grad=True)
    x = torch.ones(2, 3)
    side_by_side(lambda w: model(x) + w.sum(), *[(model.weight,)] * 4, *[(weight,)] * 3)


def test_arguments_that_share_memory_with_what_is_written() -> None:
    def run(x: Any, y: Any) -> Any:
        x.mul_(3)
        return y + x

    plain, written = torch.arange(4.0), torch.arange(4.0)
    compiled = torch.compile(run, backend="numpy")
    for _ in range(4):
        compiled(written[1:].clone(), written[:-1].clone())
    assert torch.equal(compiled(written[1:], written[:-1]), run(plain[1:], plain[:-1]))
    assert torch.equal(plain, written)


# --- what a function reads by name ------------------------------------------------------------------


def helper(x: Any) -> Any:
    return x * SCALE


def test_globals_also_of_functions_that_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(3)
    runs = [lambda x: helper(x) + 0, lambda x: sum([x * SCALE for _ in range(2)])]
    compiled = [torch.compile(run, backend="numpy") for run in runs]
    for value in (2.0, 5.0, 2.0, 7.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        for run, other in zip(runs, compiled, strict=True):
            for _ in range(3):
                assert torch.equal(other(x), run(x))


class Settings:
    def __init__(self) -> None:
        self.scale, self.table, self.array = 2.0, {"shift": 1.0}, np.ones(3, np.float32)
        self.count = 1.0

    def scaled(self, x: Any) -> Any:
        return x * self.scale + self.table["shift"]


def test_closures_attributes_lists_and_dictionaries() -> None:
    settings, values, factor = Settings(), [1.0, 2.0], 3.0

    def run(x: Any) -> Any:
        return settings.scaled(x) * values[0] * factor + torch.tensor(settings.array)

    compiled = torch.compile(run, backend="numpy")
    x = torch.ones(3)

    def check() -> None:
        for _ in range(3):
            assert torch.equal(compiled(x), run(x))

    check()
    settings.scale = 4.0
    check()
    settings.table["shift"] = -2.0
    check()
    values[0] = 9.0
    check()
    settings.array[1] = 8.0
    check()
    factor = 0.5
    check()


count = iter(range(100))


def test_an_attribute_is_no_global_of_the_same_name() -> None:
    settings = Settings()
    settings.count = 3.0
    assert side_by_side(lambda x: x * settings.count, *[(torch.ones(2),)] * 4).records == 1


# --- modes ------------------------------------------------------------------------------------------


MODES: dict[str, Any] = {
    "gradients": torch.enable_grad,
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
    "lower precision": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_modes_of_the_thread(backend: str) -> None:
    weight = torch.ones(3, 2, requires_grad=True)

    once = backend == "llvm"  # plain results take the shortest way into a program

    def run(x: Any) -> Any:
        out = (x @ weight).sum(0)
        return out.detach() if once else out, torch.zeros(2) + x.detach()[0, 0]

    compiled = torch.compile(run, backend=backend)
    for _ in range(2):
        for mode in MODES.values():
            for _ in range(3):
                with mode():
                    expected = run(torch.ones(2, 3))
                with mode():
                    found = compiled(torch.ones(2, 3))
                assert_same(bits(found), bits(expected))
                assert found[1].is_inference() == expected[1].is_inference()
        torch.set_default_dtype(torch.float64)
        try:
            for _ in range(3):
                assert compiled(torch.ones(2, 3, dtype=torch.float32))[1].dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
    assert compiled.records == len(MODES) + 1


# --- how many ----------------------------------------------------------------------------------------


def test_batches_of_many_sizes_keep_memory_bounded() -> None:
    model = nn.Linear(3, 2)
    run = torch.compile(lambda x: model(x).sum(), backend="numpy")
    rng = np.random.default_rng(0)
    sizes = [int(n) for n in rng.integers(1, 200, 1500)]
    for n in sizes:
        run(torch.ones(n, 3))
    assert len(run._alive()) <= MOST
    assert len(run._seen) <= 256
    assert run.records < 100


@pytest.mark.slow
def test_ten_thousand_calls_keep_memory_bounded() -> None:
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step, backend="numpy")
    rng = np.random.default_rng(0)
    kept = []
    for number, n in enumerate(rng.integers(1, 500, 10_000)):
        run(torch.ones(int(n), 16))
        if number % 2000 == 1999:
            gc.collect()
            kept.append(
                sum(e.replay_of.memory.arena.nbytes for es in run._entries.values() for e in es)
            )
    assert max(kept) < MOST * 4 * 500 * 16 * 8
    assert len(run._alive()) <= MOST


def test_what_never_settles_runs_as_it_is_written() -> None:
    """A record that never holds again is not made for ever."""
    weight = torch.ones(3)
    run = torch.compile(lambda x: x * weight, backend="numpy")

    def many() -> None:
        for number in range(60):
            weight.data = torch.full((3,), float(number))
            assert run(torch.ones(3)).tolist() == [float(number)] * 3

    with pytest.warns(UserWarning, match="changes too often"):
        many()
    assert run.records <= 8
