"""What records cost and what they save: whether another one may be made, and when looking for one is given up.

Nobody knows which arguments come next, so a function spends on recordings only what it has: the time that replays
have saved so far, and `SHARE` of the time that its calls would have taken as written, over at least `HORIZON` calls.
Whatever changes from call to call, it then takes at most 1 + `SHARE` of that time. Nor is what was saved thrown away
again on forms that hardly come, such as the last batches of epochs: a form is recorded once its runs as written have
lost what a record costs, and before that only out of a small part of the savings (`VENTURE`). The one record that is
made on trust is the first, if the arguments have had no more than `TRUSTED` forms until then (training, evaluation).
Times are the function's own: a call as written, a replay, a recording, each measured where it happens, and the least
of several counts.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from statistics import median
from typing import Any

HORIZON = 300  # calls over which compiling must not lose
SHARE = 0.05  # of their time that it may take
# What the first record of a function whose arguments change may cost, before one was made: a guess on the safe side.
LEAST, RUNS, MOST = 0.2, 50, 1.0  # seconds, runs as written, seconds
VENTURE = 0.125  # of what was saved, which may be spent on forms that have not come often yet
TRUSTED = 2
OFTEN = 4  # runs for each further form, before what has come so far is trusted
ENOUGH = 32  # runs as written beside records, or of one form alone, before looking for records is given up
RECENT = 9  # runs as written that say what further ones will take: the first ones take longer
FORMS = 256  # whose times are remembered
PAUSE = HORIZON  # calls that run as written when looking is given up; twice as many the next time
LONGEST = 64 * PAUSE
DOUBTFUL = 0.5  # of the time as written, from which on a record is compared again and again
WARM = 3  # runs as written that a record is held against, beside those that came before it


class Ledger:
    """The account of one compiled function, in seconds."""

    def __init__(self) -> None:
        # By the form of arguments: what a call takes as written, and how many there were.
        self.plain: OrderedDict[Any, tuple[float, int]] = OrderedDict()
        self.runs = 0  # as written
        self.run_seconds = 0.0
        self.recent: deque[float] = deque(maxlen=RECENT)  # the last of them
        self.looking = 0.0  # what such calls took besides
        self.records = 0
        self.first = 0.0  # the first record's price, and that of all later ones
        self.recording = 0.0
        self.ventured = 0.0  # on forms that had not come often
        self.venture: Any = None  # such a form, if it is to be recorded next
        self.last = 0.0  # of one record, the latest
        self.gone = [0.0, 0.0]  # what calls of records that are gone would have taken, and saved
        self.pause = 0  # calls that are still to run as written without a look
        self.paused = 0  # how often that was decided
        self.said = False

    def note_run(self, key: Any, seconds: float, besides: float) -> None:
        """A call has run as written."""
        least, count = self.plain.pop(key, (seconds, 0))
        least = min(least, seconds)
        self.plain[key] = least, count + 1
        self.runs += 1
        self.run_seconds += least
        self.recent.append(least)
        self.looking += besides
        if len(self.plain) > FORMS:
            self.plain.popitem(last=False)

    def note_record(self, key: Any, seconds: float) -> None:
        """A call was recorded, in `seconds`; it has run then, too."""
        price = max(seconds - self.plain_seconds(key), 0.0)
        if self.records:
            self.recording += price
        else:
            self.first = price
        if key == self.venture:
            self.ventured += price
        self.venture = None
        self.records += 1
        self.last = price

    def note_audit(self, key: Any, seconds: float) -> None:
        """A call was audited; it has run as written, too."""
        self.recording += max(seconds - self.plain_seconds(key), 0.0)

    def note_gone(self, entry: Any) -> None:
        """A record is given up; what it saved remains."""
        self.gone = [a + b for a, b in zip(self.gone, self._account([entry]), strict=True)]

    def plain_seconds(self, key: Any) -> float:
        """What a call of a form takes as written."""
        found = self.plain.get(key)
        return self.run_seconds / max(self.runs, 1) if found is None else found[0]

    def _account(self, entries: Iterable[Any]) -> tuple[float, float]:
        """What the calls of these records would have taken as written, and what was saved."""
        total = saved = 0.0
        for entry in entries:
            plain = self.plain_seconds(entry.key)
            seconds: float = entry.seconds
            total += entry.calls * plain
            if seconds < float("inf"):
                saved += entry.calls * (plain - seconds)
        return total, saved

    def saved(self, entries: Iterable[Any]) -> float:
        return self.gone[1] + self._account(entries)[1]

    def share(self, entries: list[Any]) -> float:
        """What compiling may cost beyond what it saves."""
        total, _ = self._account(entries)
        calls: int = self.runs + sum([entry.calls for entry in entries])
        # The first runs take longer than those that come: what they have shown is no time that others take.
        runs_seconds = min(self.run_seconds, self.runs * self.typical)
        plain = runs_seconds + total + self.gone[0]
        return SHARE * max(plain, HORIZON * plain / max(calls, 1))

    def price(self, key: Any) -> float:
        """What a record of a form is expected to cost."""
        if self.records:
            return self.last
        return min(LEAST + RUNS * self.plain_seconds(key), MOST)

    def allows(self, key: Any, entries: list[Any]) -> bool:
        """Whether a form is recorded that has no record.

        It is if its runs as written have lost what a record costs: then it would have been right to have one (as
        with skis, rented until the rent would have bought them). Another one may come again or not; on such only a
        part of what was saved is spent.
        """
        others = len(self.plain) - 1
        if not self.records and others < TRUSTED and self.runs >= OFTEN * others:
            return True  # little has changed so far: this is what compiling was asked for
        price = self.price(key)
        saved = self.saved(entries)
        left = saved - self.first - self.recording - self.looking
        least, count = self.plain.get(key, (0.0, 0))
        if least * count * self.gain(entries) >= price:
            return price <= left + self.share(entries)
        if price > min(left, VENTURE * saved - self.ventured):
            return False
        self.venture = key
        return True

    def affords(self, price: float, entries: list[Any], trust: float = 0.0) -> bool:
        """Whether so much can be spent on what all forms have in common; `trust` is advanced, of the horizon's time."""
        spent = self.first + self.recording + self.looking
        advanced = trust * HORIZON * self.typical
        return spent + price <= self.saved(entries) + self.share(entries) + advanced

    @property
    def typical(self) -> float:
        """What a further call takes as written, whatever its form."""
        return median(self.recent) if self.recent else 0.0

    def gain(self, entries: list[Any]) -> float:
        """The part of its time as written that a call saves which has a record."""
        total, saved = self._account(entries)
        total, saved = total + self.gone[0], saved + self.gone[1]
        return max(saved / total, 0.0) if total else 1.0

    def is_lost(self, entries: list[Any], refused: bool = False) -> bool:
        """Whether calls run as written for a while, without a look at their arguments: looking costs too much.

        Half of the share is for that, and half for records. Where there are records, or one form comes alone, as many
        runs as written are waited for as say that none of its records holds. A form that is `refused` will have none,
        so the look at it is lost at once.
        """
        if (
            self.runs < RECENT
        ):  # what a call takes is not known yet, and the first look makes much that stays
            return False
        if self.runs < ENOUGH and (entries or (len(self.plain) < 2 and not refused)):
            return False
        if self.looking <= self.saved(entries) + self.share(entries) / 2:
            return False
        self.pause = min(PAUSE << self.paused, LONGEST)
        self.paused += 1
        return True

    def weighs(self, entry: Any) -> bool:
        """Whether a run as written has to say what a record saves.

        The run before a recording is the first one, which makes what it finds missing: kernels, an optimizer's
        states. Held against it alone, a record that loses would seem to save. So some more are always made; a run
        as written in place of a replay makes nothing slower than it would be without a record.
        """
        return self.runs_of(entry.key) < 1 + WARM or self.doubts(entry)

    def runs_of(self, key: Any) -> int:
        """How often a form has run as written."""
        return self.plain.get(key, (0.0, 0))[1]

    def doubts(self, entry: Any) -> bool:
        """Whether a record saves so little that it may save nothing."""
        seconds: float = entry.seconds
        return DOUBTFUL * self.plain_seconds(entry.key) < seconds < float("inf")

    def pays(self, entry: Any) -> bool:
        return bool(entry.seconds <= self.plain_seconds(entry.key))

    def skips(self) -> bool:
        """Whether this call runs as written without a look."""
        self.pause -= 1
        return self.waits()

    def waits(self) -> bool:
        """A call runs as written without a look, and nobody has timed it."""
        self.run_seconds += self.typical
        self.runs += 1
        return True

    def in_words(self, entries: list[Any]) -> str:
        """Cost and gain so far."""
        records = f"{self.records} record{'s' * (self.records != 1)}"
        cost, gain = self.first + self.recording, self.saved(entries)
        sums = (
            f"{records} cost {in_seconds(cost)} and saved {in_seconds(gain)}, "
            if self.records
            else ""
        )
        mean = self.run_seconds / max(self.runs, 1)
        about = "" if self.records else "about "
        price = f"another one costs {about}{in_seconds(self.price(None))}"
        return f"{sums}{price}, and a call as written takes {in_seconds(mean)}"

    def to_dict(self, entries: list[Any]) -> dict[str, Any]:
        return {
            "runs_as_written": self.runs,
            "seconds_as_written": self.run_seconds,
            "seconds_recording": self.first + self.recording,
            "seconds_saved": self.saved(entries),
            "paused": bool(self.pause),
        }


def in_seconds(seconds: float) -> str:
    if abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if abs(seconds) < 1 else f"{seconds:.1f} s"
