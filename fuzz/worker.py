"""A process that runs one target's cases until it is told to stop, or killed.

It first writes the current case's seed to a small shared file, so that the monitoring process knows
which case crashed the worker or hung.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from typing import Any

from fuzz import at_work, unheard
from fuzz.registry import target_named
from fuzz.target import Case, Target

NOTE = struct.Struct("<QQ")  # how many cases were started, and the latest seed
SHRINKING = 300  # tries at most


def case_of(target: Target, seed: int) -> Case:
    """The case generated from a seed."""
    return target.case(random.Random(f"{target.name}:{seed}"))


def run_case(target: Target, case: Case, counts: Counter[str] | None = None) -> str | None:
    """What went wrong with a case; an exception that a check does not catch is wrong too.

    So is one that cannot be caught: in a destructor, a callback, a thread.
    """
    with unheard.listening() as heard:
        wrong = _check(target, case, Counter() if counts is None else counts)
    return wrong or (heard[0] if heard else None)


def _check(target: Target, case: Case, counts: Counter[str]) -> str | None:
    try:
        return target.check(case, counts)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        return f"{type(error).__name__} out of the check, at {where}\n{error}"


def kind_of(message: str) -> str:
    """What failures with the same cause share: the first line."""
    return message.strip().split("\n", 1)[0]


def shrink(target: Target, case: Case, kind: str) -> Case:
    """The simplest case found that fails in the same way."""
    tries = 0
    while tries < SHRINKING:
        for candidate in target.smaller(case):
            tries += 1
            wrong = run_case(target, candidate)
            if wrong is not None and kind_of(wrong) == kind:
                case = candidate
                break
            if tries >= SHRINKING:
                return case
        else:
            return case
    return case


def main(name: str, first: int, end: int, until: float, note: int) -> None:
    """Run cases of seeds first, …, end - 1 while there is time; findings are JSON lines on stdout."""
    target = target_named(name)
    at_work.use(note)
    if target.memory:
        resource.setrlimit(resource.RLIMIT_AS, (target.memory, target.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    out = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # the code under attack may print
    target.prepare()
    counts: Counter[str] = Counter()
    known: set[str] = set()
    seed, begun, told = first, 0, time.monotonic()

    def say(record: dict[str, Any]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    while seed < end and time.time() < until:
        begun += 1
        os.pwrite(note, NOTE.pack(begun, seed), 0)
        case = case_of(target, seed)
        wrong = run_case(target, case, counts)
        for remark in target.remarks:
            say({"remark": {**remark, "seed": seed}})
        target.remarks.clear()
        if wrong is not None:
            kind = kind_of(wrong)
            if kind not in known:
                known.add(kind)
                os.pwrite(note, NOTE.pack(0, seed), 0)  # not monitored while it is shrunk
                case = shrink(target, case, kind)
                wrong = run_case(target, case) or wrong
                target.remarks.clear()
            say({"failure": wrong, "case": case, "seed": seed})
        seed += 1
        if time.monotonic() - told > 1:
            told = time.monotonic()
            say({"counts": counts, "next": seed})
            counts.clear()
    say({"counts": counts, "next": seed, "done": True})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
