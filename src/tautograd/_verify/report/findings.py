"""What a verification can find, as plain data: wrong entries, suspects, cuts, kinks."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..._report.plain import Plain
from ..._user_code.sites import Site


def in_a_line(error: Exception) -> str:
    """An error's type and the first line of its message."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:160] if text else ''}"


@dataclass(frozen=True)
class Entry(Plain):
    """One number of a gradient: what a reference expects and what was found."""

    tensor: str
    index: tuple[int, ...]
    expected: float | complex
    got: float | complex
    error: float = 0.0  # how far off `expected` may be
    output: str = ""  # the output it is the derivative of, if there are several

    def __str__(self) -> str:
        at = f"{self.tensor}[{', '.join(map(str, self.index))}]" if self.index else self.tensor
        of = f" of {self.output}" if self.output else ""
        return f"{at}{of}: expected {self.expected:.6g} ± {self.error:.1g}, got {self.got:.6g}"


@dataclass(frozen=True)
class Suspect(Plain):
    """An operation whose own rule is wrong, as its isolated check showed."""

    operation: str
    node: str = ""
    module: str = ""
    site: Site | None = None
    entries: list[Entry] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class Cut(Plain):
    """A place where the recorded graph ends although the value is still used."""

    how: str
    module: str = ""
    site: Site | None = None
    starved: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kink(Plain):
    """A point where the derivatives from the left and from the right differ."""

    where: str
    index: tuple[int, ...]
    left: float
    right: float
    taken: float  # what the gradient under test says
    site: Site | None = None

    @property
    def side(self) -> str:
        """Which of the two sides the gradient took."""
        reach = 1e-6 * max(1.0, abs(self.left), abs(self.right))
        if abs(self.taken - self.left) <= reach:
            return "left"
        if abs(self.taken - self.right) <= reach:
            return "right"
        return "between"
