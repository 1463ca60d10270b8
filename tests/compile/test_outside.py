"""What a function reaches from outside by other ways than a plain name: the plain answer, or an error."""

from __future__ import annotations

import argparse
import contextvars
import functools
import operator
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn, optim

from .compare import assert_same, bits

Change = Callable[[], Any]
LATER: dict[str, Any] = globals()


class Settings:
    """An object with attributes."""

    inherited = 2.0

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @property
    def squared(self) -> float:
        return float(self.value) ** 2


class Slots:
    __slots__ = ("value",)


class ByName:
    """An object that finds its attributes itself."""

    def __init__(self) -> None:
        self._values = {"value": 2.0}

    def __getattr__(self, name: str) -> Any:
        return self._values[name]


class Scaled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * SETTINGS.value


class ScaledFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * SETTINGS.value

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


SETTINGS = Settings(value=2.0)
VARIABLE: contextvars.ContextVar[float] = contextvars.ContextVar("VARIABLE", default=2.0)


def value_of(settings: Any) -> float:
    return float(settings.value)


def attribute_of(holder: Any, name: str) -> Any:
    return getattr(holder, name)


def of_object(make: Callable[[], Any], read: Callable[[Any], Any]) -> Any:
    """A function that reads an object's `value`, and how that changes."""

    def row() -> tuple[Any, Change]:
        found = make()
        found.value = 2.0
        return lambda x: x * read(found), lambda: setattr(found, "value", 5.0)

    return row


def nested() -> tuple[Any, Change]:
    outer = Settings(a=Settings(b=SimpleNamespace(c=Settings(d=Settings(value=2.0)))))
    change = functools.partial(setattr, outer.a.b.c.d, "value", 5.0)
    return lambda x: x * outer.a.b.c.d.value, change


def helpers() -> tuple[Any, Change]:
    def first(x: Any) -> Any:
        return x * SETTINGS.value

    functions = [first]
    for _ in range(8):
        functions.append(functools.partial(lambda f, x: f(x) + 1, functions[-1]))  # type: ignore[arg-type]
    return functions[-1], of_settings


def of_settings() -> None:
    SETTINGS.value += 1.0


def by_inheritance() -> tuple[Any, Change]:
    found = Settings()
    return lambda x: x * found.inherited, lambda: setattr(found, "inherited", 5.0)


def by_weak_reference() -> tuple[Any, Change]:
    reference = weakref.ref(SETTINGS)
    return lambda x: x * reference().value, of_settings  # type: ignore[union-attr]


def by_own_getattr() -> tuple[Any, Change]:
    found = ByName()
    return lambda x: x * found.value, lambda: found._values.update(value=5.0)


def by_attrgetter() -> tuple[Any, Change]:
    get = operator.attrgetter("value")
    return lambda x: x * get(SETTINGS), of_settings


def by_default_value() -> tuple[Any, Change]:
    scale = [2.0]

    def scaled(x: Any, by: Any = scale) -> Any:
        return x * by[0]

    return scaled, lambda: scale.__setitem__(0, 5.0)


def by_attribute_of_a_function() -> tuple[Any, Change]:
    def scaled(x: Any) -> Any:
        return x * scaled.by  # type: ignore[attr-defined]

    scaled.by = 2.0  # type: ignore[attr-defined]
    return scaled, lambda: setattr(scaled, "by", 5.0)


def by_attribute_of_a_tensor() -> tuple[Any, Change]:
    weight = torch.ones(3)
    weight.scale = 2.0
    return lambda x: x * weight * weight.scale, lambda: setattr(weight, "scale", 5.0)


def by_a_name_that_comes_later() -> tuple[Any, Change]:
    LATER.pop("COMES_LATER", None)

    def run(x: Any) -> Any:
        try:
            return x * COMES_LATER  # type: ignore[name-defined]
        except NameError:
            return x

    return run, lambda: LATER.__setitem__("COMES_LATER", 5.0)


def by_hasattr() -> tuple[Any, Change]:
    found = Settings()
    return lambda x: x * 2 if hasattr(found, "more") else x, lambda: setattr(found, "more", 1)


def by_environment() -> tuple[Any, Change]:
    os.environ["TAUT_TEST_SCALE"] = "2"
    change = functools.partial(os.environ.__setitem__, "TAUT_TEST_SCALE", "5")
    return lambda x: x * float(os.environ["TAUT_TEST_SCALE"]), change


def by_a_deque() -> tuple[Any, Change]:
    found = deque([2.0])
    return lambda x: x * found[0], lambda: found.__setitem__(0, 5.0)


def by_another_compiled_function() -> tuple[Any, Change]:
    inner = torch.compile(lambda x: x * SETTINGS.value, backend="numpy")
    return lambda x: inner(x) + 1, of_settings


def by_a_setting_of_an_optimizer() -> tuple[Any, Change]:
    optimizer = optim.SGD([torch.ones(3, requires_grad=True)], lr=0.1)
    group = optimizer.param_groups[0]
    return lambda x: x * optimizer.param_groups[0]["lr"], lambda: group.update(lr=group["lr"] / 2)


READ: dict[str, Callable[[], tuple[Any, Change]]] = {
    "a namespace": of_object(argparse.Namespace, lambda found: found.value),
    "slots": of_object(Slots, lambda found: found.value),
    "handed to a function": of_object(Settings, value_of),
    "a property": of_object(Settings, lambda found: found.squared),
    "getattr": of_object(Settings, lambda found: attribute_of(found, "value")),
    "vars": of_object(Settings, lambda found: vars(found)["value"]),
    "objects in objects": nested,
    "functions of functions": helpers,
    "a class's attribute": by_inheritance,
    "a weak reference": by_weak_reference,
    "__getattr__": by_own_getattr,
    "attrgetter": by_attrgetter,
    "a default value": by_default_value,
    "a function's attribute": by_attribute_of_a_function,
    "a tensor's attribute": by_attribute_of_a_tensor,
    "a name that comes later": by_a_name_that_comes_later,
    "hasattr": by_hasattr,
    "os.environ": by_environment,
    "a context variable": lambda: (lambda x: x * VARIABLE.get(), lambda: VARIABLE.set(5.0)),
    "a deque": by_a_deque,
    "another compiled function": by_another_compiled_function,
    "an optimizer's setting": by_a_setting_of_an_optimizer,
    "forward of a module inside": lambda: (nn.Sequential(Scaled()), of_settings),
    "forward of a class": lambda: (lambda x: ScaledFunction.apply(x) + 1, of_settings),
    "forward of a function's class": lambda: (ScaledFunction.apply, of_settings),
}


@pytest.fixture(autouse=True)
def settings_stay() -> Iterator[None]:
    before = SETTINGS.value
    yield
    SETTINGS.value = before
    VARIABLE.set(2.0)
    os.environ.pop("TAUT_TEST_SCALE", None)


@pytest.mark.parametrize("name", READ)
def test_what_is_read_from_outside_is_noticed_when_it_changes(name: str) -> None:
    fn, change = READ[name]()
    compiled = torch.compile(fn, backend="numpy")
    x = torch.arange(3.0)
    for call in range(8):
        assert_same(bits(compiled(x)), bits(fn(x)), where=f"call {call}")
        if call == 4:
            assert compiled.explain().to_dict()["replays"]
            change()
    assert compiled.records == 2 or compiled._by_python  # noticed by a guard, or read afresh


def test_objects_in_objects_among_the_arguments() -> None:
    settings = Settings(inner=Settings(value=2.0))
    compiled = torch.compile(lambda x, s: x * s.inner.value, backend="numpy")
    for call in range(8):
        expected = torch.ones(3) * settings.inner.value
        assert_same(bits(compiled(torch.ones(3), settings)), bits(expected), where=f"call {call}")
        settings.inner.value += call == 4
    assert compiled.records == 2


def test_a_rate_that_changes_at_each_call_stays_what_the_caller_made_it() -> None:
    optimizer = optim.SGD([torch.ones(3, requires_grad=True)], lr=0.5)
    compiled = torch.compile(lambda x: x * optimizer.param_groups[0]["lr"], backend="numpy")
    for call in range(12):
        rate = optimizer.param_groups[0]["lr"]
        assert compiled(torch.ones(3)).tolist() == [rate] * 3, call
        assert optimizer.param_groups[0]["lr"] == rate
        optimizer.param_groups[0]["lr"] = rate / 2
