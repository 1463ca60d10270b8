"""The living objects of a class, found without holding any others.

`gc.get_objects()` would give every object there is, with it tuples that another thread has not finished:
Python cannot finish one that somebody else holds, and that thread would fail. An object refers to its
class, so those who refer to the class are asked instead.
"""

from __future__ import annotations

import gc
from typing import Any


def instances_of(kind: type) -> list[Any]:
    """All objects of a class and of its subclasses that the collector knows."""
    kinds = {kind}
    waiting = [kind]
    while waiting:
        new: set[type] = set(type.__subclasses__(waiting.pop())) - kinds
        kinds |= new
        waiting += new
    return [thing for thing in gc.get_referrers(*kinds) if type(thing) in kinds]
