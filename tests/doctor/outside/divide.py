"""Divides the cases once, at random and by family, into two halves, and writes `split.txt`.

`develop` is for building rules; `count` is only counted. A case that is there keeps its half: only new
ones are drawn.
"""

from __future__ import annotations

import random

from .variants import HERE, cases, sound_loops

SPLIT = HERE / "split.txt"
SEEN = frozenset(
    (
        "by_hand", "clearing", "copies", "cuts", "holding", "learning",
        "losses", "mixing", "numbers", "order", "shapes",
    )
)  # fmt: skip
"""Families whose counted half was looked at while rules were tried: they count apart."""
LATER = frozenset(("calendars", "gathering", "owners", "pairings", "passes", "terms"))
"""Families collected when the rules were there, and drawn before the doctor was run on any of them."""
NEWEST = frozenset(("axes_again", "dropped_terms", "modes_again", "owners_again"))
"""Families collected after those, likewise drawn before the doctor was run on any of them."""
BLIND = frozenset(
    (
        "adaptations", "distances", "federations", "generators", "pipelines", "readings",
        "resumptions", "rewards", "sound_practice",
    )
)  # fmt: skip
"""Families collected without a look at the rules, and drawn before the doctor was run on any of them."""
OWN = frozenset(("disconnected", "timetables"))
"""Families that were written for the rules, and are all there to develop on."""


def halves() -> dict[str, str]:
    """The half of each case, as it was drawn."""
    lines = SPLIT.read_text(encoding="utf-8").splitlines() if SPLIT.exists() else []
    return {name: half for half, name in (line.split() for line in lines)}


def parts() -> dict[str, str]:
    """What each case counts as: its half, apart where the half says something else of the rules."""
    part = halves()
    for case in cases().values():
        if case.family in LATER:
            part[case.name] += "-later"
        elif case.family in NEWEST:
            part[case.name] += "-newest"
        elif case.family in BLIND:
            part[case.name] += "-blind"
        elif case.family in SEEN and part[case.name] == "count":
            part[case.name] = "seen"
    for name in blind_sound():
        part[name] += "-blind"
    return part


def blind_sound() -> set[str]:
    """The sound loops of the families collected without a look at the rules."""
    loops = sound_loops().items()
    return {name for name, loop in loops if loop.__module__.rpartition(".")[2] in BLIND}


def divide(seed: int = 17) -> None:
    """Draw a half for each case that has none."""
    drawn, generator = halves(), random.Random(seed)
    by_family: dict[str, list[str]] = {}
    for case in cases().values():
        if case.name not in drawn:
            by_family.setdefault(case.family, []).append(case.name)
    by_family["sound"] = [name for name in sound_loops() if name not in drawn]
    for names in by_family.values():
        generator.shuffle(names)
        first = generator.choice((0, 1))  # which half gets the odd one
        for i, name in enumerate(names):
            drawn[name] = ("develop", "count")[(i + first) % 2]
    drawn |= {case.name: "develop" for case in cases().values() if case.family in OWN}
    rows = sorted(f"{half} {name}" for name, half in drawn.items())
    SPLIT.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    divide()
