"""What the source says of a scheduler's or an optimizer's steps: whether anything steps what a line makes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...watch.syntax import nodes_in, tree_of

_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def is_never_stepped(site: Site) -> bool:
    """Whether the source has no step() for what is made in a line, and gives it to nobody."""
    tree = tree_of(site.file)
    if tree is None:
        return False
    scope: ast.AST = tree
    name, key = "", None
    for node in nodes_in(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not first <= site.line <= last:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope = node  # the walk goes from the outside in
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            key = _key_of(node.value, site.line)
            if isinstance(target, ast.Attribute):
                name, scope = target.attr, tree
            elif isinstance(target, ast.Name):
                name = target.id
    return bool(name) and _only_read(scope, name, key)


def nobody_is_left(places: set[tuple[str, int]], seen: set[tuple[str, int]]) -> bool:
    """Whether every `step` that the program can come to stands in a line that was seen to step something
    else: then whoever has the scheduler cannot step it. `places` are where it ran, and files it uses."""
    named = 0
    for file, part in _within_reach(places):
        called = {id(n.func) for n in ast.walk(part) if isinstance(n, ast.Call)}
        for node in ast.walk(part):
            if isinstance(node, ast.Constant) and node.value == "step":
                return False  # getattr(scheduler, "step")()
            if not isinstance(node, ast.Attribute) or node.attr != "step":
                continue
            if id(node) in called:
                named += 1
                if (file, node.end_lineno or node.lineno) not in seen:
                    return False
            elif "sched" in ast.unparse(node.value).lower():
                return False  # it is handed to someone
    return named > 0


def _within_reach(places: set[tuple[str, int]]) -> Iterator[tuple[str, ast.stmt]]:
    """Definitions that ran, those that these name, and what stands outside of all of them."""
    waiting = [
        (file, part, isinstance(part, _DEFINITION) and not _runs(part, file, places))
        for file in {file for file, _ in places}
        for part in getattr(tree_of(file), "body", ())
    ]
    names: set[str] = set()
    while True:
        reached = [one for one in waiting if not one[2] or getattr(one[1], "name", "") in names]
        if not reached:
            return
        waiting = [one for one in waiting if one not in reached]
        for file, part, _ in reached:
            yield file, part
            for node in ast.walk(part):
                if isinstance(node, ast.Name | ast.Attribute):
                    names.add(node.id if isinstance(node, ast.Name) else node.attr)


def _runs(part: ast.stmt, file: str, places: set[tuple[str, int]]) -> bool:
    return any(f == file and part.lineno <= n <= (part.end_lineno or 0) for f, n in places)


def places_of(frames: Iterable[FrameType]) -> set[tuple[str, int]]:
    """Where these functions are, and the files of the program that their modules name."""
    found: set[tuple[str, int]] = set()
    for frame in frames:
        found.add((frame.f_code.co_filename, frame.f_lineno))
        for value in list(frame.f_globals.values()):
            module = value if isinstance(value, ModuleType) else None
            if module is None:
                module = sys.modules.get(str(getattr(value, "__module__", "")))
            file = getattr(module, "__file__", None)
            if file and not foreign[file]:
                found.add((file, 0))
    return found


def _key_of(value: ast.expr, line: int) -> Any:
    """Under which key of a dictionary display a line stands; None if it is no part of one."""
    for key, part in (
        zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
    ):
        if part.lineno <= line <= (part.end_lineno or part.lineno) and isinstance(
            key, ast.Constant
        ):
            return key.value
    return None


def _only_read(scope: ast.AST, name: str, key: Any = None) -> bool:
    """Whether all that is done to a name, or to what it holds under a key, is to set it and to read
    attributes other than `step`."""
    parents = {id(child): node for node in nodes_in(scope) for child in ast.iter_child_nodes(node)}
    for node in nodes_in(scope):
        mine = (isinstance(node, ast.Name) and node.id == name) or (
            isinstance(node, ast.Attribute) and node.attr == name
        )
        if not mine or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        parent = parents.get(id(node))
        if key is not None:
            if not isinstance(parent, ast.Subscript) or not isinstance(parent.slice, ast.Constant):
                return False  # all of the dictionary goes somewhere
            if parent.slice.value != key:
                continue
            parent = parents.get(id(parent))
        if not isinstance(parent, ast.Attribute) or parent.attr == "step":
            return False
    return True


def is_in_turn_with(waiting: Site, stepping: Site | None) -> bool:
    """Whether what is made in a line is stepped only in the other branch of the `if` of a step."""
    if stepping is None or stepping.file != waiting.file:
        return False
    tree, name = tree_of(waiting.file), _name_made(waiting)
    for node in nodes_in(tree) if tree is not None and name else ():
        if not isinstance(node, ast.If):
            continue
        for mine, other in ((node.body, node.orelse), (node.orelse, node.body)):
            steps = {ast.unparse(call.func) for call in _calls(other)}
            if (
                any(call.lineno == stepping.line for call in _calls(mine))
                and f"{name}.step" in steps
            ):
                return True
    return False


def _calls(statements: list[ast.stmt]) -> list[ast.Call]:
    return [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)]


def _name_made(site: Site) -> str:
    """What a line gives a value to: `x`, `self.x`."""
    tree = tree_of(site.file)
    for node in nodes_in(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        holds = node.lineno <= site.line <= (node.end_lineno or node.lineno)
        if holds and isinstance(node.targets[0], ast.Name | ast.Attribute):
            return ast.unparse(node.targets[0])
    return ""
