"""What the rules found on each rank, told once: a finding that several ranks share names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Plain = dict[str, Any]


def shared(ranks: Sequence[Sequence[Plain]]) -> list[Plain]:
    """The findings of all ranks in the order of the first that has them, each with its `ranks`.

    Two are the same if the rule and the line are; the numbers in them are the first rank's.
    """
    found: dict[Any, Plain] = {}
    for rank, own in enumerate(ranks):
        for finding in own:
            site, change = finding["site"], finding["fix_site"]
            key = finding["code"], _place(site), _place(change), tuple(finding["parameters"])
            found.setdefault(key, {**finding, "ranks": []})["ranks"].append(rank)
    return list(found.values())


def _place(site: Plain | None) -> tuple[str, int] | None:
    return None if site is None else (site["file"], site["line"])
