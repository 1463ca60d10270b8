"""A compiled function: a call of it is replayed, followed, recorded, or runs as written."""

from __future__ import annotations

import copy
import functools
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ..._autograd.modes import modes
from ..._autograd.node import next_sequence
from ..._tensor.tensor import Tensor
from ...nn.modules._hooks import global_hooks
from ...nn.modules.module import Module
from ...optim import _hooks as optimizer_hooks
from ..foreign import refuse_arguments
from ..guards.guards import Form, is_ordinary
from ..messages.explain import Explanation
from ..record.trees import tensors_in
from .audit import AuditError
from .audit_schedule import FARTHER, WEIGHED
from .bound_methods import Place
from .clock import Moment, between, moment, since
from .entry import Entry
from .fast_entry import MISS, STOPPED, adding
from .ledger import WARM, in_seconds
from .many_sizes import ManySizes
from .records import log, log_again


def _log_if_asked() -> None:
    """`TAUT_LOG=compile` shows what is recorded and why, `TAUT_LOG=recompiles` only what is recorded again."""
    asked = os.environ.get("TAUT_LOG", "").split(",")
    shown = log if "compile" in asked else log_again if "recompiles" in asked else None
    if shown is not None and not shown.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        shown.addHandler(handler)
        shown.setLevel(logging.INFO)


class Compiled(ManySizes):
    """A function that is replayed as a program wherever its record holds.

    The first call with arguments of a new form (shapes, dtypes, strides, Python values) runs as
    written, the second is recorded, and from then on it is replayed. Where arguments change from call
    to call, a form is recorded when that can be paid for: see `ledger`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        fallback: bool = False,
        native: bool = True,
        audit: str = "auto",
        sound: bool | None = None,
        specialises: bool = False,
        any_size: bool = False,
    ) -> None:
        self._fn = fn
        self._specialises = specialises
        self._any_size = any_size
        self._sound = sound
        self._fallback = fallback
        self._native = native
        self._audit = audit
        self.records = 0  # how often the function was recorded
        self._forget_all()
        if not isinstance(fn, Module):
            functools.update_wrapper(self, fn)
        _log_if_asked()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and not kwargs:
            result = MISS if last.quick is None else last.quick(args)
            if result is MISS and self._by_shapes:
                result = self._in_turn(last, args)
            if result is not MISS:
                return result
        return self._the_long_way(args, kwargs)

    def _the_long_way(self, args: Any, kwargs: Any) -> Any:
        """Where no record is known to hold: find one, or make one, or run as written."""
        ledger = self._ledger
        if ledger.pause and ledger.skips():
            return self._fn(*args, **kwargs)
        sizes = self._sizes
        if sizes.awaited is not None and not self._entries and sizes.waits() and ledger.waits():
            return self._fn(*args, **kwargs)
        began = moment()
        tensors = list(tensors_in((args, kwargs)))
        if modes.recorder is not None or not is_ordinary(tensors) or _watched():
            return self._fn(*args, **kwargs)
        if self._pid != os.getpid():
            self._forget_all()  # programs, threads and locks belong to the parent
        form = Form(args, kwargs)
        with self._lock:
            if form.floats and not self._sound:  # where Python runs, it computes with them
                self._changing.settle(form)
            entry, numbers = self._matching(form, tensors)
        if entry is None:
            result = self._of_any_size(form, tensors, args, kwargs)
            if result is not MISS:
                return result
            with self._lock:
                entry, numbers = self._matching(form, tensors)
        if entry is not None and entry.calls >= entry.audits.weigh_due:
            if not self._specialises and self._ledger.weighs(entry) and self._is_timed(entry):
                return self._weigh(entry, args, kwargs, began)
            entry.audits.note_weighed()
        due = entry is not None and entry.is_due
        if entry is not None and due and self._recording.acquire(blocking=False):
            try:
                return self._audited(entry, form, args, kwargs, numbers)
            finally:
                self._recording.release()
        if entry is not None and entry.followed_calls is not None:
            return self._follow(entry, args, kwargs, tensors)
        tried: list[Entry] = []
        while entry is not None:
            with entry.alone() as alone:
                if not alone:
                    return self._fn(*args, **kwargs)
                replay = partial(adding, entry.replay) if entry.adds else entry.replay
                result = replay(tensors, numbers, (args, kwargs))
            if result is STOPPED:  # as it is written: the error comes from the function's own line
                return self._fn(*args, **kwargs)
            if result is not MISS:
                if entry.quick is not None and not kwargs:
                    self._remember(entry, args)
                return result
            tried.append(entry)
            with self._lock:
                entry, numbers = self._matching(form, tensors, tried)
        refuse_arguments((args, kwargs))
        with self._lock:
            records = self._is_time_to_record(form.key)
        if not records:
            return self._run_counted(form, args, kwargs, began)
        if not self._recording.acquire(blocking=False):
            return self._fn(*args, **kwargs)
        try:
            return self._record(form, args, kwargs)
        finally:
            self._recording.release()

    def _in_turn(self, last: Entry, args: Any) -> Any:
        """The shortest way into the record that these sizes came to before, where sizes change from call to call."""
        shapes = _shapes(args)
        entry = self._by_shapes.get(shapes)
        if entry is None or entry is last or entry.quick is None:
            return MISS
        result = entry.quick(args)
        if result is not MISS:
            with self._lock:
                if self._by_shapes.get(shapes) is entry:  # no other thread has given it up
                    self._last = entry
        return result

    def _remember(self, entry: Entry, args: Any) -> None:
        with self._lock:
            if entry in self._entries.get(entry.key, ()):
                self._by_shapes[_shapes(args)] = entry

    def _run_as_written(self, key: Any, args: Any, kwargs: Any, began: Moment) -> Any:
        start = moment()
        result = self._fn(*args, **kwargs)
        stop = moment()
        self._note_run(key, between(start, stop), between(began, start))
        self._ledger.looking += since(stop)
        return result

    def _run_counted(self, form: Form, args: Any, kwargs: Any, began: Moment) -> Any:
        """The same; where sizes change, it is noted how many operations there were."""
        sizes = self._sizes
        if sizes.why is not None or sizes.template is not None or not self._ledger.runs:
            return self._run_as_written(form.key, args, kwargs, began)
        first = next_sequence()
        result = self._run_as_written(form.key, args, kwargs, began)
        sizes.note_operations(form.loose, next_sequence() - first)
        return result

    def _weigh(self, entry: Entry, args: Any, kwargs: Any, began: Moment) -> Any:
        """Run once as written; a record whose replays take longer is given up, and that is said.

        The least of several runs counts, as it does of replays, and it has to lose twice, some replays apart: what else
        the machine does may have been in the way. One that saves little is looked at again later for the same reason.
        """
        entry.make_room()
        result = self._run_as_written(entry.key, args, kwargs, began)
        ledger = self._ledger
        if ledger.runs_of(entry.key) < 1 + WARM:
            return result  # the next call is another one
        if not ledger.doubts(entry):
            entry.audits.note_weighed()
        elif ledger.pays(entry):
            entry.audits.note_weighed(FARTHER * entry.calls)
            entry.take_times()
        elif not entry.audits.has_lost:
            entry.audits.has_lost = True
            entry.audits.note_weighed(entry.calls + WEIGHED)
            entry.take_times()
        else:
            plain, replay = ledger.plain_seconds(entry.key), entry.seconds
            self._drop(entry)
            why = f"a replay takes {in_seconds(replay)}, and a call as written {in_seconds(plain)}"
            self._refuse(entry.key, why)
        return result

    def _follow(self, entry: Entry, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Run the function's own Python, held against a record."""
        if not entry.lock.acquire(blocking=False):
            return self._fn(*args, **kwargs)
        try:
            if entry.inside:
                return self._fn(*args, **kwargs)
            entry.inside = 2
            try:
                if entry.calls >= entry.audits.audit_due:
                    found = self._wrong_code(entry, tensors)
                    if found is not None:
                        self._fn(*args, **kwargs)
                        raise AuditError(self._found_by_audit(entry, found))
                return entry.followed_calls.run(self._fn, args, kwargs, tensors)
            finally:
                entry.inside = 0
                self._look_back(entry)
        finally:
            entry.lock.release()

    def explain(self) -> Explanation:
        """The record that ran last: its instructions, what was fused and what was not, and its memory."""
        with self._lock:
            again = self._recompiles.lines()
            entries = self._alive()
            ledger = self._ledger.to_dict(entries) | {"words": self._ledger.in_words(entries)}
            ledger["sizes"] = self._sizes.in_words()
            return Explanation(
                self._name(), self._last, self._refused, len(self._seen), again, ledger
            )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: a program for each object."""
        if instance is None:
            return self
        method = self._fn.__get__(instance, owner)
        own = getattr(instance, "__dict__", None)
        if own is None:  # an object that has no place for it runs eagerly
            return method
        place = own.setdefault(f"_program of {self._fn.__qualname__}", Place())
        if place.program is None:
            place.program = self.of(method)
        return place.program

    def of(self, fn: Callable[..., Any]) -> Compiled:
        """Another function, compiled in the same way."""
        return Compiled(fn, **self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "fallback": self._fallback,
            "native": self._native,
            "audit": self._audit,
            "sound": self._sound,
            "specialises": self._specialises,
            "any_size": self._any_size,
        }

    def __deepcopy__(self, memo: Any) -> Compiled:
        return self.of(copy.deepcopy(self._fn, memo))

    def __reduce__(self) -> Any:
        return Compiled._again, (self._fn, self._options())

    @classmethod
    def _again(cls, fn: Callable[..., Any], options: dict[str, Any]) -> Compiled:
        return cls(fn, **options)

    def __repr__(self) -> str:
        count = sum(map(len, self._entries.values()))
        return f"<compiled {self._name()}: {count} record{'s' * (count != 1)}>"


def _shapes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([arg._data.shape if type(arg) is Tensor else None for arg in args])


def _watched() -> bool:
    """Whether somebody watches every module or optimizer, as the doctor does: then each step is run."""
    of_optimizers = optimizer_hooks._global_pre_hooks or optimizer_hooks._global_post_hooks
    return bool(of_optimizers or global_hooks.are_used)
