"""Whether running code is what a definition's source text compiles to.

Code that runs during a module's import can give a function other code, or its name another function.
Both may keep its name and its line. Compiling the text again shows whether they match it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from tautograd._evidence.definitions import Definition


def is_code_of(code: CodeType, definition: Definition, source: bytes) -> bool:
    """Whether code is what a definition in a source file compiles to, down to the column."""
    module = compile(source, code.co_filename, "exec", dont_inherit=True)
    return any(_are_same(code, own) for own in _compiled(module, definition))


def _compiled(module: CodeType, definition: Definition) -> Iterator[CodeType]:
    """The code of a definition within its module's, if it can be identified."""
    *outer, last = definition.name.split(".")
    scopes = [module]
    for name in outer:
        scopes = [code for scope in scopes for code in _inside(scope) if code.co_name == name]
    wanted = "<lambda>" if definition.kind == "lambda" else last
    for code in (code for scope in scopes for code in _inside(scope)):
        is_it = code.co_name == wanted and code.co_firstlineno == definition.line
        if is_it and (definition.body is None or _is_within(code, definition.body)):
            yield code


def _inside(scope: CodeType) -> Iterator[CodeType]:
    """The functions and classes that code creates, looking through scopes of type parameters."""
    for constant in scope.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            if constant.co_name.startswith("<generic parameters of "):
                yield from _inside(constant)


def _is_within(code: CodeType, place: tuple[int, int, int, int]) -> bool:
    """Whether code was compiled from the expression at a place: two lambdas may share a line."""
    first, last = place[:2], place[2:]
    return any(
        None not in at and first <= (at[0], at[2]) and (at[1], at[3]) <= last
        for at in code.co_positions()
    )


def _are_same(one: CodeType, other: CodeType) -> bool:
    return one == other and [*one.co_positions()] == [*other.co_positions()]
