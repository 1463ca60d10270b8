"""Sizes that change from call to call: when samples are taken of them, and what a template of them is worth.

Samples and the template cost what some hundred calls take, and what they save is known after them only. So they are
paid for as records are, out of the share of all calls' time that compiling may take (`ledger.py`): in a long run they
come by themselves, and nobody loses by them in a short one. Who knows better says `dynamic=True`. They are given up
once and for all where records have something in common that is no function of sizes.
"""

from __future__ import annotations

import logging
from typing import Any

from ..._tensor.settings import get_num_threads
from ..dynamic.size import LEAST, NotSymbolic
from ..dynamic.template import FewSamples, Template, Unlike
from .clock import between, moment
from .replay import lowering

log = logging.getLogger("tautograd.compile")

MOST_FORMS = 64  # that are remembered
FEWEST = 3  # sizes in a row before a sample is taken of them
MOST_SAMPLES = 5
RETRIES = 1  # with another sample, where those so far have not enough in common
MOST_TEMPLATES = 3
MISSES = 6  # calls one after the other that a template does not hold for
MOST_WRONG = 3  # sizes at which a template did not agree, before it is given up
# What a sample and the template are expected to cost before one was made, as calls as written and in seconds; the
# template with machine code that is not there from an earlier run.
SAMPLE_CALLS, SAMPLE_SECONDS = 16, 0.006
TEMPLATE_CALLS, TEMPLATE_SECONDS = 20, 0.35


class Sizes:
    """The samples, and the template once there is one, of one function."""

    def __init__(self) -> None:
        self.at_once = False  # whether samples are taken whatever they cost
        self.samples: list[Any] = []
        self.template: Template | None = None
        self.trial: Any = None
        self.why: str | None = None  # there will be no template
        self.wrong: dict[tuple[int, ...], str] = {}
        self.skeleton: Any = None
        self.met: set[Any] = set()  # forms that have this skeleton
        self.seconds = 0.0  # that samples, the template and first calls have cost
        self.misses = 0
        self.unlike = 0
        self.given_up = 0
        self.sample_seconds = 0.0  # of the last sample

    def note(self, loose: Any) -> None:
        """A call without a record."""
        skeleton = _skeleton(loose)
        if skeleton != self.skeleton:
            self.skeleton, self.met = skeleton, set()
        if len(self.met) < MOST_FORMS:
            self.met.add(loose)

    def wants_sample(self, form: Any, ledger: Any, entries: list[Any]) -> bool:
        """Whether this call is recorded as a sample."""
        if self.why is not None or self.template is not None or len(self.met) < 2:
            return False
        if any(sample.loose == form.loose for sample in self.samples):
            return False
        if any(_is_small(form.loose, other) for other in self.met):
            return False
        if self.at_once and ledger.runs:
            return True
        return len(self.met) >= FEWEST and self._pays(ledger, entries)

    def _pays(self, ledger: Any, entries: list[Any]) -> bool:
        """Whether what is still to be made can be paid for."""
        plain = ledger.run_seconds / max(ledger.runs, 1)
        missing = max(FEWEST - len(self.samples), 1)
        sample = self.sample_seconds or SAMPLE_SECONDS + SAMPLE_CALLS * plain
        cost = missing * sample + TEMPLATE_SECONDS + TEMPLATE_CALLS * plain
        return bool(ledger.affords(cost, entries))

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
                self.why = str(error)
                self.samples.clear()
                log.info("no program for all sizes: %s", self.why)
            else:
                self.samples.remove(min(self.samples, key=_extent))  # small sizes are often special
        self.seconds += between(began, moment())

    def _fit(self) -> None:
        native, why = lowering()
        if why:
            raise Unlike(why)
        try:
            self.template = Template(self.samples, native, get_num_threads())
            self.template.price = 3 * self.sample_seconds
        except FewSamples:
            if len(self.samples) >= MOST_SAMPLES:
                raise Unlike("more sizes that change than records can tell apart") from None
            return
        self.samples.clear()

    def begin_anew(self, why: str) -> None:
        """The template holds for none of the calls that come now."""
        self.template = self.trial = None
        self.misses = 0
        self.samples.clear()
        self.wrong.clear()
        self.given_up += 1
        if self.given_up >= MOST_TEMPLATES:
            self.why = why

    def in_words(self) -> list[str]:
        """What sizes are symbols, and why there are none, for people to read."""
        template = self.template
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
