"""The names that are written in a function's code."""

from __future__ import annotations

import dis
import functools
from collections import Counter
from types import CodeType
from typing import Any

_OURS = (__name__.partition(".")[0], "torch")
_OF_VARIABLES = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"}
_OF_VARIABLES |= {"LOAD_FROM_DICT_OR_GLOBALS"}
_OF_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR"}
_BY_STRING = {"getattr", "hasattr", "setattr", "delattr", "vars", "attrgetter", "__dict__"}


@functools.lru_cache(4096)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names of globals, of attributes, and strings that may be names, also in functions inside."""
    variables: set[str] = set()
    attributes: set[str] = set()
    strings: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in _OF_VARIABLES:
            variables.add(instruction.argval)
        elif instruction.opname in _OF_ATTRIBUTES:
            attributes.add(instruction.argval)
        elif instruction.opname == "MATCH_CLASS":  # which reads attributes that no name stands for
            attributes.add("__match_args__")
        elif (
            instruction.opname == "IMPORT_NAME"
            and instruction.argval.partition(".")[0] not in _OURS
        ):
            variables.add("__import__")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for names, inside in zip(
                (variables, attributes, strings), names_in(constant), strict=True
            ):
                names |= inside
        elif isinstance(constant, (str, tuple)):
            parts = (constant,) if isinstance(constant, str) else constant
            strings.update(p for p in parts if isinstance(p, str) and p.isidentifier())
    if not _BY_STRING.isdisjoint(variables | attributes):
        attributes |= strings
        strings.add("getattr")
    if "globals" in variables:
        variables |= strings
    return frozenset(variables), frozenset(attributes), frozenset(strings)


@functools.lru_cache(4096)
def looked_up_in(code: CodeType) -> frozenset[str]:
    """The strings in a function that are more than a key under which something is put (`group["lr"] = x`)."""
    found: set[str] = set()
    put: list[str] = []
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_SUBSCR" and isinstance(before, str):
            put.append(before)
        before = instruction.argval if instruction.opname == "LOAD_CONST" else None
        if isinstance(before, str):
            found.add(before)
    times = Counter(
        i.argval for i in dis.get_instructions(code)
        if i.opname == "LOAD_CONST" and isinstance(i.argval, str)
    )  # fmt: skip
    found -= {key for key, count in Counter(put).items() if times[key] == count}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= looked_up_in(constant)
        elif isinstance(constant, tuple):
            found.update(part for part in constant if isinstance(part, str))
    return frozenset(found)
