"""The `for` loops that a running line stands in, across the functions that were called from them.

Which of them is the one over epochs is not written anywhere; how many turns each has and which one it
is at can be read, from the names in its frame, without running anything.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..._user_code.sites import site_at
from ..._user_code.stack import user_frames
from .discarded_results import value_of
from .syntax import function_around, nodes_in

_RANGES = ("range", "trange")  # tqdm's is one with a bar


@dataclass(frozen=True)
class Turn:
    """One loop, and where it is."""

    place: tuple[str, int]  # file and line of the loop
    at: Any  # what its variable holds, or that object's id
    turns: int | None  # how many it has, where that can be read


def enclosing_loops() -> list[Turn]:
    """The loops around the line that runs, innermost first."""
    found: list[Turn] = []
    for frame in user_frames():
        function = function_around(site_at(frame))
        line = frame.f_lineno
        around = [
            node
            for node in (nodes_in(function) if function is not None else ())
            if isinstance(node, ast.For) and node.body[0].lineno <= line <= _last(node)
        ]
        for node in sorted(around, key=lambda n: -n.lineno):
            place = frame.f_code.co_filename, node.lineno
            found.append(Turn(place, _held(node.target, frame), _turns(node.iter, frame)))
    return found


def goes_on(loop: Turn, seen: list[list[Turn]]) -> bool:
    """Whether a loop was seen at another turn as well: one over trials stands still while its run lasts."""
    return any(other.place == loop.place and other.at != loop.at for o in seen for other in o)


def _last(loop: ast.For) -> int:
    return loop.body[-1].end_lineno or loop.body[-1].lineno


def _held(target: ast.expr, frame: FrameType) -> Any:
    while isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    value = frame.f_locals.get(target.id) if isinstance(target, ast.Name) else None
    return value if isinstance(value, int | str) else id(value)


def _turns(given: ast.expr, frame: FrameType) -> int | None:
    """How often a loop over this goes round: of `range(n)`, also inside of a progress bar, and of lists."""
    for node in ast.walk(given):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in _RANGES and node.args and not node.keywords:
            ends = [_number(argument, frame) for argument in node.args[:3]]
            if any(type(end) is not int for end in ends) or ends[2:] == [0]:
                return None
            return len(range(*ends))
    held = value_of(given, frame)
    return len(held) if isinstance(held, list | tuple | range) else None


def _number(node: ast.expr, frame: FrameType) -> Any:
    """A whole number, of constants, names and the simplest arithmetic."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        left, right = _number(node.left, frame), _number(node.right, frame)
        if type(left) is not int or type(right) is not int:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        return left + right if isinstance(node.op, ast.Add) else left - right
    return value_of(node, frame)
