"""An optimizer's numbers as a function of its step count alone, while its settings stay as they are.

`_constants` is run once with a step count that is not known. What it does with that is written down as lines
of Python, what it computes from settings is a number by then. What asks for the count's value (a branch, a
function of `math`) cannot be written down, and then the optimizer's own code runs at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd import machine_code
from ..._ops.declare.code_holders import texts

_PLAIN = (float, int, bool, str, type(None))


class _Lines:
    """The function as it is written: lines, and the values that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """The name of a number in the text."""
        if isinstance(value, _Unknown):
            return value.name
        if type(value) not in (float, int):
            raise TypeError("no plain number")
        return self.given(value)

    def given(self, value: Any) -> str:
        name = f"given{len(self.values)}"
        self.values[name] = value
        return name

    def new(self, text: str) -> _Unknown:
        name = f"x{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return _Unknown(self, name)


class _Unknown:
    """A number that depends on the step count."""

    __slots__ = ("lines", "name")
    __array_ufunc__ = None  # NumPy's numbers leave the operation to this class, which refuses them
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lines: _Lines, name: str) -> None:
        self.lines = lines
        self.name = name

    def __neg__(self) -> _Unknown:
        return self.lines.new(f"-{self.name}")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a step count that is not known was compared")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __bool__(self) -> bool:
        raise TypeError("a step count that is not known was asked for")


def _binary(sign: str) -> tuple[Any, Any]:
    def of(self: _Unknown, other: Any) -> _Unknown:
        return self.lines.new(f"{self.name} {sign} {self.lines.name(other)}")

    def reflected(self: _Unknown, other: Any) -> _Unknown:
        return self.lines.new(f"{self.lines.name(other)} {sign} {self.name}")

    return of, reflected


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}
for _name, _sign in _SIGNS.items():
    _of, _reflected = _binary(_sign)
    setattr(_Unknown, f"__{_name}__", _of)
    setattr(_Unknown, f"__r{_name}__", _reflected)


class _Row:
    """A scalar state that is read and written by the text, as `_constants` does with the array itself."""

    def __init__(self, lines: _Lines, row: Any) -> None:
        self.lines = lines
        self.read, self.write = lines.given(row.item), lines.given(row.fill)
        self.multiply = lines.given(row.__imul__)

    def item(self, at: int) -> _Unknown:
        return self.lines.new(f"{self.read}({self.lines.name(at)})")

    def fill(self, value: Any) -> None:
        self.lines.lines.append(f"{self.write}({self.lines.name(value)})")

    def __imul__(self, value: Any) -> _Row:
        self.lines.lines.append(f"{self.multiply}({self.lines.name(value)})")
        return self


def is_settled(settings: dict[str, Any]) -> bool:
    """Whether settings cannot change while they are the same objects."""
    return all(
        type(value) in _PLAIN
        or (type(value) is tuple and all(type(part) in _PLAIN for part in value))
        for name, value in settings.items()
        if name != "params"
    )


def counted(
    optimizer: Any, settings: dict[str, Any], rows: list[Any], write: Any, memory: Any
) -> Callable[[], None] | None:
    """A function that counts a step and writes its numbers; None where it takes more than the count."""
    text = _Lines()
    try:
        numbers = optimizer._constants(settings, [_Row(text, row) for row in rows])
        names = [text.name(number) for number in numbers.values()]
    except (TypeError, AttributeError, ArithmeticError):
        return None
    values = {"write": write, "memory": memory, **text.values}
    body = [*text.lines, f"write(memory, 0, {', '.join(names)})"]
    source = [f"def make({', '.join(values)}):", "  def count():"]
    source += [f"    {line}" for line in body] + ["  return count"]
    found: dict[str, Any] = {}
    whole = "\n".join(source)
    exec(whole, found)
    count: Any = found["make"](**values)
    texts[count.__code__] = whole
    machine_code.wanted(count)
    return count  # type: ignore[no-any-return]
