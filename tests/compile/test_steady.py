"""A loop in which nothing changes takes the shortest way; each thing that can change between calls is seen."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.guards.identity import Sameness
from tests.optim.runs import loss_of, make_optimizer, parameters
from tests.optim.table import OPTIMIZERS, label

from .compare import assert_same, bits, lockstep

BACKENDS = ["numpy", "llvm"]


class Twins:
    """A training step as written and compiled, from the same numbers, changed alike."""

    def __init__(self, backend: str, name: str = "Adam", **options: Any) -> None:
        self.backend = backend
        self.pairs = []
        for _ in range(2):
            params = parameters(torch, "float64")
            optimizer = make_optimizer(torch, name, params, {"lr": 0.01, **options})
            self.pairs.append((params, optimizer, self._step(params, optimizer)))
        self.plain = self.pairs[0][2]
        self.compiled = torch.compile(self.pairs[1][2], backend=backend)
        self.calls = 0

    @staticmethod
    def _step(params: Any, optimizer: Any) -> Any:
        def step() -> Any:
            optimizer.zero_grad()
            loss = loss_of(torch, params)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def run(self, calls: int) -> None:
        """Call both, and compare all that can be seen of them."""
        for _ in range(calls):
            self.calls += 1
            losses = self.plain(), self.compiled()
            found = [
                bits([loss, params, [p.grad for p in params], list(optimizer.state.values())])
                for loss, (params, optimizer, _) in zip(losses, self.pairs, strict=True)
            ]
            bound = 0 if self.backend == "numpy" else 40 * self.calls
            assert_same(found[1], found[0], bound, f"call {self.calls}")

    def change(self, how: Any) -> None:
        for params, optimizer, _ in self.pairs:
            how(params, optimizer)

    @property
    def is_steady(self) -> bool:
        steady = self.compiled._last.steady
        return steady is not None and steady.same() and steady.settled()


def _set(**settings: Any) -> Any:
    return lambda params, optimizer: optimizer.param_groups[0].update(settings)


def _one_at_another_step(params: Any, optimizer: Any) -> None:
    with torch.no_grad():
        optimizer.state[params[1]]["step"].add_(5)


def _another_count(params: Any, optimizer: Any) -> None:
    optimizer.state[params[0]]["step"] = torch.tensor(40.0)


def _other_memory_of_a_count(params: Any, optimizer: Any) -> None:
    optimizer.state[params[0]]["step"].data = torch.tensor(40.0)


def _other_average(params: Any, optimizer: Any) -> None:
    optimizer.state[params[0]]["exp_avg"] = torch.ones_like(params[0])


def _fewer(params: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["params"].pop()


def _in_other_order(params: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["params"].reverse()


def _another_group(params: Any, optimizer: Any) -> None:
    last = optimizer.param_groups[0]["params"].pop()
    optimizer.add_param_group({"params": [last], "lr": 0.5})


def _loaded(params: Any, optimizer: Any) -> None:
    optimizer.load_state_dict(optimizer.state_dict())


def _forgotten(params: Any, optimizer: Any) -> None:
    optimizer.state.clear()


def _frozen(params: Any, optimizer: Any) -> None:
    params[0].requires_grad_(False)


def _in_place(params: Any, optimizer: Any) -> None:
    with torch.no_grad():
        params[0].mul_(0.5)


CHANGES = {
    "learning rate": _set(lr=0.2),
    "another kind of number": _set(lr=np.float64(0.2)),
    "a learning rate that is a tensor": _set(lr=torch.tensor(0.2, dtype=torch.float64)),
    "momenta": _set(betas=(0.5, 0.7)),
    "decay": _set(weight_decay=0.1),
    "maximize": _set(maximize=True),
    "one parameter at another step": _one_at_another_step,
    "another step count": _another_count,
    "other memory of a step count": _other_memory_of_a_count,
    "another state": _other_average,
    "fewer parameters": _fewer,
    "parameters in another order": _in_other_order,
    "another group": _another_group,
    "a loaded state": _loaded,
    "no state": _forgotten,
    "a frozen parameter": _frozen,
    "a parameter written in place": _in_place,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_in_a_steady_loop(change: str, backend: str) -> None:
    twins = Twins(backend)
    twins.run(6)
    assert twins.is_steady
    twins.change(CHANGES[change])
    twins.run(5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_settings_that_come_back(backend: str) -> None:
    """The numbers of the program are those of the settings of now, also where they were known before."""
    twins = Twins(backend, weight_decay=0.1)
    twins.run(6)
    rates = 0.01, 0.3
    for i in (1, 0, 1, 1, 0, 0, 1, 0):
        twins.change(_set(lr=rates[i], weight_decay=0.1 * (i + 1)))
        twins.run(2)
    twins.run(20)
    assert twins.is_steady
    assert twins.compiled.records == 1


@pytest.mark.parametrize("row", OPTIMIZERS, ids=label)
def test_numbers_that_follow_from_the_count(row: Any) -> None:
    """They are those that the optimizer's own code computes, to the last bit."""
    name, options = row
    if name in ("LBFGS", "Adafactor"):
        return
    params = parameters(torch, "float32")
    optimizer = make_optimizer(torch, name, params, options)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(torch, params).backward()
        optimizer.step()

    compiled = torch.compile(step, backend="numpy")
    for _ in range(3):
        compiled()
    for update in compiled._last.guards.updates:
        count = update.counted()
        assert (count is None) == (name in ("RAdam", "ASGD") or "tensor" in str(options))
        for _ in range(5 if count else 0):
            before = [row.copy() for row in update.batch.scalars]
            update()
            numbers, after = update.row.copy(), [row.copy() for row in update.batch.scalars]
            for scalars, values in zip(update.batch.scalars, before, strict=True):
                scalars[...] = values
            update.row.fill(0)
            count()
            np.testing.assert_array_equal(update.row, numbers)
            np.testing.assert_array_equal(update.batch.scalars, after)


@pytest.mark.parametrize("backend", BACKENDS)
def test_modes_in_a_steady_loop(backend: str) -> None:
    weight = torch.ones(3, 2, requires_grad=True)
    scale = 2.0

    def run(x: Any) -> Any:
        return (x @ weight).detach() * scale, torch.zeros(2) + 1

    x = torch.ones(2, 3)
    compiled = torch.compile(run, backend=backend)
    seen: list[Any] = []

    def check() -> None:
        seen.append([bits(run(x)), bits(compiled(x))])

    def with_mode(mode: Any) -> None:
        with mode:
            check()

    def in_a_thread(mode: Any) -> None:
        thread = threading.Thread(target=with_mode, args=(mode,))
        thread.start()
        thread.join()

    for call in (with_mode, in_a_thread):
        for _ in range(6):
            check()
        assert backend == "numpy" or compiled._last.steady.same()
        for _ in range(4):
            call(torch.autocast("cpu", torch.bfloat16))
            call(torch.no_grad())
            call(torch.enable_grad())
    scale = 3.0
    check()
    torch.set_default_dtype(torch.float64)
    try:
        check()
    finally:
        torch.set_default_dtype(torch.float32)
    for expected, found in seen:
        assert_same(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_attribute_that_was_none_and_goes(backend: str) -> None:
    holder, x = Settings(), torch.ones(3)
    holder.mask = None  # type: ignore[attr-defined]

    def run() -> Any:
        mask = holder.mask if hasattr(holder, "mask") else None  # type: ignore[attr-defined]
        return x.detach() * 2 if mask is None else x * mask

    compiled = torch.compile(run, backend=backend)
    for number in range(8):
        if number == 3:
            del holder.mask  # type: ignore[attr-defined]
        if number == 6:
            holder.mask = torch.full((3,), 5.0)  # type: ignore[attr-defined]
        assert torch.equal(compiled(), run())


def _cell(content: Any) -> Any:
    return (lambda: content).__closure__[0]  # type: ignore[index]


def _places() -> dict[str, tuple[Any, Any, Any]]:
    """Things that are watched: how, how each changes, and how it is undone."""
    tensor = nn.Parameter(torch.ones(2))
    array = tensor._data
    holder, table, entries, content = Settings(), {tensor: object()}, [object(), 1], object()
    was, cell = table[tensor], _cell(content)
    return {
        "slot": (
            lambda s: s.attribute("_data", [tensor]),
            lambda: setattr(tensor, "_data", array.copy()),
            lambda: setattr(tensor, "_data", array),
        ),
        "attribute": (
            lambda s: s.attribute("value", [holder]),
            lambda: setattr(holder, "value", 1.5),
            holder.reset,
        ),
        "attribute that is gone": (
            lambda s: s.attribute("value", [holder]),
            lambda: delattr(holder, "value"),
            holder.reset,
        ),
        "item": (
            lambda s: s.item(table, tensor),
            lambda: table.update({tensor: object()}),
            lambda: table.update({tensor: was}),
        ),
        "item that is gone": (
            lambda s: s.item(table, tensor),
            table.clear,
            lambda: table.update({tensor: was}),
        ),
        "entry": (
            lambda s: s.all_of(entries),
            lambda: entries.__setitem__(1, object()),
            lambda: entries.__setitem__(1, 1),
        ),
        "length": (
            lambda s: s.all_of(entries),
            lambda: entries.append(2),
            entries.pop,
        ),
        "cell": (
            lambda s: s.cells.append((cell, content)),
            lambda: setattr(cell, "cell_contents", object()),
            lambda: setattr(cell, "cell_contents", content),
        ),
    }


class Settings:
    VALUE = object()

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.value = self.VALUE


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("what", _places())
def test_a_place_that_is_watched(what: str, native: bool) -> None:
    watch, change, undo = _places()[what]
    places = Sameness()
    watch(places)
    same = places.natively() if native else places.by_python()
    assert same() is True
    change()
    assert same() is False
    undo()
    assert same() is True


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_a_step_after_the_recording_was_given_up(dtype: str) -> None:
    """It is done as ever, rounded where PyTorch rounds."""

    def make() -> Any:
        params = parameters(torch, dtype)
        optimizer = torch.optim.AdamW(params, lr=0.1)

        def step() -> Any:
            optimizer.zero_grad()
            loss = sum((p.abs() ** 2).sum() for p in params)
            torch.nonzero(params[0].detach().abs())  # which cannot be recorded
            loss.backward()
            optimizer.step()

        return step, lambda: [params, [p.grad for p in params], optimizer.state_dict()["state"]]

    with pytest.warns(UserWarning, match="is not compiled"):
        lockstep(make, 5, fallback=True)


def test_addresses_of_arguments() -> None:
    """As the program reads them: those of the arrays, less what lies before; too few are an error."""
    from tautograd._compile.native.placing import placing

    table = np.zeros(5, np.uintp)
    place = placing(table, [(0, 3), (2, 1)], [0, 0, 24])
    assert place is not None
    arrays = [np.ones(4), np.ones(3), np.ones((6, 6))[2:].T]
    assert place(arrays) is True
    starts = [array.__array_interface__["data"][0] for array in arrays]
    assert table.tolist() == [0, starts[2] - 24, 0, starts[0], 0]
    with pytest.raises(IndexError):
        place(arrays[:2])
