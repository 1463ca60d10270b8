"""Counts the catalogue: `python -m tests.verify.catalogue.count [-v] [half] [engine] [batch] [name part]`."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from . import RIGHT, WRONG
from .judging import outcome
from .table import counted, developed_on

BATCHES = sorted({row.batch for rows in (WRONG, RIGHT) for row in rows.values()})


def main(arguments: list[str]) -> None:
    verbose = "-v" in arguments
    words = [word for word in arguments if word != "-v"]
    halves = {"developed": developed_on, "counted": counted}
    engines = [word for word in words if word in ("torch", "tautograd")] or ["torch", "tautograd"]
    chosen = [word for word in words if word in halves] or list(halves)
    batches = [word for word in words if word in BATCHES] or list(BATCHES)
    parts = [word for word in words if word not in (*halves, *engines, *batches)]
    for engine in engines:
        import_module(engine)
        for half in chosen:
            _count(engine, half, halves[half], batches, parts, verbose)


def _count(engine, half, names_of, batches, parts, verbose) -> None:
    start = time.perf_counter()
    missed, unplaced, accused, broken = [], [], [], []
    tell = verbose and half == "developed"
    totals = []
    for rows in (WRONG, RIGHT):
        names = [n for n in names_of(rows) if rows[n].batch in batches]
        names = [n for n in names if not parts or any(p in n for p in parts)]
        totals.append(len(names))
        for name in names:
            began = time.perf_counter()
            try:
                result = outcome(rows[name], engine)
            except Exception as error:
                broken.append(name)
                if rows is WRONG:
                    missed.append(name)
                if tell:
                    print(f"BROKEN {name}: {type(error).__name__}: {str(error)[:300]}")
                continue
            if time.perf_counter() - began > 4 and tell:
                print(f"SLOW {name}: {time.perf_counter() - began:.1f} s")
            bad = None
            if rows is WRONG and not result.found:
                bad = missed
            elif rows is WRONG and not result.located:
                bad = unplaced
            elif rows is RIGHT and result.accused:
                bad = accused
            if bad is not None:
                bad.append(name)
                if tell:
                    print(f"{rows[name].kind} / {name}\n{result.said}")
    print(
        f"{engine} {half}: found {totals[0] - len(missed)}/{totals[0]}, "
        f"located {totals[0] - len(missed) - len(unplaced)}, accused {len(accused)}/{totals[1]}, "
        f"broken {len(broken)}; {time.perf_counter() - start:.0f} s"
    )
    if tell:
        print("missed", missed, "\nunplaced", unplaced, "\naccused", accused, "\nbroken", broken)


if __name__ == "__main__":
    main(sys.argv[1:])
