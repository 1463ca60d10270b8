"""Whether places hold what they held: by machine code that skips a dictionary or a class in which nothing changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tautograd._compile.guards.identity import Sameness
from tautograd._compile.native import why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason="no machine code here")


class _Kind:
    first = second = "one"

    def method(self) -> None: ...


def _watched(names: dict[Any, Any], things: list[Any], kind: Any, function: Any) -> Sameness:
    places = Sameness()
    places.item(names, *names)
    places.all_of(things)
    places.lengths.append((names, len(names)))
    places.attribute("first", [kind])
    places.attribute("method", [kind])
    for name in ("__code__", "__defaults__", "__kwdefaults__"):
        places.attribute(name, [function])
    return places


def _changes() -> dict[str, Callable[..., Any]]:
    other = object()

    def code(names: Any, things: Any, kind: Any, function: Any) -> None:
        function.__code__ = (lambda x: -x).__code__

    return {
        "an item": lambda n, t, k, f: n.__setitem__("b", other),
        "an item of another kind": lambda n, t, k, f: n.__setitem__(7, other),
        "an item less": lambda n, t, k, f: n.pop("c"),
        "an item more": lambda n, t, k, f: n.__setitem__("d", 1),
        "all items": lambda n, t, k, f: n.clear(),
        "an entry": lambda n, t, k, f: t.__setitem__(1, other),
        "an entry more": lambda n, t, k, f: t.append(other),
        "of a class": lambda n, t, k, f: setattr(k, "first", other),
        "of a class's base": lambda n, t, k, f: setattr(k.__mro__[1], "method", other),
        "code": code,
        "defaults": lambda n, t, k, f: setattr(f, "__defaults__", (3,)),
        "named defaults": lambda n, t, k, f: setattr(f, "__kwdefaults__", {"y": 3}),
    }


def _world() -> tuple[Any, ...]:
    base: Any = type("Base", (_Kind,), {"method": lambda self: None})
    kind = type("Kind", (base,), {"first": object()})
    names = {"a": object(), "b": 1000, "c": None, 7: "seven"}
    return names, [object(), 2000], kind, lambda x, *, y=1: x


@pytest.mark.parametrize("looked", [0, 1, 3])
@pytest.mark.parametrize("change", list(_changes()))
def test_each_change_is_seen(change: str, looked: int) -> None:
    world = _world()
    places = _watched(*world)
    natively, by_python = places.natively(), places.by_python()
    for _ in range(looked):
        assert natively()
        assert by_python()
    _changes()[change](*world)
    for _ in range(3):  # and it stays seen
        assert not natively()
        assert not by_python()


@pytest.mark.parametrize("looked", [0, 1, 3])
def test_what_is_put_back_is_as_it_was(looked: int) -> None:
    names, _, kind, function = world = _world()
    same = _watched(*world).natively()
    for _ in range(looked):
        assert same()
    for _ in range(3):
        held = names["a"]
        names["a"] = 3
        assert not same()
        names["a"] = held
        assert same()
        own = kind.first
        kind.first = 3
        assert not same()
        kind.first = own
        assert same()
        kind.third = function  # of no concern
        assert same()


def test_a_class_that_has_no_version_is_looked_at_each_time() -> None:
    """One that changed has none until somebody asks it for an attribute, and may get none at all."""
    world = _world()
    kind = world[2]
    same = _watched(*world).natively()
    own, other = kind.first, object()
    for i in range(5000):
        kind.first = other
        assert not same(), i
        kind.first = own
        assert same(), i
        if i % 1000 == 0:
            sys._clear_type_cache()
            assert same()
