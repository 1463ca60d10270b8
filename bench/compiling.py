"""`python -m bench.compiling STEP CACHE`: seconds of the call that records and compiles a step.

CACHE is the folder for compiled object code: code that an earlier run left there is read back.
"""

from __future__ import annotations

import os
import sys
import time


def seconds(name: str, cache: str) -> float:
    os.environ["XDG_CACHE_HOME"] = cache
    import tautograd
    from bench.steps import STEPS

    step = STEPS[name].on(tautograd)
    eager = step.__call__
    compiled = tautograd.compile(step)
    compiled()
    started = time.perf_counter()
    eager()
    alone = time.perf_counter() - started
    started = time.perf_counter()
    compiled()
    return time.perf_counter() - started - alone


if __name__ == "__main__":
    print(seconds(*sys.argv[1:]))
