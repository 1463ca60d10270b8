"""A recording that was kept may have been changed by anybody: it is one, or it is refused in words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tautograd.distributed._simulation.kept import FORMAT, checked
from tautograd.distributed._simulation.steps import step_of

STEP: dict[str, Any] = {
    "seconds": 0.1,
    "events": [["compute", 0.01, 0.02], ["start", 0, "all_reduce", 64, [0, 1]], ["wait", 0]],
}
WHOLE = {"format": FORMAT, "clock": "wall", "recordings": [[[STEP] * 4] * 2]}


def changed(*path: Any, value: Any) -> Any:
    content = copy.deepcopy(WHOLE)
    holder: Any = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return content


IN_STEP = "recordings", 0, 0, 0


def test_what_was_kept_is_taken() -> None:
    assert step_of(*checked(copy.deepcopy(WHOLE))).ranks == 2


@pytest.mark.parametrize(
    "content",
    [
        None,
        {"format": FORMAT},
        changed("clock", value="\x1b"),
        changed("recordings", value=[]),
        changed("recordings", value=[[]]),
        changed("recordings", 0, 0, value=None),
        changed(*IN_STEP, value=None),
        changed(*IN_STEP, "seconds", value=0),
        changed(*IN_STEP, "seconds", value=1e308),
        changed(*IN_STEP, "seconds", value=float("nan")),
        changed(*IN_STEP, "memory", value=-1),
        changed(*IN_STEP, "events", value="x"),
        changed(*IN_STEP, "events", 0, value=["compute", "x", 1]),
        changed(*IN_STEP, "events", 1, 1, value=1),
        changed(*IN_STEP, "events", 1, 3, value=-1),
        changed(*IN_STEP, "events", 1, 4, value=[0, 2]),
        changed(*IN_STEP, "events", 1, 4, value=[]),
        changed(*IN_STEP, "events", 2, 1, value=1),
        changed(*IN_STEP, "events", 2, value=["wait", [0]]),
    ],
)
def test_what_is_none_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match=r"taut simulate --save|holds no recordings"):
        checked(content)
