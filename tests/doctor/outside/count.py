"""Counts what the doctor finds outside its own corpus: `python -m tests.doctor.outside.count [engine]`.

For each half: mistakes found by a code that tells the fact, those on a line that is to blame,
and corrections and sound loops accused. With `--verbose`, what was said of each; with names (of an
engine, a half, a family or a case), only those; with `--families`, only numbers, family by family,
so that the half that is only counted can be counted without a look at its cases. `seen` is the counted
half of the families that were looked at while rules were tried, `-later` what was collected when the rules
were there already, `-newest` what was collected after that, `-blind` what was collected by someone who had not seen
the rules.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.doctor.corpus.judge import engine as load
from tests.doctor.corpus.judge import findings, told

from .divide import parts
from .facts import TELLS
from .variants import Case, cases, seeded, sound_loops


def judged(case: Case, torch: Any) -> tuple[bool, bool, list[Any], list[Any]]:
    """Whether the mistake is told, whether on its line, and what is said of both programs."""
    bug, fix = case.loops(torch)
    found = findings(bug)
    meant = [finding for finding in found if finding.code in TELLS[case.fact]]
    located = [f for f in meant if f.site is not None and _blamed(case, f.site)]
    return bool(meant), bool(located), found, accusations(fix)


def accusations(loop: Any) -> list[Any]:
    """What is held against a loop in which nothing is wrong; a note (`info`) is no accusation."""
    return [finding for finding in findings(loop) if finding.severity != "info"]


def _blamed(case: Case, site: Any) -> bool:
    return Path(site.file).samefile(case.file) and site.line in case.lines


def main(arguments: list[str]) -> None:
    """Count, and print."""
    verbose, families = "--verbose" in arguments, "--families" in arguments
    names = [a for a in arguments if not a.startswith("--")]
    engines = [n for n in names if n in ("torch", "tautograd")] or ["torch", "tautograd"]
    wanted = {n for n in names if n not in engines}
    part_of = parts()
    warnings.simplefilter("ignore")
    for name in engines:
        torch, totals = load(name), Counter[tuple[str, str]]()
        by_family: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for case in cases().values():
            part = part_of[case.name]
            if wanted and not wanted & {case.name, case.family, part}:
                continue
            is_told, is_located, found, after = judged(case, torch)
            totals[part, "cases"] += 1
            totals[part, "found"] += is_told
            totals[part, "located"] += is_located
            totals[part, "accused"] += bool(after)
            by_family[part, case.family].update(cases=1, located=is_located, accused=bool(after))
            if families:
                continue
            if verbose or after or not is_located:
                mark = "line" if is_told else "miss"
                mark = "ok" if is_located else mark
                print(f"{part:14}{mark:5}{case.family}/{case.name} [{case.fact}]")
                if verbose or found:
                    print("         " + told(found).replace("\n", "\n         "))
                if after:
                    print("   ACCUSED " + told(after).replace("\n", "\n         "))
        for loop_name, loop in sound_loops().items():
            if wanted and not wanted & {loop_name, "sound", part_of[loop_name]}:
                continue
            said = accusations(seeded(torch, loop))
            totals[part_of[loop_name], "sound"] += 1
            totals[part_of[loop_name], "sound accused"] += bool(said)
            if said and not families:
                print(f"{part_of[loop_name]:14}ACCUSED sound/{loop_name}\n         " + told(said))
        for (which, family), row in sorted(by_family.items()) if families else ():
            print(
                f"{name} {which:14}{family:14}{row['located']:3} of {row['cases']:3} located, {row['accused']} accused"
            )
        for which in sorted(set(part_of.values())):
            got = {what: n for (h, what), n in totals.items() if h == which}
            if got:
                print(f"{name} {which}: {got}")


if __name__ == "__main__":
    main(sys.argv[1:])
