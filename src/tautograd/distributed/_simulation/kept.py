"""A recording that was kept in a file, which may hold anything: whether it is one."""

from __future__ import annotations

from typing import Any

from .recording import COMPUTE, START, WAIT

FORMAT = "tautograd recording"
CLOCKS = ("cpu", "wall")
_LONGEST = 1e9  # seconds
_MOST = 1 << 63  # bytes
_RANKS = 1 << 20


def checked(content: Any) -> tuple[list[Any], str]:
    """The recordings and their clock; a ValueError if a part of them is not what `Recording` writes."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("it was not written by taut simulate --save")
    recordings, clock = content.get("recordings"), content.get("clock")
    if clock not in CLOCKS or not isinstance(recordings, list) or len(recordings) not in (1, 2):
        raise ValueError("it holds no recordings, or not by which clock")
    for recording in recordings:
        _require(isinstance(recording, list) and 0 < len(recording) <= _RANKS, "the ranks")
        for steps in recording:
            _require(isinstance(steps, list), "the steps of a rank")
            for step in steps:
                _check_step(step, len(recording))
    return recordings, clock


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} in it is not as taut simulate --save writes it")


def _check_step(step: Any, ranks: int) -> None:
    _require(isinstance(step, dict) and isinstance(step.get("events"), list), "a step")
    _require(_is_number(step.get("seconds"), _LONGEST) and step["seconds"] > 0, "a step's time")
    _require(_is_number(step.get("memory", 0), _MOST), "a step's memory")
    started, running = 0, set()
    for event in step["events"]:
        _require(isinstance(event, list) and len(event) > 1, "an event")
        kind, *rest = event
        if kind == COMPUTE:
            holds = len(rest) == 2 and all(_is_number(part, _LONGEST) for part in rest)
        elif kind == START:
            holds = (
                len(rest) == 4
                and rest[0] == started
                and _is_exchange(rest[1], rest[2], rest[3], ranks)
            )
            running.add(started)
            started += 1
        else:
            holds = kind == WAIT and len(rest) == 1 and type(rest[0]) is int and rest[0] in running
            running.discard(rest[0] if holds else None)
        _require(holds, "an event")


def _is_exchange(kind: Any, size: Any, members: Any, ranks: int) -> bool:
    if not isinstance(kind, str) or type(size) is not int or not 0 <= size < _MOST:
        return False
    if not isinstance(members, list) or not 0 < len(members) <= ranks:
        return False
    return all(type(m) is int and 0 <= m < ranks for m in members) and len({*members}) == len(
        members
    )


def _is_number(value: Any, most: float) -> bool:
    return type(value) in (int, float) and 0 <= value <= most
