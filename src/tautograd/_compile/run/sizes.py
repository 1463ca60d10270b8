"""Sizes that change from call to call: when samples are taken of them, and what a template of them is worth.

Samples and the template cost what some fifty calls take, and what they save is known after them only. Out of the
share of all calls' time that compiling may take (`ledger.py`) they would come after a thousand calls. So once in the
life of a function this much is advanced (`TRUST`), where what can be known beforehand speaks for it: sizes have come
back, so that a size that was tried is of use; calls of all sizes made as many operations, so that there is no loop over
a size; and what a template is expected to cost is less than that. The first calls at each size are part of it: where
sizes do not come back after all, they stop. Who knows better says `dynamic=True`. Samples are given up once and for all
where they have something in common that is no function of sizes.

Machine code that is not there from an earlier run is made by a process beside (`native/disk_cache/beside.py`), and
calls run as written until it is there.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

from ..._tensor.settings import get_num_threads
from ..._user_code.sites import warning_level
from ..dynamic.size import LEAST, NotSymbolic
from ..dynamic.template import FewSamples, Template, Unlike
from .clock import between, moment
from .replay import lowering

log = logging.getLogger("tautograd.compile")

FAILED = "no program for all sizes could be made"
MOST_FORMS = 64  # that are remembered
FEWEST = 3  # sizes in a row before a sample is taken of them
MOST_SAMPLES = 5
RETRIES = 1  # with another sample, where those so far have not enough in common
MOST_TEMPLATES = 3
MISSES = 6  # calls one after the other that a template does not hold for
MOST_WRONG = 3  # sizes at which a template did not agree, before it is given up
# What a sample and the template are expected to cost before one was made, as calls as written and in seconds.
SAMPLE_CALLS, SAMPLE_SECONDS = 10, 0.003
LATER = 0.5  # of the first sample's price, which has paid for what is made once
TEMPLATE_CALLS, TEMPLATE_SECONDS = 20, 0.012
CODE_SECONDS = 0.25  # and what its machine code costs, where the caller has to make it
TRIAL = 1.0  # what the first call at a size costs besides, as a part of one as written, before one was made
# How many calls' time may be advanced, of the number over which compiling must not lose (`HORIZON`): about what the
# replays in half of those save.
TRUST = 0.35


class Sizes:
    """The samples, and the template once there is one, of one function."""

    def __init__(self) -> None:
        self.at_once = False  # whether samples are taken whatever they cost
        self.samples: list[Any] = []
        self.template: Template | None = None
        self.awaited: Template | None = None  # a template that has no machine code yet
        self.helper: Any = None  # the process that makes it
        self.trial: Any = None
        self.why: str | None = None  # there will be no template
        self.wrong: dict[tuple[int, ...], str] = {}
        self.skeleton: Any = None
        self.latest: Any = None
        self.met: set[Any] = set()  # forms that have this skeleton
        self.comes_back = False  # whether one of them has come twice
        self.operations: dict[Any, int] = {}  # how many a call of each has made
        self.seconds = 0.0  # that samples, the template and first calls have cost
        self.misses = 0
        self.unlike = 0
        self.given_up = 0
        self.sample_seconds = 0.0  # of the last sample
        self.trial_seconds = 0.0  # that the last first call at a size took besides

    def note(self, loose: Any) -> None:
        """A call without a record."""
        skeleton = _skeleton(loose)
        if skeleton != self.skeleton:
            self.skeleton, self.met, self.comes_back = skeleton, set(), False
            self.operations.clear()
        # A form that comes again at once says nothing of others.
        self.comes_back |= loose in self.met and loose != self.latest
        self.latest = loose
        if len(self.met) < MOST_FORMS:
            self.met.add(loose)

    def note_operations(self, loose: Any, count: int) -> None:
        """How many operations a call as written has made."""
        if loose in self.met:
            self.operations[loose] = count

    @property
    def loops(self) -> bool:
        """Whether forms differ in how many operations their calls make, as by a loop over a size."""
        return len(set(self.operations.values())) > 1

    def wants_sample(self, form: Any, ledger: Any, entries: list[Any]) -> bool:
        """Whether this call is recorded as a sample."""
        if self.why is not None or self.awaited is not None or len(self.met) < 2:
            return False
        if any(sample.loose == form.loose for sample in self.samples):
            return False
        if any(_is_small(form.loose, other) for other in self.met):
            return False
        if self.at_once and ledger.runs:
            return True
        if len(self.met) < FEWEST or not self.comes_back or self.loops:
            return False
        return self._pays(ledger, entries)

    def _pays(self, ledger: Any, entries: list[Any]) -> bool:
        """Whether what is still to be made can be paid for."""
        plain = ledger.typical
        missing = max(FEWEST - len(self.samples), 1)
        sample = self.sample_seconds or SAMPLE_SECONDS + SAMPLE_CALLS * plain
        if len(self.samples) == 1:
            sample *= LATER
        cost = missing * sample + TEMPLATE_SECONDS + TEMPLATE_CALLS * plain
        if not has_help():
            cost += CODE_SECONDS
        return bool(ledger.affords(cost, entries, self.trust))

    @property
    def trust(self) -> float:
        """The part of the horizon's time that is advanced: to a function that has disappointed once, nothing."""
        return 0.0 if self.unlike or self.given_up else TRUST

    def wants_trial(self, form: Any, ledger: Any, entries: list[Any]) -> bool:
        """Whether a call is held against the template: what that costs can be paid for."""
        if self.at_once:
            return True
        price = self.trial_seconds or TRIAL * ledger.plain_seconds(form.key)
        return bool(ledger.affords(price, entries, self.trust))

    def take(self, sample: Any, seconds: float) -> None:
        """Another sample; a template is fitted once there are enough."""
        self.seconds += seconds
        self.sample_seconds = seconds
        self.samples.append(sample)
        began = moment()
        try:
            if len(self.samples) >= 2:
                self._fit()
        except (Unlike, NotSymbolic) as error:
            self.unlike += 1
            if self.unlike > RETRIES or len(self.samples) < FEWEST:
                self.give_up(str(error))
                log.info("no program for all sizes: %s", self.why)
            else:
                self.samples.remove(min(self.samples, key=_extent))  # small sizes are often special
        except Exception as error:  # the call has run, and what it gave must not be lost
            self.fail(error)
        self.seconds += between(began, moment())

    def _fit(self) -> None:
        native, why = lowering()
        if why:
            raise Unlike(why)
        try:
            template = Template(self.samples, native, get_num_threads())
        except FewSamples:
            if len(self.samples) >= MOST_SAMPLES:
                raise Unlike("more sizes that change than records can tell apart") from None
            return
        template.price = 3 * self.sample_seconds
        self.samples.clear()
        if not self.at_once and not template.kept():
            from ..native.disk_cache import beside

            self.helper = beside.helper(template.requests)
        if self.helper is None:
            self._take(template)
        else:
            self.awaited = template

    def _take(self, template: Template) -> None:
        self.awaited = None
        self.dismiss()
        template.finish()
        self.template = template

    def waits(self) -> bool:
        """Whether the awaited machine code is still being made: until then there is nothing to look for."""
        helper = self.helper
        return helper is not None and not helper.is_done

    def dismiss(self) -> None:
        """There is nothing more to be lowered."""
        helper, self.helper = self.helper, None
        if helper is not None:
            helper.stop()

    def look_beside(self, ledger: Any, entries: list[Any]) -> None:
        """Take the awaited machine code, if it is there.

        Where the process has failed, the caller makes it as soon as that can be paid for.
        """
        template = self.awaited
        if template is None or (self.helper is not None and not self.helper.is_done):
            return
        self.dismiss()
        began = moment()
        try:
            if template.kept() or ledger.affords(CODE_SECONDS, entries):
                self._take(template)
        except (Unlike, NotSymbolic) as error:
            self.give_up(str(error))
        ledger.recording += between(began, moment())

    def give_up(self, why: str) -> None:
        """There will be no template."""
        self.template = self.awaited = None
        self.why = why
        self.samples.clear()
        self.dismiss()

    def fail(self, error: Exception) -> None:
        """There will be no template, because of a mistake in here; nobody's calls are to fail for that."""
        self.give_up(f"{FAILED} ({type(error).__name__}: {error})")
        warnings.warn(f"compile: {self.why}", stacklevel=warning_level())

    def begin_anew(self, why: str) -> None:
        """The template holds for none of the calls that come now."""
        self.template = self.trial = self.awaited = None
        self.dismiss()
        self.misses = 0
        self.samples.clear()
        self.wrong.clear()
        self.given_up += 1
        if self.given_up >= MOST_TEMPLATES:
            self.why = why

    def in_words(self) -> list[str]:
        """What sizes are symbols, and why there are none, for people to read."""
        template = self.template
        if self.awaited is not None:
            return ["a program for all sizes is being compiled, in a process beside"]
        if template is None and self.why is None and self.loops:
            return [
                "no program for all sizes: another number of operations, as a loop over a size has them"
            ]
        if template is None:
            return [f"no program for all sizes: {self.why}"] if self.why else []
        symbols = zip(template.symbols, template.where, strict=True)
        named = ", ".join(f"{s} is size {d} of argument {i}" for s, (i, d) in symbols)
        lines = [
            f"one program for all sizes: {named}; {len(template.tried)} sizes held against the function"
        ]
        if template.decisions:
            lines.append("it holds " + " and ".join(map(_in_words, template.decisions)))
        lines += [f"not at {values}: {why}" for values, why in self.wrong.items()]
        return lines

    def note_miss(self, why: str) -> None:
        """A call of another form, or one of which the template's guards say that it does not hold."""
        self.misses += 1
        if self.misses >= MISSES:
            self.begin_anew(why)


def has_help() -> bool:
    """Whether machine code is made beside, and so costs no time of the caller's."""
    if lowering()[1]:
        return False
    from ..native.disk_cache import beside

    return beside.may_help()


def _in_words(decision: tuple[str, str, bool]) -> str:
    text, relation, found = decision
    return f"where {text} {relation if found else {'==': '!=', '<': '>='}[relation]} 0"


def _extent(sample: Any) -> int:
    return sum(view.size for view in sample.capture.arguments)


def _skeleton(loose: Any) -> Any:
    """A form without the sizes of its tensors."""
    if type(loose) is int:
        return int
    return tuple(map(_skeleton, loose)) if type(loose) is tuple else loose


def _is_small(loose: Any, other: Any) -> bool:
    """Whether a size that changes is one of those that mean other things: none, or one."""
    if type(loose) is int:
        return loose != other and loose < LEAST
    return type(loose) is tuple and any(map(_is_small, loose, other))
