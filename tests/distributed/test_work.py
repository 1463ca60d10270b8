"""Work under way: who moves it on."""

from __future__ import annotations

from types import SimpleNamespace

from tautograd.distributed._work import _moved_on


def test_the_thread_leaves_alone_what_somebody_waits_for():
    """Two that look at one work take turns on a core, which other ranks may need."""
    looked = []

    def work(name, **state):
        def look():
            looked.append(name)
            return name == "arrived"

        return SimpleNamespace(_poll=look, **state)

    arrived = work("arrived", _done=False, _is_awaited=False)
    late = work("late", _done=False, _is_awaited=False)
    awaited = work("awaited", _done=False, _is_awaited=True)
    over = work("over", _done=True, _is_awaited=True)
    assert _moved_on([arrived, late, awaited, over]) == {id(arrived), id(over)}
    assert looked == ["arrived", "late"]
