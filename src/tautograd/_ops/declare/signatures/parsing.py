"""A signature in PyTorch's words: `tril(Tensor self, SymInt diagonal=0, *, Tensor? out=None)`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARAMETER = re.compile(
    r"(?P<type>[A-Za-z]+(\??\[\d*\])?)(?P<optional>\??) (?P<name>\w+)(=(?P<default>.+))?"
)
COMMA = re.compile(r", (?![^\[]*\])")  # one that is not inside a list


@dataclass(frozen=True)
class Parameter:
    """One parameter: `kind` is its type without the length of a list, which is `length`."""

    name: str
    kind: str
    length: int | None
    optional: bool
    default: str | None
    keyword_only: bool

    @property
    def takes_none(self) -> bool:
        """Whether None may stand for it."""
        return self.optional or self.default == "None"


@dataclass(frozen=True)
class Signature:
    """One overload of a function."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that need no name."""
        return tuple(p for p in self.parameters if not p.keyword_only)

    @property
    def required(self) -> int:
        """How many arguments it needs."""
        return sum(p.default is None for p in self.parameters)


def parse(line: str) -> Signature:
    """Read a line; one that is no signature is a ValueError."""
    name, bracket, rest = line.strip().partition("(")
    if not bracket or not rest.endswith(")") or not re.fullmatch(r"[\w.]+", name):
        raise ValueError(
            f"'{line}' is not a signature: it should look like 'name(Type parameter=default)'"
        )
    parameters: list[Parameter] = []
    keyword_only = False
    for part in COMMA.split(rest[:-1]) if rest != ")" else ():
        if part == "*":
            keyword_only = True
            continue
        match = _PARAMETER.fullmatch(part)
        if match is None:
            raise ValueError(
                f"'{part}' in the signature of '{name}' is not a parameter: 'Type name=default'"
            )
        kind, length = _kind(match["type"])
        optional = bool(match["optional"])
        parameters.append(
            Parameter(match["name"], kind, length, optional, match["default"], keyword_only)
        )
    return Signature(name, tuple(parameters))


def _kind(text: str) -> tuple[str, int | None]:
    """`SymInt[2]` is a list of integers, for which one integer may stand."""
    word, bracket, length = text.partition("[")
    if not bracket:
        return word, None
    return word + "[]", int(length[:-1]) if length != "]" else None
