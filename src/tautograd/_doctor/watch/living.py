"""The living objects of a class, found without holding any others.

`gc.get_objects()` would give every object there is, with it tuples that another thread has not finished:
Python cannot finish one that somebody else holds, and that thread would fail. An object refers to its
class, so those who refer to the class are asked instead.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any


def instances_of(*kinds: type) -> list[Any]:
    """All objects of these classes and of their subclasses that the collector knows."""
    return _those_of(_with_subclasses(kinds))


def living_optimizers(engines: Iterable[Any]) -> list[Any]:
    """All optimizers of these engines.

    The collector goes through everything there is for them, so only for classes that have been used.
    """
    kinds = _with_subclasses(engine.optim.Optimizer for engine in engines)
    return _those_of({kind for kind in kinds if _may_have_instances(kind)})


def _may_have_instances(kind: Any) -> bool:
    """Whether an optimizer of this class may have been made or loaded."""
    made = getattr(kind, "_any_made", None)  # tautograd notes it
    return (
        getattr(kind.step, "hooked", False) if made is None else made
    )  # PyTorch wraps `step` then


def _with_subclasses(kinds: Iterable[type]) -> set[type]:
    waiting = list(kinds)
    found = set(waiting)
    while waiting:
        new: set[type] = set(type.__subclasses__(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def _those_of(kinds: set[type]) -> list[Any]:
    return [thing for thing in gc.get_referrers(*kinds) if type(thing) in kinds] if kinds else []
