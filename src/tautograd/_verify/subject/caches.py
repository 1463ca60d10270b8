"""Finds cached values, which are used instead of being computed, by clearing the places that hold them.

A place is a cache if the program has code that fills it, did not run that code, and runs it when the
place is empty. If the result is then unchanged, the cached value is that of these very inputs: the
program is equivalent to the one without the cache, and so is its gradient. If the result differs, the
old value may be intended (a scale fitted to the first data, the weights that training began with), and
is left alone.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .places import Attribute, Container, Memo, Variable, written_names
from .subject import Subject

_STORES = {
    dis.opmap[name] for name in ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR")
}
_REGISTRIES = "_parameters", "_buffers"  # of a module: declared, so not a cache
_MOST = 8  # at most this many caches are tried
_LARGEST = 1 << 22  # numbers: above this, a run is too expensive


def empty_caches(subject: Subject, here: Any, elsewhere: Callable[[], Any]) -> list[str]:
    """Clear the caches that hold what would be computed at these inputs and ignore changed ones; their
    names.

    `here` is the current result; `elsewhere` computes it at other inputs.
    """
    if subject.numbers > _LARGEST:
        return []
    found = []
    for name, place in list(_candidates(subject))[:_MOST]:
        before = subject.held()
        after = _emptied(place, subject.values)
        stale = False
        if after is not None and np.array_equal(after, here, equal_nan=True):
            before.restore()
            kept = elsewhere()
            anew = _emptied(place, elsewhere)
            stale = kept is not None and anew is not None and not np.array_equal(kept, anew)
        before.restore()
        if isinstance(place, Memo):
            place.empty()  # of what other inputs filled it with
        if stale:
            found.append(name)
            subject.held_at_first.starts_without(place)
    return found


def _emptied(place: Any, run: Callable[[], Any]) -> Any:
    """The result of a run with the place empty, if it fills the place; else None."""
    place.empty()
    try:
        values = run()
    except Exception:  # it cannot run without the value
        return None
    return None if place.is_empty() else values


def _candidates(subject: Subject) -> Iterator[tuple[str, Any]]:
    """Places holding values that the program's code would fill, and that a run leaves unchanged."""
    held = subject.held_at_first
    written: set[str] | None = None
    memos = [place for place in held.places if isinstance(place, Memo) and place.may_be_a_cache()]
    for memo in memos:
        yield getattr(memo.function, "__name__", "functools.cache"), memo
    if not any(_stores(code) for code in held.codes()):
        return
    for place in held.places:
        if not isinstance(place, (Variable, Container)) or place.moved():
            continue
        if written is None:
            written = {name for code in held.codes() for name in written_names(code)}
        if isinstance(place, Variable):
            if place.label in written and place.may_be_a_cache():
                yield place.label, place
        elif place.owned:
            for name in place.held.keys() & written:
                attribute = Attribute(place.held, name)
                if attribute.may_be_a_cache():
                    yield name, attribute
        elif "[]" in written and place.label not in _REGISTRIES and place.may_be_a_cache():
            yield place.label, place


def _stores(code: types.CodeType) -> bool:
    """A cheap test for whether a function's code may write to anything."""
    return bool(_STORES & set(code.co_code[::2])) or "append" in code.co_names
