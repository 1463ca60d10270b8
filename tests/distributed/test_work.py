"""Work under way: who moves it on."""

from __future__ import annotations

import time
from types import SimpleNamespace

from tautograd.distributed import _work
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


class Looked:
    """Work whose looks are counted."""

    def __init__(self):
        self._done, self._is_awaited, self._is_looked_after, self.looks = False, False, False, 0

    def _poll(self):
        self.looks += 1
        return self._done


def test_nobody_looks_after_what_somebody_waits_for():
    """The thread sleeps meanwhile: with more ranks than cores, its core is another rank's. Afterwards it goes on."""
    progress, work = _work._Progress(), Looked()
    progress.look_after(work)
    until(lambda: work.looks > 2)
    progress.is_awaited(work, True)
    until(lambda: not progress._wake.is_set())
    before = work.looks
    time.sleep(0.05)
    assert work.looks == before
    progress.is_awaited(work, False)  # given up: it is looked after again
    until(lambda: work.looks > before + 2)
    progress.is_awaited(work, True)
    work._done = True
    progress.is_awaited(work, False)
    assert progress._works == []  # nor kept


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(1e-3)
