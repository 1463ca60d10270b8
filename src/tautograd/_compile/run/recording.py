"""How a function comes to a record: recorded, made to be followed or guarded, audited, given up."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from ..._user_code.sites import resolve, warning_level
from ..dynamic.sample import Sample
from ..guards.environment import Surroundings
from ..guards.guards import Form, share_memory
from ..messages.errors import CompileError
from ..program.memory import give_back
from ..record.arrays import is_on_gpu
from ..record.trees import memory_of, tensors_in, was_swapped
from ..sound.runs import Followed
from . import audit as audits
from .audit import AuditError
from .clock import moment, since
from .entry import Entry
from .fast_numbers import way_in
from .numeric_audit import Aside
from .records import BRANCHES, FORMS, VARIANTS, Records, log

# Elements that a function is given or finds, from which on its Python may be cheap beside them.
LARGE = 1 << 14
MISSES = 3  # calls one after the other that do not agree with a record, which is then given up
OTHER_MEMORY = "its arguments are given other memory while it runs"  # by another thread


class Recorder(Records):
    """The records of one function, and how they are made."""

    _sound: bool | None = None
    _fallback = False
    _native = True
    _audit = "auto"
    _split_said = False

    def _surroundings(self, form: Form, args: Any, kwargs: Any) -> Surroundings:
        """What the function can reach when it is recorded, and what a recording may do."""
        around = Surroundings(self._fn, form, (args, kwargs), self._sound is not True)
        around.may_split = self._fallback
        around.refuses_unseen = self._sound is False
        may = form.key in self._by_python or around.elements >= LARGE
        around.notes_calls = self._sound or (self._sound is None and may)
        around.may_follow = form.key not in self._by_value and not around.variables.asks_types
        return around

    def _record(self, form: Form, args: Any, kwargs: Any) -> Any:
        """Run the function while recording it, and keep the record."""
        began = moment()
        around = self._surroundings(form, args, kwargs)
        if around.reads_guarded:
            around.follow(self._changing)
        follows = bool(form.symbolic or around.spots)
        if follows and around.variables.asks_types:
            self._fix(around, form.symbolic, around.spots, "`type` may be called on it")
            return self._fn(*args, **kwargs)
        tolerant = self._fallback or follows
        memory = memory_of(args, kwargs)
        if threading.active_count() > 1 and Form(args, kwargs).loose != form.loose:
            self._not_this_time(form.key, OTHER_MEMORY)
            return self._fn(*args, **kwargs)
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
            self._not_this_time(form.key, OTHER_MEMORY)
            return result
        if (
            around.unseen is not None
            and self._sound is None
            and not self._runs_python(entry, around)
        ):
            return result
        self.records += 1
        self._ledger.note_record(form.key, since(began))
        entry.audits.begin(self._audit)
        entry.take_times()
        self._choose(entry, form)
        if self._sound and entry.followed_calls is None:  # then it has no guards either
            return result
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
                self._ledger.note_gone(of_form.pop(0))
                self._lost[form.key] = self._lost.get(form.key, 0) + 1
                if self._lost[form.key] >= limit:
                    why = self._why.get(form.key, "something else each time")
                    self._refuse(form.key, f"what it depends on changes too often: {why}")
                    for gone in of_form:
                        self._ledger.note_gone(gone)
                    of_form.clear()
            if of_form:
                self._entries.move_to_end(form.key)
            else:
                del self._entries[form.key]
            while self._is_full(len(self._alive())):
                key, lost = self._entries.popitem(last=False)
                for gone in lost:
                    self._ledger.note_gone(gone)
                self._lost.pop(key, None)
                self._why.pop(key, None)
            self._last = entry
            self._by_shapes = {}  # among which may be one that is gone
        return result

    def _runs_python(self, entry: Entry, around: Surroundings) -> bool:
        """What it reads no guard sees: whether this record is kept. The next one is made to be followed.

        Where Python cannot be followed either, calls run as written. (On a GPU none is followed, and guards and audits
        are all there is: there it is enough that all that guards can see was looked at.)
        """
        if len(self._by_python) > FORMS:
            self._by_python.clear()
        self._by_python.add(around.form.key)
        if entry.capture.calls is not None:
            why = _why_not_followed(entry)
            if why is None or (is_on_gpu(entry.program) and around.variables.is_whole):
                return True
            if entry.followed or entry.spots:  # Python computes with them where it runs
                self._fix(around, entry.followed, around.spots, "Python runs at each call")
                return False
            assert around.unseen is not None
            what, site = around.unseen
            line = resolve(site)
            at = f"\n  {line}" if line else ""
            self._refuse(
                around.form.key, f"no guard sees {what}\nand Python cannot be followed: {why}{at}"
            )
            return False
        self._seen[around.form.key] = 1
        return False

    def _choose(self, entry: Entry, form: Form) -> None:
        """Whether this record's Python runs at each call: as asked for, or where its share of the time is small."""
        noted = entry.capture.calls
        if noted is None:
            return
        why = _why_not_followed(entry)
        sound = self._sound or form.key in self._by_python
        if why is None:
            followed = Followed(entry, noted)
            entry.calls_noted = followed
            if sound or followed.is_cheap:
                entry.followed_calls, entry.quick = followed, None
                entry.audits.begin(self._audit)
            if sound:  # for good: nothing that Python reads is kept alive by a guard
                entry.guards.variables.forget()
                entry.steady = None
        elif self._sound:
            self._refuse(form.key, f"its Python cannot be followed: {why}")
        entry.not_followed = why

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
            entry.take_times()

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

    def _audited(self, entry: Entry, form: Form, args: Any, kwargs: Any, numbers: Any) -> Any:
        """Run the function, and see whether it still becomes and does what would have been replayed."""
        began = moment()
        tensors = list(tensors_in((args, kwargs)))
        if entry.calls_noted is not None and entry.audits.mode != "always" and not numbers:
            return self._audited_by_following(entry, args, kwargs, tensors)
        arrays = entry.arrays_of(tensors)
        if arrays is None:  # another thread has just given one of them other memory
            return self._fn(*args, **kwargs)
        if share_memory(arrays):
            entry.audits.audit_next(entry.calls + 1)
            return self._fn(*args, **kwargs)
        with entry.alone() as alone:
            aside = Aside(entry, arrays, numbers) if alone else None
        large = entry.make_room()
        form.symbolic = entry.followed
        around = self._surroundings(form, args, kwargs)
        around.follow_these({spot.key for spot in entry.spots})
        tolerant = self._fallback or bool(form.symbolic or around.spots)
        memory = memory_of(args, kwargs)
        try:
            now, result = _aside(entry).recorded(around, args, kwargs, False, tolerant)
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
            found = None if aside is None else aside.wrong()
            if found is not None and not was_swapped(memory, args, kwargs):
                self._drop(entry)
                self._refused[entry.key] = f"its machine code is wrong: {found}"
                raise AuditError(self._found_by_audit(entry, str(found)))
            entry.audits.compared = "yes" if aside is None else aside.why or "yes"
        if now.capture.backward is None:
            vars(
                now
            ).clear()  # with the gradients it made, and the memory of a program that nobody runs
        if large:
            give_back()
        entry.calls += 1
        took = since(began)
        entry.audits.note_audit(entry.calls, took)
        self._ledger.note_audit(entry.key, took)
        if entry.audits.audits == 1:
            entry.take_times()
        return result

    def _audited_by_following(
        self, entry: Entry, args: Any, kwargs: Any, tensors: list[Any]
    ) -> Any:
        """Run the function's own Python, held against the record, once: that computes nothing twice.

        Of a large step it takes a small part of the time and none of the memory that recording anew does, and it is
        what a record is held against at every call where Python always runs. Where it cannot be followed to its end,
        for another reason than that it makes other calls, nothing is known: then the next call is recorded anew.
        """
        began = moment()
        noted = entry.calls_noted
        with entry.alone() as alone:
            if not alone:
                return self._fn(*args, **kwargs)
            wrong = self._wrong_code(entry, tensors)
            runs = noted.runs
            result = (
                self._fn(*args, **kwargs) if wrong else noted.run(self._fn, args, kwargs, tensors)
            )
        if wrong is None and noted.runs == runs:
            if not (runs and noted.differed):
                entry.calls_noted = None
                entry.audits.audit_next(entry.calls)
                return result
            wrong = noted.why
            self._drop(entry)
        if wrong is not None:
            raise AuditError(self._found_by_audit(entry, wrong))
        took = since(began)
        entry.audits.note_audit(entry.calls, took)
        self._ledger.note_audit(entry.key, took)
        if entry.audits.audits == 1:
            entry.take_times()
        return result

    def _wrong_code(self, entry: Entry, tensors: list[Any]) -> str | None:
        """Whether the machine code of a record that is followed does not do what its program says."""
        began = moment()
        arrays = entry.arrays_of(tensors)
        if arrays is None:
            return None
        aside = Aside(entry, arrays, ())
        wrong = aside.wrong()
        if wrong is not None:
            self._drop(entry)
            self._refused[entry.key] = f"its machine code is wrong: {wrong}"
            return str(wrong)
        entry.audits.compared = aside.why or "yes"
        entry.audits.note_audit(entry.calls + 1, since(began))
        return None

    def _found_by_audit(self, entry: Entry, what: str) -> str:
        return (
            f"{self._name()}: the record no longer does what the function does, and no guard has seen it "
            f"(audit of call {entry.calls + 1}).\n{what}\n"
            "  The record is thrown away. This call has run eagerly, so parameters and states are right; "
            "what the calls since the last audit gave may be old. Pass what changes as an argument."
        )

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


def _aside(entry: Entry) -> type[Entry]:
    """As what an audit records anew: nobody runs it, so memory is planned only where something goes on from it."""
    goes_on = entry.parts is not None or entry.capture.backward is not None
    return Entry if goes_on or is_on_gpu(entry.program) else Sample


def _why_not_followed(entry: Entry) -> str | None:
    """Why the Python of a record whose calls were noted cannot be followed."""
    if is_on_gpu(entry.program):
        return "it runs on a GPU"
    if entry.capture.calls.why is not None:
        return str(entry.capture.calls.why)
    if entry.parts is not None or entry.followed or entry.spots:
        return "a number that changes is an input of its program"
    return None
