"""Follows values that left a graph for Python (`item()`, `numpy()`) to where they re-enter.

An object that re-enters unchanged is recognised by identity. What was computed from it in between is
found in the source: an argument of a call, or a variable, whose expression names a variable that holds
such an object, or that extracts one on that very line. A root is always an object that was seen to
leave; only the steps in between are read from the source.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from ..._trees.nests import ANY_MAPPING as NESTS
from ..._user_code.source_lines import lines_of
from .names import variables_of
from .notes import Cutting

MOST_OBJECTS = 10_000  # remembered at most
DEEP = 6  # assignments that are followed back from one expression


class PythonFlow:
    """What left, and which later arguments derive from it."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Any, list[Cutting]]] = {}
        self._here: dict[Any, list[Cutting]] = {}  # by the expression that extracted them

    def leaves(self, result: Any, cuts: list[Cutting], frame: FrameType | None) -> None:
        """Record a call that returned plain values for tensors with a history; the frame is the program's."""
        for part in (result, *NESTS.leaves(result)):
            if _has_identity(part) and len(self._objects) < MOST_OBJECTS:
                self._objects[id(part)] = part, cuts
        if frame is not None and (span := _span(frame)) is not None:
            self._here[frame.f_code.co_filename, span] = cuts

    def forget(self) -> None:
        self._objects.clear()
        self._here.clear()

    def __bool__(self) -> bool:
        return bool(self._objects or self._here)

    def of_object(self, value: Any) -> list[Cutting]:
        """Where an object left, if it did, or if it is a view of an array that did."""
        while value is not None:
            found = self._objects.get(id(value))
            if found is not None and found[0] is value:
                return found[1]
            value = value.base if isinstance(value, np.ndarray) else None
        return []

    def of_arguments(self, frame: FrameType | None) -> list[Cutting]:
        """The cuts behind the plain arguments of a frame's current call."""
        if frame is None or not self:
            return []
        expression = _at(frame)
        if expression is None:
            return []
        return self._into(frame, _arguments(expression))

    def of_variable(self, frame: FrameType | None, name: str) -> list[Cutting]:
        """The cuts behind a variable of a frame."""
        if frame is None or not self or not name:
            return []
        function = function_of(frame)
        return self._into(frame, _assigned(function, name)) if function is not None else []

    def _into(self, frame: FrameType, expressions: Iterable[ast.AST]) -> list[Cutting]:
        variables, function = variables_of(frame), function_of(frame)
        found: dict[int, Cutting] = {}
        seen: set[str] = set()
        pending = [(expression, 0) for expression in expressions]
        while pending:
            expression, depth = pending.pop()
            for cut in self._asked(frame, expression):
                found[id(cut)] = cut
            for name in _names(expression):
                if name in seen:
                    continue
                seen.add(name)
                for cut in self.of_object(variables.get(name)):
                    found[id(cut)] = cut
                if function is not None and depth < DEEP and _is_plain(variables.get(name)):
                    pending += [(part, depth + 1) for part in _assigned(function, name)]
        return list(found.values())

    def _asked(self, frame: FrameType, expression: ast.AST) -> Iterator[Cutting]:
        """Values that this very expression extracts: `x.max().item() * 2`."""
        for part in ast.walk(expression):
            if isinstance(part, ast.Call):
                yield from self._here.get((frame.f_code.co_filename, _span_of(part)), ())


def _has_identity(value: Any) -> bool:
    """False for small integers, booleans and the like, which are shared objects."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        return False
    if isinstance(value, int):
        return not -5 <= value <= 256
    return isinstance(value, (float, complex, np.ndarray, np.generic, list))


def _is_plain(value: Any) -> bool:
    """Whether a value may have been computed in Python alone."""
    return isinstance(value, (int, float, complex, np.ndarray, np.generic, list, tuple))


# --- the source ---------------------------------------------------------------------------------

_trees: dict[str, tuple[int, ast.Module | None]] = {}


def _tree(file: str) -> ast.Module | None:
    lines = lines_of(file)
    known = _trees.get(file)
    if known is None or known[0] != len(lines):
        try:
            known = len(lines), ast.parse("".join(lines)) if lines else None
        except (SyntaxError, ValueError):  # the source is not what is running
            known = len(lines), None
        _trees[file] = known
    return known[1]


def function_of(frame: FrameType) -> ast.AST | None:
    """The function a frame runs, or the module for code outside functions."""
    tree = _tree(frame.f_code.co_filename)
    if tree is None or frame.f_code.co_name == "<module>":
        return tree
    first = frame.f_code.co_firstlineno
    for part in ast.walk(tree):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            decorators = getattr(part, "decorator_list", [])
            if min([part.lineno, *(d.lineno for d in decorators)]) == first:
                return part
    return None


def _at(frame: FrameType) -> ast.AST | None:
    """The expression that a frame's current instruction belongs to."""
    function, wanted = function_of(frame), _span(frame)
    if function is None or wanted is None:
        return None
    for part in ast.walk(function):
        if isinstance(part, ast.expr) and _span_of(part) == wanted:
            return part
    return None


def _span(frame: FrameType) -> Any:
    """The source range of a frame's current expression, if Python knows it."""
    place = frame.f_lasti // 2
    found = next(itertools.islice(frame.f_code.co_positions(), place, None), (None,))
    return None if None in found else found


def _span_of(part: ast.expr) -> Any:
    return part.lineno, part.end_lineno, part.col_offset, part.end_col_offset


def _arguments(expression: ast.AST) -> list[ast.AST]:
    """The arguments of a call, or the operands of an operator."""
    if isinstance(expression, ast.Call):
        return [*expression.args, *(keyword.value for keyword in expression.keywords)]
    if isinstance(expression, ast.BinOp):
        return [expression.left, expression.right]
    return [expression]


def assignments(function: ast.AST, name: str) -> list[ast.stmt]:
    """Every statement of a function that rebinds a name."""
    found: list[ast.stmt] = []
    for part in ast.walk(function):
        if isinstance(part, ast.Assign):
            found += [part] if any(name in _targets(t) for t in part.targets) else []
        elif isinstance(part, (ast.AugAssign, ast.AnnAssign, ast.For)):
            found += [part] if name in _targets(part.target) else []
    return found


def _assigned(function: ast.AST, name: str) -> list[ast.AST]:
    """Every expression that the function assigns to a name."""
    values = (getattr(part, "value", None) for part in assignments(function, name))
    return [value for value in values if value is not None]


def _targets(target: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}


def _names(expression: ast.AST) -> set[str]:
    return {
        part.id
        for part in ast.walk(expression)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }
