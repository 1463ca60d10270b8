"""Counts the fixes: `python -m tests.doctor.outside.fixes [engine] [half, family or case ...]`.

Of the findings on the reported mistakes: how many are offered a change, and whether each holds when the whole
program is run again.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections import Counter
from typing import Any

import tautograd
from tautograd._doctor.fixes.offer import Outcome, holds, mended
from tests.doctor.corpus.judge import engine as load

from .count import judged
from .divide import parts
from .variants import Case, cases, seeded


def attempt(case: Case, torch: Any, changed: dict[str, str]) -> Outcome:
    """Run a case with another text for its file."""
    import linecache

    _forget()
    text = changed[str(case.file)]
    linecache.cache[str(case.file)] = (len(text), None, text.splitlines(True), str(case.file))
    module = types.ModuleType("changed")
    try:
        exec(compile(text, str(case.file), "exec"), module.__dict__)
        with warnings.catch_warnings(), tautograd.doctor() as doctor:
            warnings.simplefilter("ignore")
            seeded(torch, getattr(module, case.name))()
    except Exception as error:
        return Outcome(error=repr(error))
    finally:
        linecache.cache.pop(str(case.file), None)
        _forget()
    return Outcome(doctor.findings, doctor.steps or doctor.backwards)


def _forget() -> None:
    """What was read of the file is another text."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tautograd._doctor"):
            for member in list(vars(module).values()):
                getattr(member, "cache_clear", bool)()


def main(arguments: list[str]) -> None:
    """Count, and print."""
    engines = [n for n in arguments if n in ("torch", "tautograd")] or ["tautograd"]
    wanted = {n for n in arguments if n not in engines and not n.startswith("--")}
    part_of = parts()
    warnings.simplefilter("ignore")
    for name in engines:
        torch, totals = load(name), Counter[str]()
        for case in cases().values():
            if wanted and not wanted & {case.name, case.family, part_of[case.name]}:
                continue
            found = [f for f in judged(case, torch)[2] if f.severity != "info" and not f.follows]
            text = case.file.read_text(encoding="utf-8")
            first = attempt(case, torch, {str(case.file): text})
            offered = list(mended(found, first.steps, lambda c, k=case, t=torch: attempt(k, t, c)))
            for finding, fix in offered:
                totals["findings"] += 1
                totals["offered"] += fix is not None
                if fix is None:
                    print(f"none  {finding.code} {case.family}/{case.name}")
                    continue
                again = attempt(case, torch, {fix.file: fix.after})
                held = holds(finding, found, first.steps, again)
                totals["held"] += held
                if "--verbose" in arguments:
                    print(f"fix   {finding.code} {case.family}/{case.name}\n{fix.diff()}")
                if not held:
                    print(f"LOST  {finding.code} {case.family}/{case.name}")
        print(name, dict(totals))


if __name__ == "__main__":
    main(sys.argv[1:])
