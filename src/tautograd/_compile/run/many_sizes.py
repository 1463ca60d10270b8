"""The calls of a function whose sizes change: samples are recorded, and a template's sizes tried, once each."""

from __future__ import annotations

import warnings
from typing import Any

from ..._user_code.sites import warning_level
from ..dynamic.common import LATER
from ..dynamic.instance import EntryAtSize
from ..dynamic.sample import Sample
from ..dynamic.template import Template, Unlike, Values
from ..dynamic.trial import Trial
from ..guards.guards import Form
from ..messages.errors import CompileError
from ..record.trees import memory_of, was_swapped
from .clock import between, moment, since
from .entry import Entry
from .executable import uncollected
from .fast_entry import MISS
from .recording import Recorder
from .records import log
from .sizes import MOST_WRONG, Sizes

WEIGHED = 3  # sizes of a template that are compared with runs as written as other records are


class ManySizes(Recorder):
    """What a compiled function does with a form that has no record."""

    _sizes: Sizes

    def _of_any_size(self, form: Form, tensors: list[Any], args: Any, kwargs: Any) -> Any:
        """What the call gives, if it is a sample or the first at its size; `MISS` where it is neither.

        Afterwards there may be a record.
        """
        sizes = self._sizes
        if (
            self._specialises
            or self._sound
            or self._fallback
            or form.floats
            or sizes.why is not None
        ):
            return MISS
        if form.key in self._refused or form.key in self._by_python:
            return MISS
        if not self._recording.acquire(blocking=False):
            return MISS
        try:
            sizes.look_beside(self._ledger, self._alive())
            if sizes.template is None:
                with self._lock:
                    sizes.note(form.loose)
                    wanted = sizes.wants_sample(form, self._ledger, self._alive())
                return self._sample(form, args, kwargs) if wanted else MISS
            try:
                ready: Any = self._ready_at_size(form, tensors)
            except Exception as error:
                sizes.fail(error)
                ready = None
            if ready is None:
                return MISS
            entry, trial, began = ready
            return self._try(entry, trial, tensors, began, args, kwargs)
        finally:
            self._recording.release()

    def _sample(self, form: Form, args: Any, kwargs: Any) -> Any:
        """Record the call, to have something to fit a template to."""
        began = moment()
        around = self._surroundings(form, args, kwargs)
        around.notes_calls = True
        # Once: to be told of every function that starts takes as long as all the rest, and at a size of which there
        # is no sample nobody is told either.
        around.watches = not self._sizes.samples
        memory = memory_of(args, kwargs)
        try:
            with uncollected():
                sample, result = Sample.recorded(around, args, kwargs, self._native, True)
        except CompileError as error:
            self._sizes.give_up(str(error).partition("\n")[0])
            if error.finished is not None:
                return error.finished[0]
            raise
        took = since(began)
        self._ledger.note_audit(form.key, took)
        if sample.capture.backward is not None:
            self._sizes.give_up(LATER)
            return result
        if was_swapped(memory, args, kwargs):
            return result
        if around.unseen is not None:
            self._sizes.give_up("something is read that no guard sees")
            return result
        began = moment()
        self._sizes.take(sample, took)
        self._ledger.recording += since(began)
        return result

    def _ready_at_size(self, form: Form, tensors: list[Any]) -> Any:
        """Make a record for this size, if the template holds for it; the first time, what a trial of it needs."""
        began = moment()
        sizes = self._sizes
        template = sizes.template
        assert template is not None
        values = template.values_of(form.loose, tensors)
        if values is None:
            sizes.note_miss("sizes that are no function of those that were seen")
            return None
        if values in sizes.wrong:
            return None
        guards = template.base.guards
        reason = guards.reason() or guards.clash(tensors)
        if reason is not None:
            sizes.note_miss(reason)
            return None
        sizes.misses = 0
        if values not in template.tried and not sizes.wants_trial(
            form, self._ledger, self._alive()
        ):
            return None
        if not template.stays_within(*values):
            self._note_wrong(template, values, "it would reach beyond its memory")
            return None
        if not template.has_room_for(values):
            template.make_room_for(values)
        try:
            entry = EntryAtSize(template, form, values)
        except ArithmeticError as error:  # a number made of sizes that is none at these
            self._note_wrong(template, values, str(error))
            return None
        entry.audits.begin(self._audit)
        if values in template.tried:
            self._keep_size(entry)
            return None
        if sizes.trial is None:
            try:
                sizes.trial = Trial(template, entry)
            except Unlike as error:
                sizes.give_up(str(error))
                return None
        return entry, sizes.trial, began

    def _try(
        self,
        entry: EntryAtSize,
        trial: Trial,
        tensors: list[Any],
        began: Any,
        args: Any,
        kwargs: Any,
    ) -> Any:
        """Run the function as it is written, and hold against it what the program gives."""
        sizes, template = self._sizes, entry.template
        with entry.alone() as alone:
            arrays = entry.arrays_of(tensors) if alone else None
            if arrays is None:
                return MISS
            given = trial.run(entry, arrays)
        versions = [box[0] for box, _ in entry.capture.versions]
        settings = trial.settings()
        start = moment()
        result = self._fn(*args, **kwargs)
        stop = moment()
        self._note_run(entry.key, between(start, stop), 0.0)
        found: str | None = "it stops at a value, and the function does not"
        if given is not None:
            found = trial.difference(
                entry, given, result, versions, settings, tensors, (args, kwargs)
            )
        if found is None:
            template.tried.add(entry.values)
            self._keep_size(entry)
        else:
            self._note_wrong(template, entry.values, found)
        sizes.trial_seconds = between(began, start) + since(stop)
        self._ledger.recording += sizes.trial_seconds
        return result

    def _look_back(self, entry: Entry) -> None:
        """How following went; a size is followed once, and then its Python is known to do what the template says."""
        if not isinstance(entry, EntryAtSize):
            super()._look_back(entry)
            return
        followed = entry.followed_calls
        if followed.runs:
            entry.template.followed.add(entry.values)
            entry.follow_no_more()
            entry.take_times()
        elif followed.differed:
            self._drop(entry)
            self._note_wrong(entry.template, entry.values, followed.why)
        elif followed.missed:  # then nothing is known of what Python does at another size
            self._give_up_template(entry.template, f"its Python cannot be followed: {followed.why}")

    def _note_wrong(self, template: Template, values: tuple[int, ...], found: str) -> None:
        """The program for all sizes is not what the function does at this one."""
        sizes = self._sizes
        sizes.wrong[values] = found
        at = Values(dict(zip(template.symbols, values, strict=True)))
        shapes = ", ".join(str(at.filled(view).shape) for view in template.arguments)
        log.info(
            "%s: the program for all sizes does not hold for %s: %s", self._name(), shapes, found
        )
        if len(sizes.wrong) >= MOST_WRONG:
            why = f"what it does depends on sizes in other ways: at {shapes}, {found}"
            self._give_up_template(template, why)
            warnings.warn(
                f"{self._name()} has no program for all sizes: {why}. Each size has one of its own.",
                stacklevel=warning_level(),
            )

    def _give_up_template(self, template: Template, why: str) -> None:
        """There is no program for all sizes, and there will be none."""
        self._sizes.give_up(why)
        for other in list(template.records):
            self._drop(other)
        log.info("%s: no program for all sizes: %s", self._name(), why)

    def _keep_size(self, entry: EntryAtSize) -> None:
        """Another record beside those that were recorded; the next call follows Python, if none has at this size."""
        template = entry.template
        if entry.values not in template.followed:
            entry.follow()
        with self._lock:
            if len(template.records) >= WEIGHED:
                entry.audits.note_weighed()
            template.records.add(entry)
            entry.take_times()
            self._entries.setdefault(entry.key, []).append(entry)
            self._entries.move_to_end(entry.key)
            while self._is_full(len(self._alive())):
                _, lost = self._entries.popitem(last=False)
                for gone in lost:
                    self._ledger.note_gone(gone)
                    template.records.discard(gone)
            self._last = entry
            self._by_shapes = {}
