"""A kernel without its numbers: sizes, strides and distances become what it is given, so that others can share it.

The text of a kernel says in numbers how long its loops are and how far apart its elements lie. Two nests that differ in
nothing else (another batch, another length of a sequence) would be two functions, and LLVM takes most of a
recording's time for those. So each such number becomes one that the function loads from its arguments, after the
pointers. Nothing is learned or guessed: a program gives each call the very numbers that stood in its own text. What
the text is made of besides (how many lanes, whether there is a rest, which loops there are) stays, and so do element
sizes, which are part of an address in an instruction, and small divisors, which are shifts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...dynamic.size import PREFIX, NotSymbolic, Ways

_SCALES = frozenset((1, 2, 4, 8))  # what an address can be multiplied by for nothing
_SMALL_DIVISOR = 64
# Instructions that end with a number which says a size or a distance.
_AT_THE_END = frozenset(("add", "getelementptr", "icmp", "mul", "select", "udiv", "urem"))
# Other places of such numbers: where a loop begins, what a part is taken from, the number of an instruction that goes
# into the status, what Fortran reads from memory, lanes that are used, lanes that lie apart.
_INSIDE = re.compile(
    r"(?P<start> = phi i64 \[ |(?P<less> = sub i64 )|(?P<status> = select i1 %\S+, i32 ))(?P<number>\d+)(?=,)"
    r"|ptr @c\.i(?:32|64)\.(?P<memory>\d+)(?=[,)])"
    r"|<first (?P<live>\d+) of (?P<lanes>\d+)>"
    r"|(?P<mask><i1 true(?:, i1 (?:true|false))*>)"
    r"|(?P<steps><i64 0(?:, i64 -?\d+)+>)"
)
_SIGNS = (" = phi i64 [", " = sub i64", " = select i1", "@c.i", "<first ", "<i1 true", "<i64 0")
_HEAD = "entry:\n"
_LEFT = re.compile(rf"(?<!\d){PREFIX}\d{{11}}(?!\d)")  # a size that stayed in the text


def generalised(text: str, pointers: int, ways: Ways | None = None) -> tuple[str, list[Any]]:
    """A kernel that takes its numbers after so many pointers, and those numbers.

    Where sizes are symbols (`ways`), numbers that stand for them are such numbers, too.
    """
    found = _Numbers(pointers)
    found.ways = ways
    head, _, body = text.partition(_HEAD)
    lines = list(map(found.line, body.split("\n")))
    general = f"{head}{_HEAD}{''.join(found.lines)}" + "\n".join(lines)
    if ways is None:
        return general, list(found.places)
    left = _LEFT.search(general)
    if left is not None:
        raise NotSymbolic(f"machine code that has {ways.of_token(int(left[0]))!r} in its text")
    return general, [ways.of_token(number) for number in found.places]


class _Numbers:
    """The numbers of one kernel in the order in which they are met, and how each is read."""

    ways: Ways | None = None

    def __init__(self, pointers: int) -> None:
        self.pointers = pointers
        self.places: dict[int, int] = {}
        self.lines: list[str] = []
        self._made: dict[str, str] = {}

    def line(self, line: str) -> str:
        if line[-1:].isdigit():
            before, _, last = line.rpartition(" ")
            if not before.endswith(" align") and last.lstrip("-").isdigit():
                line = self._ended(line, before, int(last))
        for sign in _SIGNS:
            if sign in line:
                return _INSIDE.sub(self._inside, line)
        return line

    def _ended(self, line: str, before: str, number: int) -> str:
        name = before.partition(" = ")[2].partition(" ")[0]
        wide = before.endswith(" i64") or " i64 %" in before
        if name not in _AT_THE_END or not wide or number == 0 or "ptr %args" in before:
            return line
        if name == "add" and " nuw " in before:  # the step of a loop: its lanes
            return line
        if name == "mul" and abs(number) in _SCALES:
            return line
        if name in ("udiv", "urem") and number < _SMALL_DIVISOR:
            return line
        return f"{before} {self._load(number)}"

    def _inside(self, match: re.Match[str]) -> str:
        if match["mask"]:
            return self._mask(match[0].count("i1"), match[0].count("true"))
        if match["live"]:
            return self._mask(int(match["lanes"]), int(match["live"]))
        if match["steps"]:
            return self._steps(match[0])
        if match["memory"]:
            return f"ptr {self._pointer(int(match['memory']))}"
        number = int(match["number"])
        if number == 0:
            return match[0]
        name = self._short(number) if match["status"] else self._load(number)
        return f"{match['start']}{name}"

    def _once(self, key: str, make: Callable[[str], list[str]]) -> str:
        name = self._made.get(key)
        if name is None:
            name = self._made[key] = f"%n{len(self._made)}"
            self.lines += [f"  {line}\n" for line in make(name)]
        return name

    def _place(self, number: int) -> int:
        return self.pointers + self.places.setdefault(number, len(self.places))

    def _pointer(self, number: int) -> str:
        """Where a number is, for Fortran's functions."""
        place = self._place(number)
        return self._once(
            f"at {place}", lambda name: [f"{name} = getelementptr i64, ptr %args, i64 {place}"]
        )

    def _load(self, number: int) -> str:
        at = self._pointer(number)
        return self._once(f"of {at}", lambda name: [f"{name} = load i64, ptr {at}"])

    def _short(self, number: int) -> str:
        """The number of an instruction, as a status word has it."""
        wide = self._load(number)
        return self._once(f"short {wide}", lambda name: [f"{name} = trunc i64 {wide} to i32"])

    def _mask(self, lanes: int, live: int) -> str:
        """The first of the lanes, as many as a number says."""
        count = self._short(live)
        places = ", ".join(f"i32 {lane}" for lane in range(lanes))
        return self._once(
            f"first {count} of {lanes}",
            lambda name: [
                *_spread(name, lanes, "i32", count),
                f"{name} = icmp ult <{lanes} x i32> <{places}>, {name}.all",
            ],
        )

    def _steps(self, whole: str) -> str:
        """The distances of lanes that lie a number of bytes apart."""
        numbers = [int(n) for n in re.findall(r"i64 (-?\d+)", whole)]
        step, lanes = numbers[1], len(numbers)
        known = numbers if self.ways is None else [self.ways.of_token(n) for n in numbers]
        if known != [known[1] * lane for lane in range(lanes)] or step in (0, 1):
            return whole
        apart = self._load(step)
        wide = ", ".join(f"i64 {lane}" for lane in range(lanes))
        return self._once(
            f"{lanes} by {apart}",
            lambda name: [
                *_spread(name, lanes, "i64", apart),
                f"{name} = mul <{lanes} x i64> <{wide}>, {name}.all",
            ],
        )


def _spread(name: str, lanes: int, element: str, number: str) -> list[str]:
    """A number in all lanes."""
    kind = f"<{lanes} x {element}>"
    return [
        f"{name}.one = insertelement {kind} poison, {element} {number}, i64 0",
        f"{name}.all = shufflevector {kind} {name}.one, {kind} poison, <{lanes} x i32> zeroinitializer",
    ]
