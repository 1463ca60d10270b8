"""The result of a verification: one object to read, print and save."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._report.plain import Plain
from .findings import Cut, Entry, Kink, Suspect


@dataclass
class Check(Plain):
    """One comparison of the gradient with one reference."""

    reference: str
    compares: str
    entries: int = 0
    worst: float = 0.0  # the largest gap in units of its own tolerance: at most 1 means agreement
    error: float = 0.0  # the largest gap itself, among the excessive ones if there are any
    tolerance: float = 0.0  # the tolerance for that same entry
    verdict: str = "agrees"  # or "wrong", "kinks", "not applicable"
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict != "wrong"

    def measure(self, gap: Any, tolerance: Any, *, wrong: Any = None, seen: Any = True) -> int:
        """Record the figures of these entries; returns the place of the one with the largest error.

        `wrong` marks those that disagree (default: the gap is above the tolerance), `seen`
        those that were compared at all.
        """
        gap, tolerance, seen = np.broadcast_arrays(gap, tolerance, seen)
        if not gap.size:
            return 0
        with np.errstate(all="ignore"):
            if gap.max() < np.inf and tolerance.min() > 0:  # fast path for the usual case
                ratio = gap / tolerance
            else:
                gap = np.where(np.isnan(gap), np.inf, gap)
                ratio = np.nan_to_num(
                    np.where(gap > 0, gap / tolerance, 0.0), nan=np.inf, posinf=np.inf
                )
        beyond = (ratio > 1) & seen
        among = next((a for a in (wrong, beyond) if a is not None and np.any(a)), seen)
        at = int(np.argmax(np.where(among, gap, -1.0)))
        self.worst = float(np.max(np.where(seen, ratio, 0.0)))
        self.error = float(gap.flat[at]) if seen.flat[at] else 0.0
        self.tolerance = float(tolerance.flat[at])
        return at


@dataclass
class Report(Plain):
    """The outcome of `verify`."""

    name: str
    engine: str
    verdict: str = "correct"  # or "wrong", "cut", "unclear"
    checks: list[Check] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    wrong_entries: int = 0
    kinks: list[Kink] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    behaviour: dict[str, Any] = field(default_factory=dict)
    confirmed: Any = None
    tried: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    subject: Any = field(default=None, repr=False, compare=False)
    observed: Any = field(default=None, repr=False, compare=False)  # by the maker of the inputs
    sensitivity: Callable[[float], float] | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether no gradient was found wrong."""
        return self.verdict == "correct"

    def __bool__(self) -> bool:
        return self.ok

    def detection(self, size: float) -> float:
        """The probability with which a single entry wrong by `size` would have been caught."""
        if self.sensitivity is None:
            raise RuntimeError("detection: nothing was compared numerically, so nothing is known")
        return self.sensitivity(size)

    def assurance(self) -> str:
        """What was tried, what could have been missed and how probably, and what is assumed."""
        from .assurance import assurance_of, in_words

        return in_words(assurance_of(self))

    def raise_if_wrong(self) -> Report:
        """Raise an AssertionError with the whole report unless the gradient is correct."""
        if not self.ok:
            raise AssertionError(str(self))
        return self

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it as an evidence file, with everything needed to reproduce it."""
        from tautograd import evidence

        return evidence.save(self, path, overwrite=overwrite)

    def show(self) -> Path:
        """Open it in the browser; returns the path of the file written for that."""
        from ..._report.browser import open_page
        from .render_html import page_of

        return open_page(page_of([self.to_dict()]), "report")

    def __str__(self) -> str:
        from .render_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from .render_html import as_html

        return as_html(self)
