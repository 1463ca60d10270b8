"""The records of a compiled function: which of them holds for a call, and how many are kept."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ..._user_code.sites import mark, warning_level
from ..guards.guards import GRADIENTS, Form
from ..messages.recompiles import Recompiles, difference
from ..record.arrays import is_on_gpu
from ..record.varying_numbers import Changing
from .entry import Entry
from .ledger import HORIZON, Ledger
from .sizes import Sizes

log = logging.getLogger("tautograd.compile")
log_again = logging.getLogger("tautograd.compile.recompiles")  # whose lines `log` shows, too
RECORDS = 16  # kept per function, whatever they take
# As many more are kept as have room: of a step over sequences, one for each length.
MOST, ROOM = 64, 256 << 20  # records; bytes of all of them
VARIANTS = 4  # of records of one form of arguments, as with and without gradients left over
BRANCHES = 12  # the same where numbers decide between them
FORMS = 256  # of arguments that are remembered as seen
BRANCH = "a number decides otherwise"
OFTEN = 16  # how often a form has to come before it takes the place of another record


class Records:
    """The records of one function, and what is known of calls that have none."""

    _fn: Callable[..., Any]
    _any_size = False  # whether a program for all sizes is made, whatever that costs
    _specialises = False  # whether every form is recorded, whatever that costs
    records = 0  # how often the function was recorded
    _last: Entry | None = None
    _by_shapes: dict[Any, Entry]  # records that calls came to, with a short way in

    def _matching(
        self, form: Form, tensors: list[Tensor], tried: Sequence[Entry] = ()
    ) -> tuple[Entry | None, Any]:
        """The record that holds for this call, and what it computes of the call's numbers.

        `tried` are those in which a tensor's value decided otherwise.
        """
        key = form.key
        found = self._entries.get(key)
        if found is None:
            return None, None
        reasons = []
        for entry in reversed(found):
            numbers = None if entry in tried else entry.holds_for(form)
            guards = entry.followed_calls or entry.guards
            reason = BRANCH if numbers is None else guards.reason()
            reason = reason or entry.guards.clash(tensors)
            if reason is None:
                self._entries.move_to_end(key)
                if entry.parts is not None and entry is not found[-1]:
                    found.remove(entry)
                    found.append(entry)  # the same is decided again, more often than not
                self._last = entry
                return entry, numbers
            reasons.append(reason)
            self._changing.note(entry.guards.changed_floats())
        log.info("%s: no record holds: %s", self._name(), reasons[0])
        self._why[key] = reasons[0]
        return None, None

    def _is_time_to_record(self, key: Any) -> bool:
        """Whether a call that no record holds for is recorded, or runs eagerly.

        It first runs as written, to its end: what it finds missing (an optimizer's states) is made then. When as
        many forms were recorded as are kept, a new one has to come again and again before it takes a place.
        """
        if key in self._refused:
            return False
        if self._why.get(key) == GRADIENTS and len(self._entries.get(key, ())) == 1:
            return True  # nothing else has changed, for the first time
        full = key not in self._entries and self._is_full(len(self._alive()) + 1)
        if self._seen.get(key, 0) < (OFTEN if full else 1):
            return False
        if not self._pays(key):
            return False
        self._seen[key] = 0
        return True

    def _is_full(self, count: int) -> bool:
        """Whether so many records are more than are kept."""
        if count <= RECORDS:
            return False
        return count > MOST or sum(entry.nbytes for entry in self._alive()) > ROOM

    def _pays(self, key: Any) -> bool:
        """Whether another record may be made, by what those so far have cost and saved."""
        alive = self._alive()
        if self._specialises or self._ledger.allows(key, alive):
            return True
        if not all(map(self._is_timed, alive)):
            return True
        runs = self._ledger.runs
        if self._seen.get(key) == 1:
            words = self._ledger.in_words(alive)
            log_again.info("%s: arguments of another form run as written: %s", self._name(), words)
        if 3 * runs >= HORIZON and runs > sum(entry.calls for entry in alive):
            self._say_what_changes(key)
        return False

    def _is_timed(self, entry: Entry) -> bool:
        """Whether a clock sees how long calls take: on a GPU they return before they are done."""
        return not is_on_gpu(entry.program)

    def _alive(self) -> list[Entry]:
        return [entry for entries in self._entries.values() for entry in entries]

    def _say_what_changes(self, key: Any) -> None:
        """Say once why calls run as written: what changes from call to call, and what records cost."""
        ledger = self._ledger
        if ledger.said or self._sizes.awaited is not None:  # what is coming serves them all
            return
        ledger.said = True
        others = [form for form in (*reversed(self._seen), *self._entries) if form != key]
        changes = self._why.get(key, "") if key in self._entries else ""
        if not changes and others:
            changes = difference(_loose(others[0]), _loose(key))
        forms = len({*self._seen, *self._entries})
        if forms > 1:
            why = f"of {forms} forms of arguments none comes often enough"
            advice = (
                "Give it arguments of few sizes, or compile with `dynamic=False` to record each of "
                "them at any cost."
            )
        else:
            why = "what they depend on changes again and again"
            advice = "Let it be a tensor: what that holds may change without another record."
        warnings.warn(
            f"{self._name()} runs as written, for records of it do not pay for themselves: {why}.\n"
            f"  {changes}\n  {ledger.in_words(self._alive())}.\n  {advice}",
            stacklevel=warning_level(),
        )

    def _note_run(self, key: Any, seconds: float, besides: float) -> None:
        """A call has run eagerly: not one that was interrupted, nor one that another thread is still in."""
        with self._lock:
            self._ledger.note_run(key, seconds, besides)
            refused, alive = key in self._refused, self._alive()
            may_pause = not self._specialises or (refused and not alive)
            if may_pause and self._ledger.is_lost(alive, refused):
                self._last = None
                if not refused:  # of which was said why
                    self._say_what_changes(key)
            if refused:
                return
            self._seen[key] = self._seen.pop(key, 0) + 1
            if len(self._seen) > FORMS:
                self._seen.popitem(last=False)

    def _drop(self, entry: Entry) -> None:
        with self._lock:
            for key, entries in list(self._entries.items()):
                if entry in entries:
                    entries.remove(entry)
                    self._ledger.note_gone(entry)
                    if not entries:
                        del self._entries[key]
            self._by_shapes = {}
            if self._last is entry:
                self._last = None

    def _note_again(self, form: Form) -> None:
        """Say why a record is made where there was one before."""
        with self._lock:
            before = [e for entries in self._entries.values() for e in entries]
            if not before:
                return
            same = self._entries.get(form.key)
            why = self._why.get(form.key) if same else difference(before[-1].loose, form.loose)
            line = self._recompiles.note(self.records, why or "the record was lost", mark(1))
        log_again.info("%s: %s", self._name(), line)

    def _not_this_time(self, key: Any, why: str) -> None:
        """A run that is no record for others; where that happens each time, there will be none."""
        with self._lock:
            if len(self._abandoned) >= FORMS:
                self._abandoned.clear()
            often = self._abandoned[key] = self._abandoned.get(key, 0) + 1
        if often >= VARIANTS:
            self._refuse(key, why)

    def _refuse(self, key: Any, why: str) -> None:
        """From now on calls of this form run eagerly, which is said once per function."""
        if not self._refused:
            warnings.warn(f"{self._name()} is not compiled: {why}", stacklevel=warning_level())
        self._refused[key] = why
        if len(self._refused) > FORMS:
            self._refused.popitem(last=False)

    def _name(self) -> str:
        return getattr(self._fn, "__qualname__", type(self._fn).__name__)

    def _forget_all(self) -> None:
        self._lock = threading.RLock()
        self._recording = threading.Lock()  # held by the thread that records
        self._pid = os.getpid()
        self._entries: OrderedDict[Any, list[Entry]] = OrderedDict()  # by the form of arguments
        self._seen: OrderedDict[Any, int] = OrderedDict()  # how often a form has run eagerly
        self._refused: OrderedDict[Any, str] = OrderedDict()
        self._lost: dict[Any, int] = {}  # how many records of a form went to make room for others
        self._why: dict[Any, str] = {}
        self._abandoned: dict[Any, int] = {}  # how often a recording was given up because of values
        self._recompiles = Recompiles()
        self._changing = Changing()
        self._by_python: set[Any] = set()  # forms of which no guard sees all that is read
        self._by_value: set[Any] = set()  # forms in which `.item()` gives a plain number
        self._ledger = Ledger()
        self._sizes = Sizes()
        self._sizes.at_once = self._any_size
        self._last = None
        self._by_shapes = {}

    def clear(self) -> None:
        """Forget every record."""
        self._forget_all()


def _loose(key: Any) -> Any:
    """A form without the bits of its floats."""
    return key if len(key) == 3 else key[0]
