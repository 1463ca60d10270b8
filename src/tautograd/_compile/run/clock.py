"""How long something took, on a machine that may have other work to do.

Records are made and given up by what they cost and save, so a time must be the function's own. By the clock on the
wall a call takes as long as other processes let it wait; and since calls as written are few and replays many, the least
of each does not make up for that: on a busy machine a record would seem to save many times what it does. The time of
the processor is the process's own, but counts all of its threads. So the shorter of the two counts.
"""

from __future__ import annotations

import time
from time import perf_counter, process_time

# Where the processor's time is counted in ticks (15 ms on Windows), short calls seem to take none.
_IS_FINE = time.get_clock_info("process_time").resolution <= 1e-6

Moment = tuple[float, float]


def moment() -> Moment:
    """A moment to measure from."""
    return perf_counter(), process_time()


def since(began: Moment) -> float:
    """The seconds since a moment, but those in which the process waited for a processor."""
    return between(began, moment())


def between(began: Moment, ended: Moment) -> float:
    """The same from one moment to another."""
    wall, own = ended[0] - began[0], ended[1] - began[1]
    return min(wall, own) if _IS_FINE else wall
