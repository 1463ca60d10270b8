"""Counts what the doctor finds outside its own corpus: `python -m tests.doctor.outside.count [engine]`.

For each half: mistakes found by a code that tells the fact, those on a line that is to blame,
and corrections accused. With `--verbose`, what was said of each; with names, only those cases.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.doctor.corpus.judge import engine as load
from tests.doctor.corpus.judge import findings, told

from .divide import halves
from .facts import TELLS
from .variants import Case, cases


def judged(case: Case, torch: Any) -> tuple[bool, bool, list[Any], list[Any]]:
    """Whether the mistake is told, whether on its line, and what is said of both programs."""
    bug, fix = case.loops(torch)
    found = findings(bug)
    meant = [finding for finding in found if finding.code in TELLS[case.fact]]
    located = [f for f in meant if f.site is not None and _blamed(case, f.site)]
    return bool(meant), bool(located), found, findings(fix)


def _blamed(case: Case, site: Any) -> bool:
    return Path(site.file).samefile(case.file) and site.line in case.lines


def main(arguments: list[str]) -> None:
    """Count, and print."""
    verbose = "--verbose" in arguments
    names = [a for a in arguments if not a.startswith("--")]
    engines = [n for n in names if n in ("torch", "tautograd")] or ["torch", "tautograd"]
    wanted = [n for n in names if n in cases() or n in ("develop", "count")]
    half = halves()
    warnings.simplefilter("ignore")
    for name in engines:
        torch, totals = load(name), Counter[tuple[str, str]]()
        for case in cases().values():
            if wanted and case.name not in wanted and half[case.name] not in wanted:
                continue
            is_told, is_located, found, after = judged(case, torch)
            totals[half[case.name], "cases"] += 1
            totals[half[case.name], "found"] += is_told
            totals[half[case.name], "located"] += is_located
            totals[half[case.name], "accused"] += bool(after)
            if verbose or after or not is_located:
                mark = "line" if is_told else "miss"
                mark = "ok" if is_located else mark
                print(f"{half[case.name]:8}{mark:5}{case.family}/{case.name} [{case.fact}]")
                if verbose or is_told:
                    print("         " + told(found).replace("\n", "\n         "))
                if after:
                    print("   ACCUSED " + told(after).replace("\n", "\n         "))
        for which in ("develop", "count"):
            got = {what: n for (h, what), n in totals.items() if h == which}
            print(f"{name} {which}: {got}")


if __name__ == "__main__":
    main(sys.argv[1:])
