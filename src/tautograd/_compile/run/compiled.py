"""A compiled function: which of its records holds for a call, and when it is recorded."""

from __future__ import annotations

import copy
import functools
import logging
import os
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..._user_code.sites import mark, resolve, warning_level
from ...nn.modules._hooks import global_hooks
from ...nn.modules.module import Module
from ...optim import _hooks as optimizer_hooks
from ..foreign import refuse_arguments
from ..guards.environment import Surroundings
from ..guards.guards import GRADIENTS, Form, is_ordinary
from ..messages.errors import CompileError
from ..messages.explain import Explanation
from ..messages.recompiles import Recompiles, difference
from ..record.arrays import is_on_gpu
from ..record.trees import memory_of, tensors_in, was_swapped
from ..record.varying_numbers import Changing
from ..sound.runs import Followed
from . import audit as audits
from .audit import AuditError
from .bound_methods import Place
from .entry import Entry
from .fast_entry import MISS, STOPPED, adding
from .fast_numbers import way_in

log = logging.getLogger("tautograd.compile")
log_again = logging.getLogger("tautograd.compile.recompiles")  # whose lines `log` shows, too
RECORDS = 16  # kept per function
VARIANTS = 4  # of records of one form of arguments, as with and without gradients left over
BRANCHES = 12  # the same where numbers decide between them
FORMS = 256  # of arguments that are remembered as seen
BRANCH = "a number decides otherwise"
# Elements that a function is given or finds, from which on its Python may be cheap beside them.
LARGE = 1 << 14
MISSES = 3  # calls one after the other that do not agree with a record, which is then given up
OFTEN = 16  # how often a form has to come before it takes the place of another record


def _log_if_asked() -> None:
    """`TAUT_LOG=compile` shows what is recorded and why, `TAUT_LOG=recompiles` only what is recorded again."""
    asked = os.environ.get("TAUT_LOG", "").split(",")
    shown = log if "compile" in asked else log_again if "recompiles" in asked else None
    if shown is not None and not shown.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        shown.addHandler(handler)
        shown.setLevel(logging.INFO)


class Compiled:
    """A function that is replayed as a program wherever its record holds.

    The first call with arguments of a new form (shapes, dtypes, strides, Python values) runs as
    written, the second is recorded, and from then on it is replayed.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        fallback: bool = False,
        native: bool = True,
        audit: str = "auto",
        sound: bool | None = None,
    ) -> None:
        self._fn = fn
        self._sound = sound
        self._fallback = fallback
        self._native = native
        self._audit = audit
        self.records = 0  # how often the function was recorded
        self._last: Entry | None = None
        self._split_said = False
        self._forget_all()
        if not isinstance(fn, Module):
            functools.update_wrapper(self, fn)
        _log_if_asked()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and last.quick is not None and not kwargs:
            result = last.quick(args)
            if result is not MISS:
                return result
        tensors = list(tensors_in((args, kwargs)))
        if modes.recorder is not None or not is_ordinary(tensors) or _watched():
            return self._fn(*args, **kwargs)
        if self._pid != os.getpid():
            self._forget_all()  # programs, threads and locks belong to the parent
        form = Form(args, kwargs)
        with self._lock:
            if form.floats:
                self._changing.settle(form)
            entry, numbers = self._matching(form, tensors)
        due = entry is not None and entry.calls >= entry.audits.due
        if entry is not None and due and self._recording.acquire(blocking=False):
            try:
                return self._audited(entry, form, args, kwargs)
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
                return result
            tried.append(entry)
            with self._lock:
                entry, numbers = self._matching(form, tensors, tried)
        refuse_arguments((args, kwargs))
        with self._lock:
            records = self._is_time_to_record(form.key)
        if not records:
            result = self._fn(*args, **kwargs)
            self._note_run(form.key)
            return result
        if not self._recording.acquire(blocking=False):
            return self._fn(*args, **kwargs)
        try:
            return self._record(form, args, kwargs)
        finally:
            self._recording.release()

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
        if key in self._entries and self._why.get(key) == GRADIENTS:
            return True  # nothing else has changed
        full = sum(map(len, self._entries.values())) >= RECORDS and key not in self._entries
        if self._seen.get(key, 0) < (OFTEN if full else 1):
            return False
        self._seen[key] = 0
        return True

    def _note_run(self, key: Any) -> None:
        """A call has run eagerly: not one that was interrupted, nor one that another thread is still in."""
        with self._lock:
            if key in self._refused:
                return
            self._seen[key] = self._seen.pop(key, 0) + 1
            if len(self._seen) > FORMS:
                self._seen.popitem(last=False)

    def _surroundings(self, form: Form, args: Any, kwargs: Any) -> Surroundings:
        """What the function can reach when it is recorded, and what a recording may do."""
        around = Surroundings(self._fn, form, (args, kwargs))
        around.may_split = self._fallback
        around.reads_guarded, around.refuses_unseen = self._sound is not True, self._sound is False
        may = form.key in self._by_python or around.elements >= LARGE
        around.notes_calls = self._sound or (self._sound is None and may)
        around.may_follow = form.key not in self._by_value and not around.variables.asks_types
        return around

    def _record(self, form: Form, args: Any, kwargs: Any) -> Any:
        around = self._surroundings(form, args, kwargs)
        if around.reads_guarded:
            around.follow(self._changing)
        follows = bool(form.symbolic or around.spots)
        if follows and around.variables.asks_types:
            self._fix(around, form.symbolic, around.spots, "`type` is called, perhaps on it")
            return self._fn(*args, **kwargs)
        tolerant = self._fallback or follows
        memory = memory_of(args, kwargs)
        try:
            entry, result = Entry.recorded(around, args, kwargs, self._native, tolerant)
        except CompileError as error:
            if error.passes and error.finished is not None:
                self._not_this_time(form.key, str(error))
                return error.finished[0]
            if follows and error.finished is not None:
                why = str(error).partition(" cannot")[0]
                self._fix(around, form.symbolic, around.spots, why)
                return error.finished[0]
            if error.goes_on and error.finished is not None:
                self._refuse(form.key, str(error))
                return error.finished[0]
            if not self._fallback:
                self._seen[form.key] = (
                    1  # so that the next call says it too, unless it can be recorded
                )
                raise
            reason = str(error).rpartition("\n")[0]  # without the advice to do what was done
            self._refuse(form.key, f"it cannot be recorded:\n{reason}")
            if error.finished is None:  # it cannot go on from where it is; the next calls can
                raise
            return error.finished[0]
        except Exception as error:
            self._fix(around, form.symbolic, around.spots, "an error")
            self._by_value.add(form.key)
            if "'Symbol'" in str(error) or "Symbol" in str(error).split():
                error.add_note(
                    f"While {self._name()} was recorded, a Symbol stood for a Python number that changes, and this "
                    "code takes only a float. The next calls run eagerly, or give it one."
                )
            raise
        if was_swapped(memory, args, kwargs):
            self._not_this_time(form.key, "its arguments are given other memory while it runs")
            return result
        if (
            around.unseen is not None
            and self._sound is None
            and not self._runs_python(entry, around)
        ):
            return result
        self.records += 1
        entry.audits.begin(self._audit)
        self._choose(entry, form)
        self._note_again(form)
        if entry.parts is not None:
            self._say_split(entry)
        if entry.asked or entry.asked_spots:
            why = f"its value is asked for{entry.where_asked()}"
            self._fix(around, entry.asked, entry.asked_spots, why)
        log.info("%s: recorded (%d instructions)", self._name(), entry.size)
        with self._lock:
            of_form = self._entries.setdefault(form.key, [])
            of_form.append(entry)
            limit = BRANCHES if any(e.decides for e in of_form) else VARIANTS
            if len(of_form) > limit:
                of_form.pop(0)
                self._lost[form.key] = self._lost.get(form.key, 0) + 1
                if self._lost[form.key] >= limit:
                    why = self._why.get(form.key, "something else each time")
                    self._refuse(form.key, f"what it depends on changes too often: {why}")
                    of_form.clear()
            if of_form:
                self._entries.move_to_end(form.key)
            else:
                del self._entries[form.key]
            while sum(map(len, self._entries.values())) > RECORDS:
                gone, _ = self._entries.popitem(last=False)
                self._lost.pop(gone, None)
                self._why.pop(gone, None)
            self._last = entry
        return result

    def _runs_python(self, entry: Entry, around: Surroundings) -> bool:
        """What it reads no guard sees: whether this record is kept. The next one is made to be followed.

        Where Python cannot be followed either, guards and audits are all there is.
        """
        if len(self._by_python) > FORMS:
            self._by_python.clear()
        self._by_python.add(around.form.key)
        if entry.capture.calls is not None:
            return True
        self._seen[around.form.key] = 1
        return False

    def _choose(self, entry: Entry, form: Form) -> None:
        """Whether this record's Python runs at each call: as asked for, or where its share of the time is small."""
        noted = entry.capture.calls
        if noted is None:
            return
        why = noted.why
        sound = self._sound or form.key in self._by_python
        if is_on_gpu(entry.program):
            why = "it runs on a GPU"
        if entry.parts is not None or entry.followed or entry.spots:
            why = why or "a number that changes is an input of its program"
        if why is None:
            followed = Followed(entry, noted)
            if sound or followed.is_cheap:
                entry.followed_calls, entry.quick = followed, None
                entry.audits.begin("always" if self._audit == "always" else "never")
        elif self._sound:
            self._refuse(form.key, f"its Python cannot be followed: {why}")
        entry.not_followed = why

    def _follow(self, entry: Entry, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Run the function's own Python, held against a record."""
        if not entry.lock.acquire(blocking=False):
            return self._fn(*args, **kwargs)
        try:
            if entry.inside:
                return self._fn(*args, **kwargs)
            entry.inside = 2
            try:
                return entry.followed_calls.run(self._fn, args, kwargs, tensors)
            finally:
                entry.inside = 0
                self._look_back(entry)
        finally:
            entry.lock.release()

    def _look_back(self, entry: Entry) -> None:
        """How following went: whether the record is given up, or its Python skipped from now on."""
        followed = entry.followed_calls
        if followed.missed >= MISSES:
            self._give_up(entry)
            return
        may_skip = self._sound is None and entry.key not in self._by_python
        if may_skip and followed.runs == MISSES and not followed.was_cheap:
            took = f"{followed.python * 1e6:.0f} µs beside {followed.program * 1e6:.0f} µs"
            entry.not_followed = f"its Python takes {took} of its program"
            entry.followed_calls, entry.quick = None, way_in(entry)
            entry.audits.begin(self._audit)

    def _give_up(self, entry: Entry) -> None:
        """A record that calls no longer agree with: the next call makes another one."""
        why = entry.followed_calls.why
        self._drop(entry)
        with self._lock:
            self._why[entry.key] = why
            self._seen[entry.key] = 1
            lost = self._lost[entry.key] = self._lost.get(entry.key, 0) + 1
        if lost >= VARIANTS:
            self._refuse(entry.key, f"what it does changes too often: {why}")

    def _audited(self, entry: Entry, form: Form, args: Any, kwargs: Any) -> Any:
        """Run the function, and see whether it still becomes the program that would have been replayed."""
        began = perf_counter()
        form.symbolic = entry.followed
        around = self._surroundings(form, args, kwargs)
        around.follow_these({spot.key for spot in entry.spots})
        tolerant = self._fallback or bool(form.symbolic or around.spots)
        memory = memory_of(args, kwargs)
        try:
            now, result = Entry.recorded(around, args, kwargs, False, tolerant)
        except CompileError as error:
            if error.finished is not None and (error.passes or entry.parts is not None):
                return error.finished[0]  # by an error that was caught, or a value that has decided
            self._drop(entry)
            raise AuditError(self._found_by_audit(entry, str(error))) from None
        if audits.is_the_same_run(entry, now):
            found = audits.difference(entry, now)
            if found is not None:
                self._drop(entry)
                if Form(args, kwargs).key != form.key or was_swapped(memory, args, kwargs):
                    return result  # another thread has changed an argument meanwhile
                raise AuditError(self._found_by_audit(entry, str(found)))
            result = audits.hand_over(entry, result)
        if now.capture.backward is None:
            now.replay_of = now.quick = None  # with the memory of a program that nobody runs
        entry.calls += 1
        entry.audits.note_audit(entry.calls, perf_counter() - began)
        if entry.quick is not None and entry.audits.audits == 1:
            entry.quick = entry.audits.timed(entry.quick, entry)
        return result

    def _found_by_audit(self, entry: Entry, what: str) -> str:
        return (
            f"{self._name()}: the record no longer does what the function does, and no guard has seen it "
            f"(audit of call {entry.calls + 1}).\n{what}\n"
            "  The record is thrown away. This call has run eagerly, so parameters and states are right; "
            "what the calls since the last audit gave may be old. Pass what changes as an argument."
        )

    def _drop(self, entry: Entry) -> None:
        with self._lock:
            for key, entries in list(self._entries.items()):
                if entry in entries:
                    entries.remove(entry)
                    if not entries:
                        del self._entries[key]
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

    def _say_split(self, entry: Entry) -> None:
        """Say once per function where Python decides by values."""
        if self._split_said:
            return
        self._split_said = True
        lines = {str(resolve(site)): what for _, what, site in entry.capture.splits}
        shown = "\n".join(f"  {what}, in {line}" for line, what in lines.items())
        warnings.warn(
            f"{self._name()} is split into parts, between which Python looks at values:\n{shown}",
            stacklevel=warning_level(),
        )

    def _fix(self, around: Surroundings, numbers: Any, spots: Any, why: str) -> None:
        """Let floats among the arguments be part of the form, and a record depend on others."""
        for i in numbers:
            log.info("%s: float %d of the arguments is no input: %s", self._name(), i, why)
        for spot in spots:
            log.info("%s: `%s` is no input: %s", self._name(), spot.name or "a variable", why)
        with self._lock:
            self._changing.fix_spots(spots)
            if numbers:
                self._changing.fix(around.form, numbers)

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
        self._last = None

    def clear(self) -> None:
        """Forget every record."""
        self._forget_all()

    def explain(self) -> Explanation:
        """The record that ran last: its instructions, what was fused and what was not, and its memory."""
        with self._lock:
            again = self._recompiles.lines()
            return Explanation(self._name(), self._last, self._refused, len(self._seen), again)

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
        options: dict[str, Any] = {"fallback": self._fallback, "native": self._native}
        return Compiled(fn, audit=self._audit, sound=self._sound, **options)

    def __deepcopy__(self, memo: Any) -> Compiled:
        return self.of(copy.deepcopy(self._fn, memo))

    def __reduce__(self) -> Any:
        options = self._fallback, self._native, self._audit, self._sound
        return Compiled._again, (self._fn, *options)

    @classmethod
    def _again(
        cls,
        fn: Callable[..., Any],
        fallback: bool,
        native: bool,
        audit: str = "auto",
        sound: bool | None = None,
    ) -> Compiled:
        return cls(fn, fallback=fallback, native=native, audit=audit, sound=sound)

    def __repr__(self) -> str:
        return f"<compiled {self._name()}: {sum(map(len, self._entries.values()))} records>"


def _watched() -> bool:
    """Whether somebody watches every module or optimizer, as the doctor does: then each step is run."""
    of_optimizers = optimizer_hooks._global_pre_hooks or optimizer_hooks._global_post_hooks
    return bool(of_optimizers or global_hooks.are_used)
