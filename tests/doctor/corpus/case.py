"""What a case of the corpus is: training loops, and what the doctor should say of them.

A case is a function of the engine, called `torch` inside. `@pair` marks one that returns two loops,
the mistake and its correction; `@sound` one that returns a single loop in which nothing is wrong.
A loop is a function without arguments. Its docstring says what is wrong, or what makes it easy to
accuse. The line that caused the mistake ends in the comment `# bug: here`; where another line is a
fair answer as well, that one ends in `# bug: or here`.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Loop = Callable[[], Any]
PairBuilder = Callable[[Any], tuple[Loop, Loop]]
SoundBuilder = Callable[[Any], Loop]


@dataclass
class Pair:
    """One mistake, its correction, and what should be said of the mistake."""

    name: str
    codes: tuple[str, ...]  # the best first; the others are fair answers too
    build: PairBuilder
    why: str
    file: str
    lines: tuple[int, ...]  # of the cause, the best first

    def loops(self, torch: Any) -> tuple[Loop, Loop]:
        """The mistake and the correction, ready to run."""
        torch.manual_seed(0)
        bug, fix = self.build(torch)
        return _seeded(torch, bug), _seeded(torch, fix)


@dataclass
class Sound:
    """One loop in which nothing is wrong."""

    name: str
    kind: str
    build: SoundBuilder
    why: str
    file: str

    def loop(self, torch: Any) -> Loop:
        """The loop, ready to run."""
        torch.manual_seed(0)
        return _seeded(torch, self.build(torch))


PAIRS: dict[str, Pair] = {}
SOUND: dict[str, Sound] = {}


def pair(*codes: str) -> Callable[[PairBuilder], PairBuilder]:
    """A mistake that should be told by one of these codes, on the marked line, and its correction."""

    def add(build: PairBuilder) -> PairBuilder:
        name = build.__name__
        lines = (*_marked(build, "# bug: here"), *_marked(build, "# bug: or here"))
        assert lines, f"{name}: no line is marked"
        assert name not in PAIRS, f"two pairs are called {name}"
        PAIRS[name] = Pair(name, codes, build, _why(build), _file(build), lines)
        return build

    return add


def sound(kind: str) -> Callable[[SoundBuilder], SoundBuilder]:
    """A loop that does what its author meant, and that must not be accused."""

    def add(build: SoundBuilder) -> SoundBuilder:
        name = build.__name__
        assert name not in SOUND, f"two sound loops are called {name}"
        SOUND[name] = Sound(name, kind, build, _why(build), _file(build))
        return build

    return add


def _seeded(torch: Any, loop: Loop) -> Loop:
    @functools.wraps(loop)
    def run() -> Any:
        torch.manual_seed(0)
        return loop()

    return run


def _why(build: Callable[..., Any]) -> str:
    return inspect.cleandoc(build.__doc__ or "")


def _file(build: Callable[..., Any]) -> str:
    return inspect.getsourcefile(build) or ""


def _marked(build: Callable[..., Any], mark: str) -> list[int]:
    """The lines that end in the mark, and those of the statements that they are part of."""
    source, first = inspect.getsourcelines(build)
    tree = ast.parse("".join(source))
    spans = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return))
    ]
    found = []
    for i, line in enumerate(source, start=1):
        if line.rstrip().endswith(mark):
            span = next((span for span in spans if i in span), range(i, i + 1))
            found += [first - 1 + j for j in span]
    return found
