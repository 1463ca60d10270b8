"""Lists, dictionaries, tuples and dataclasses that go in: what comes back is the same object, and a change of one is
refused or done, never lost."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import tautograd as torch
from tautograd._compile.messages.errors import CompileError

from .compare import assert_same, bits

OUTSIDE = [torch.ones(2), {"scale": 3.0}]
PAIR = (torch.ones(2), 2)
Two = namedtuple("Two", "left right")


@dataclass
class Batch:
    x: Any
    more: Any


def made_twice(values: Any) -> Any:
    made = [values[0] * 2]
    return made, {"made": made}, values


def tensor() -> Any:
    return torch.arange(3.0)


RETURNED: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
    "list": (lambda v: v, lambda i: [tensor()]),
    "dictionary": (lambda v: (v, v["a"] * 2), lambda i: {"a": tensor()}),
    "tuple": (lambda v: (v, v[0] * 2), lambda i: (tensor(),)),
    "named tuple": (lambda v: [v, v.left * 2], lambda i: Two(tensor(), [1])),
    "dataclass": (lambda v: {"b": v, "y": v.x * 2}, lambda i: Batch(tensor(), [tensor()])),
    "inside others": (
        lambda v: (v["a"][0], v["b"].more),
        lambda i: {"a": [[tensor()]], "b": Batch(1, (2, []))},
    ),
    "made inside": (made_twice, lambda i: [tensor()]),
    "copied inside": (lambda v: (list(v), v), lambda i: [tensor()]),
    "with numbers": (lambda v: (v, v[0] * v[1]), lambda i: [tensor(), i / 4]),
    "tuple with numbers": (lambda v: (v, v[0] * v[1]), lambda i: (tensor(), i / 4)),
    "from outside": (lambda v: (OUTSIDE, OUTSIDE[1], PAIR, v[0] * 2), lambda i: [tensor()]),
    "with a history": (lambda v: (v, v[0] * 2), lambda i: [tensor().requires_grad_() * 2]),
    "one of two": (
        lambda v: (v["a"], v["b"][0] * 2),
        lambda i: {"a": [tensor()], "b": [tensor()]},
    ),
}


def shown(value: Any, known: dict[int, Any], path: Any = "result") -> Any:
    """A nest in which an object that was met before is the place where it was met."""
    held = isinstance(value, (list, tuple, dict, Batch, torch.Tensor)) and value != ()
    if held and id(value) in known:
        return known[id(value)][0]
    if held:
        known[id(value)] = path, value  # which stays alive
    if isinstance(value, Batch):
        return shown([value.x, value.more], known, f"{path}:batch")
    if isinstance(value, dict):
        return {k: shown(v, known, f"{path}[{k}]") for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        name = type(value).__name__
        return [name, *(shown(v, known, f"{path}[{i}]") for i, v in enumerate(value))]
    return bits(value)


def outcome(fn: Any, value: Any) -> Any:
    known: dict[int, Any] = {}
    shown([value, OUTSIDE, PAIR], known, "given")
    result = fn(value)
    return [shown(result, known), shown(value, {})]


@pytest.mark.parametrize("name", RETURNED)
def test_what_comes_back_is_the_same_object(name: str) -> None:
    fn, make = RETURNED[name]
    compiled = torch.compile(fn, backend="numpy")
    for i in range(6):
        assert_same(outcome(compiled, make(i)), outcome(fn, make(i)), where=f"call {i}")
    assert compiled.records


def test_one_list_twice_is_not_two_lists() -> None:
    def fn(a: Any, b: Any) -> Any:
        return (a[0] * 2 if a is b else a[0] * 3), b

    compiled = torch.compile(fn, backend="numpy")
    for _ in range(4):
        one, other = [tensor(), 1.0], [tensor(), 1.0]
        for args in ((one, one), (one, other), (one, [one[0], 1.0])):
            found, expected = compiled(*args), fn(*args)
            assert_same(bits(found[0]), bits(expected[0]))
            assert found[1] is expected[1]


def appended(v: Any) -> Any:
    v.append(v[0] * 2)
    return v[0] + 1


def set_and_returned(v: Any) -> Any:
    v[0] = v[0] * 2
    return v, v[0] + 1


def taken(v: Any) -> Any:
    return v.pop() * 2


def deep(v: Any) -> Any:
    v[1][0][0][0][0][0].append(1)
    return v[0] * 2


def counted(v: Any) -> Any:
    v[1]["n"] += 1
    return v[0] * v[1]["n"]


def moved(v: Any) -> Any:
    v[1]["again"] = [v[1]["kept"]]
    v[1]["first"] = v[0]
    return v[0] * 2


CHANGED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "appended": (appended, lambda x: [x]),
    "set and returned": (set_and_returned, lambda x: [x]),
    "taken": (taken, lambda x: [1, x]),
    "deep": (deep, lambda x: [x, [[[[[[]]]]]]]),
    "counted": (counted, lambda x: [x, {"n": 1}]),
    "moved": (moved, lambda x: [x, {"kept": []}]),
}


def argument(history: bool) -> Any:
    return tensor().requires_grad_() * 2 if history else tensor()


@pytest.mark.parametrize("history", [False, True], ids=["leaf", "history"])
@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_an_error_and_done(name: str, history: bool) -> None:
    fn, make = CHANGED[name]
    compiled = torch.compile(fn, backend="numpy")
    compiled(make(argument(history)))
    for _ in range(3):
        value, expected = make(argument(history)), make(argument(history))
        fn(expected)
        with pytest.raises(CompileError, match="a change of a list") as found:
            compiled(value)
        assert f"in {fn.__name__}" in str(found.value)
        assert_same(shown(value, {}), shown(expected, {}))


@pytest.mark.parametrize("history", [False, True], ids=["leaf", "history"])
@pytest.mark.parametrize("name", CHANGED)
def test_with_fallback_a_change_is_made_at_every_call(name: str, history: bool) -> None:
    fn, make = CHANGED[name]
    compiled = torch.compile(fn, backend="numpy", fallback=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(4):
            found = outcome(compiled, make(argument(history)))
            assert_same(found, outcome(fn, make(argument(history))), where=f"call {i}")


def test_what_was_changed_before_an_error_is_changed() -> None:
    """Also in the call that is recorded, where other tensors stand for those with a history."""

    def fn(v: Any) -> Any:
        v.append(v[0])
        raise KeyError("no")

    compiled = torch.compile(fn, backend="numpy")
    for _ in range(3):
        x = argument(True)
        value = [x]
        with pytest.raises(KeyError):
            compiled(value)
        assert len(value) == 2
        assert value[0] is x
        assert value[1] is x
