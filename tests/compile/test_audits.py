"""Audits: what no guard covers is found by running the function again, to the bit and with its line."""

from __future__ import annotations

import array
import collections
import copy
import ctypes
import os
import types
import weakref
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import tautograd as torch
import tautograd.nn.functional as F
from tautograd._compile.api import AuditError
from tautograd._compile.program import memory
from tautograd._compile.program.ir import Call, Map, Number, Product, Reduce, View
from tautograd._compile.run.audit import difference
from tautograd._compile.run.audit_schedule import FIRST
from tautograd._compile.run.compiled import Compiled
from tautograd._compile.run.entry import Entry
from tautograd._compile.run.recording import MISSES
from tautograd._compile.sound.runs import Followed

Change = Callable[[], Any]


def _user_dict() -> tuple[Callable[[], float], Change]:
    held = collections.UserDict(k=2.0)
    return lambda: held["k"], lambda: held.update(k=5.0)


def _chain_map() -> tuple[Callable[[], float], Change]:
    held = collections.ChainMap({}, {"k": 2.0})
    return lambda: held["k"], lambda: held.update(k=5.0)


def _proxy() -> tuple[Callable[[], float], Change]:
    inner = {"k": 2.0}
    held = types.MappingProxyType(inner)
    return lambda: held["k"], lambda: inner.update(k=5.0)


def _array() -> tuple[Callable[[], float], Change]:
    held = array.array("d", [2.0])
    return lambda: held[0], lambda: held.__setitem__(0, 5.0)


def _ctypes() -> tuple[Callable[[], float], Change]:
    held = ctypes.c_double(2.0)
    return lambda: held.value, lambda: setattr(held, "value", 5.0)


def _weak() -> tuple[Callable[[], float], Change]:
    class Key:
        pass

    key = Key()
    held = weakref.WeakKeyDictionary({key: 2.0})
    return lambda: held[key], lambda: held.update({key: 5.0})


def _environment() -> tuple[Callable[[], float], Change]:
    os.environ["TAUT_TEST_VALUE"] = "2"
    return (
        lambda: float(os.environ["TAUT_TEST_VALUE"]),
        lambda: os.environ.update(TAUT_TEST_VALUE="5"),
    )


def _memory() -> tuple[Callable[[], float], Change]:
    held = memoryview(bytearray(b"\x02"))
    return lambda: float(held[0]), lambda: held.__setitem__(0, 5)


def _descriptor() -> tuple[Callable[[], float], Change]:
    values = array.array("d", [2.0])

    class Value:
        def __get__(self, instance: Any, owner: Any) -> float:
            return values[0]

    held = type("Held", (), {"v": Value()})()
    return lambda: held.v, lambda: values.__setitem__(0, 5.0)


READS = [_user_dict, _chain_map, _proxy, _array, _ctypes, _weak, _environment, _memory, _descriptor]


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("made", READS, ids=lambda made: made.__name__)
def test_what_no_guard_covers_is_never_stale_under_audits(made: Any, backend: str) -> None:
    read, change = made()

    def fn(x: Any) -> Any:
        return (x * read()).sum()

    compiled = torch.compile(fn, audit="always", backend=backend)
    x = torch.ones(3)
    assert [compiled(x).item() for _ in range(4)] == [6.0] * 4
    change()
    error = _audit_error(lambda: compiled(x))
    if error:  # else a guard has seen it
        assert "read()" in error  # the line
        assert "2.0" in error
        assert "5.0" in error
    assert compiled(x).item() == 15.0


def _audit_error(call: Callable[[], Any]) -> str:
    try:
        call()
    except AuditError as error:
        return str(error)
    return ""


def test_the_third_replay_is_audited_and_then_ever_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if nobody had looked at what guards cannot see: else its Python would run at each call.
    monkeypatch.setattr(Compiled, "_runs_python", lambda *_: True)
    held = array.array("d", [2.0])
    compiled = torch.compile(lambda x: x * held[0], audit="auto")
    x = torch.ones(4)
    for _ in range(2 + FIRST - 1):  # as written, recorded, and replayed
        compiled(x)
    held[0] = 5.0
    with pytest.raises(AuditError):
        compiled(x)
    assert compiled(x).tolist() == [5.0] * 4

    steady = torch.compile(lambda x: x * 2, audit="auto")
    for _ in range(200):
        steady(x)
    assert 1 <= steady.explain().to_dict()["audits"] <= 4
    assert "audited" in str(steady.explain())


def _large(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """A step whose Python could run at each call, and is skipped because that would take too long."""
    monkeypatch.setattr(Compiled, "_runs_python", lambda *_: True)
    monkeypatch.setattr(Followed, "was_cheap", False)
    monkeypatch.setattr(Followed, "is_cheap", True)
    held = array.array("d", [2.0])
    w = torch.ones(20_000, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        loss = (w * x * held[0]).sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, audit="auto")
    monkeypatch.setattr(compiled, "_by_python", _Nothing())
    x = torch.ones(20_000)
    for _ in range(2 + MISSES + 1):
        compiled(x)
    entry = compiled._last
    assert entry.followed_calls is None
    assert entry.calls_noted is not None
    return compiled, held, (x, w, entry)


class _Nothing(set[Any]):
    """What guards cannot see is seen by nobody."""

    def __contains__(self, key: object) -> bool:
        return False


def test_a_large_step_is_audited_without_computing_anything_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled, held, (x, w, entry) = _large(monkeypatch)

    def recorded(*args: Any) -> Any:
        raise AssertionError("it is recorded anew")

    monkeypatch.setattr(Entry, "recorded", recorded)
    audits = entry.audits.audits
    entry.audits.audit_next(0)
    assert compiled(x).item() == 40_000
    assert entry.audits.audits > audits
    assert w.grad[0] == 2
    held[0] = 5.0
    entry.audits.audit_next(0)
    with pytest.raises(AuditError, match="`mul`") as found:
        compiled(x)
    assert "test_audits.py" in str(found.value)
    assert w.grad[0] == 5  # the function has run
    assert not compiled._alive()


@pytest.mark.parametrize("changes", [False, True])
def test_where_python_cannot_be_followed_the_next_call_is_recorded_anew(
    monkeypatch: pytest.MonkeyPatch, changes: bool
) -> None:
    compiled, held, (x, w, entry) = _large(monkeypatch)
    forced = []

    def finish(self: Any, run: Any, *_: Any) -> None:
        forced.append(run)
        run.force("a tensor is kept after the call")

    monkeypatch.setattr(Followed, "_finish", finish)
    entry.audits.audit_next(0)
    assert compiled(x).item() == 40_000
    assert w.grad[0] == 2
    assert len(forced) == 1
    assert compiled._alive() == [entry]
    assert entry.calls_noted is None
    if changes:
        held[0] = 5.0
        with pytest.raises(AuditError, match="was recorded"):
            compiled(x)
        assert w.grad[0] == 5
    else:
        audits = entry.audits.audits
        assert compiled(x).item() == 40_000
        assert entry.audits.audits == audits + 1


def test_while_the_function_runs_a_program_needs_no_memory_and_finds_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "WORTH_EMPTYING", 0)
    torch.manual_seed(0)
    a, x = torch.randn(64, 64), torch.randn(64, 64)
    fn = lambda x: torch.softmax(x @ a, -1) @ a  # noqa: E731
    compiled = torch.compile(fn, audit="never")
    for _ in range(3):
        compiled(x)
    entry = compiled._last
    assert entry.replay_of.memory.scratch_bytes >= 64 * 64 * 4
    assert entry.make_room()
    assert torch.allclose(compiled(x), fn(x), rtol=1e-4, atol=1e-5)


def _training(audit: str | None, steps: int = 8, **options: Any) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.Dropout(0.3), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, **options)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        return loss

    run = step if audit is None else torch.compile(step, audit=audit, backend="numpy")
    found = []
    for i in range(steps):
        torch.manual_seed(100 + i)
        found.append(run(torch.randn(5, 6), torch.randint(0, 3, (5,))).detach().numpy().tobytes())
    found += [p.detach().numpy().tobytes() for p in model.parameters()]
    found += [p.grad.numpy().tobytes() for p in model.parameters()]
    found += [torch.randn(3).numpy().tobytes(), optimizer.param_groups[0]["lr"]]
    return found


@pytest.mark.parametrize("audit", ["always", "auto"])
def test_an_audited_training_is_the_same_to_the_bit(audit: str) -> None:
    assert _training(audit) == _training(None)


def test_gradients_that_are_added_to_stay_where_they_are() -> None:
    weight = torch.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        loss = (weight * x).sum()
        loss.backward()
        return loss.detach()

    compiled = torch.compile(step, audit="always")
    for i in range(1, 8):
        compiled(torch.ones(3))
        assert weight.grad.tolist() == [float(i)] * 3


def test_after_a_difference_parameters_and_states_are_those_of_the_function() -> None:
    held = array.array("d", [1.0])

    def trained(compiles: bool) -> list[float]:
        held[0] = 1.0
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (weight * x * held[0]).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step, audit="always") if compiles else step
        for i in range(8):
            if i == 5:
                held[0] = 3.0
            if i == 5 and compiles:
                with pytest.raises(AuditError):
                    run(torch.ones(2))
            else:
                run(torch.ones(2))
        return weight.detach().tolist()

    assert trained(True) == trained(False)


def test_the_functions_own_error_comes_out_of_an_audit() -> None:
    held = array.array("d", [1.0])

    def fn(x: Any) -> Any:
        if held[0] > 2:
            raise ValueError("the function's own")
        return x * 2

    compiled = torch.compile(fn, audit="always")
    for _ in range(4):
        compiled(torch.ones(2))
    held[0] = 3.0
    with pytest.raises(ValueError, match="the function's own"):
        compiled(torch.ones(2))


def test_a_wrong_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="argument 'audit' must be"):
        torch.compile(lambda x: x, audit="sometimes")


def test_the_environment_says_what_is_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUT_AUDIT", "always")
    compiled = torch.compile(lambda x: x + 1)
    assert copy.deepcopy(compiled)._audit == "always"
    with pytest.raises(ValueError, match="audit"):
        monkeypatch.setenv("TAUT_AUDIT", "perhaps")
        torch.compile(lambda x: x + 1)


# --- faults planted in records ----------------------------------------------------------------------


def _mutations(instruction: Any) -> list[Any]:
    """Other instructions than this one, each wrong in one place."""
    found = []
    if isinstance(instruction, Map):
        inputs = instruction.inputs
        for i, x in enumerate(inputs):
            if isinstance(x, Number):
                value = type(x.value)(x.value + 1)
                found.append(
                    replace(instruction, inputs=(*inputs[:i], Number(value), *inputs[i + 1 :]))
                )
        others = {"add": "subtract", "multiply": "divide", "subtract": "add", "maximum": "minimum"}
        if instruction.function in others:
            found.append(replace(instruction, function=others[instruction.function]))
        if len(inputs) == 2:
            found.append(replace(instruction, inputs=inputs[::-1]))
    if isinstance(instruction, Reduce):
        found.append(
            replace(instruction, function="maximum" if instruction.function == "add" else "add")
        )
    if isinstance(instruction, Product):
        found.append(replace(instruction, left=instruction.right, right=instruction.left))
    for field in fields(instruction):
        value = getattr(instruction, field.name)
        if isinstance(value, View):
            moved = replace(value, offset=value.offset + value.dtype.itemsize)
            found.append(replace(instruction, **{field.name: moved}))
    if isinstance(instruction, Call):
        found.append(replace(instruction, function=partial(instruction.function)))
    return [wrong for wrong in found if wrong != instruction]


def test_every_fault_planted_in_a_record_is_found() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x * 0.5 + 1), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = torch.randn(3, 4), torch.randint(0, 2, (3,))
    compiled = torch.compile(step, audit="never", backend="numpy")
    for _ in range(3):
        compiled(x, y)
    entry = compiled._last
    other = torch.compile(step, audit="never", backend="numpy")
    for _ in range(2):
        other(x, y)
    now = other._last
    assert difference(entry, now) is None
    program = entry.program
    planted = 0
    for i, instruction in enumerate(list(program.instructions)):
        for wrong in _mutations(instruction):
            program.instructions[i] = wrong
            assert difference(entry, now) is not None, (instruction, wrong)
            planted += 1
        program.instructions[i] = instruction
        kept = program.instructions.pop(i)
        assert difference(entry, now) is not None
        program.instructions.insert(i, kept)
        planted += 1
    for buffer in program.buffers:
        if buffer.kind.value == "constant" and buffer.array.size:
            before, buffer.array = buffer.array, np.zeros_like(buffer.array)
            if before.tobytes() != buffer.array.tobytes():
                assert difference(entry, now) is not None
                planted += 1
            buffer.array = before
    assert difference(entry, now) is None
    assert planted > 100


def _filled(x: Any) -> Any:
    return torch.empty(3).fill_(2) + x


def _copied(x: Any) -> Any:
    out = torch.empty(3)
    out.copy_(x)
    return out


def _scattered(x: Any) -> Any:
    return torch.empty(3).fill_(2).scatter_(0, torch.tensor([1]), x[:1])


def _written_in_parts(x: Any) -> Any:
    out = x.new_empty(5)
    out[:3], out[3:] = x, 0
    return out


def _strided(x: Any) -> Any:
    return torch.empty_strided((3,), (2,)).copy_(x)


@pytest.mark.parametrize("function", [_filled, _copied, _scattered, _written_in_parts, _strided])
@pytest.mark.parametrize("sound", [None, True, False])
def test_memory_that_is_not_set_is_the_same_whenever_it_is_recorded(
    function: Any, sound: bool | None
) -> None:
    compiled = torch.compile(function, audit="always", dynamic=False, sound=sound)
    for _ in range(6):
        held = [torch.randn(3) for _ in range(3)]  # so that memory is never the same
        x = torch.randn(3)
        assert torch.equal(compiled(x), function(x)), held


def test_arguments_that_share_memory_are_replayed_and_not_audited() -> None:
    compiled = torch.compile(lambda x, y: x * 2 + y, audit="always", dynamic=False)
    for _ in range(4):
        compiled(torch.randn(3), torch.randn(3))
    for _ in range(4):
        whole = torch.randn(5)
        x, y = whole[:3], whole[2:]
        assert torch.allclose(compiled(x, y), x * 2 + y)


def test_an_operand_that_one_kernel_lays_out_for_two_products() -> None:
    """What the second multiplies it by is made after that, in memory that is written twice."""
    torch.manual_seed(0)
    layer = torch.nn.Conv1d(8, 16, 5, stride=2, padding=2)
    x = torch.randn(16, 8, 128, requires_grad=True)

    def step() -> Any:
        layer.zero_grad()
        x.grad = None
        loss = layer(x).sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, dynamic=False, audit="always")
    for _ in range(4):
        compiled()
    assert compiled._last.audits.compared == "yes"
