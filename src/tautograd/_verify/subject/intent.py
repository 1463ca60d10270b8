"""The intended gradient of a computation, where it is not the derivative.

A straight-through estimator, a reversed gradient, a surrogate for a step, a value to be treated as a
constant: each states a function whose derivative is intended, the *stand-in*. It is stated

- by `@intended(lambda x: x)` on a custom Function or on a plain function,
- by `verify(..., intended={Round: lambda x: x})`, or `intended=fn` for the whole,
- by a comment on the line: `# intended: straight-through`, `reversal` or `stop-gradient`,
- by the engine's own documentation (`agreed`).

Then *that* is verified: where the computation is run at other values, such a call gives y₀ + m(x) −
m(x₀), with x₀ and y₀ of the run that is differentiated and m the stand-in. At x₀ that is the same
number, with the intended slope.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from ..._stand_ins.function_mode import FunctionMode
from ..._stand_ins.slots import replace
from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..._user_code.source_lines import lines_of
from ..._user_code.stack import own_site
from .agreed import by_agreement
from .engines import is_tensor

Meant = Callable[..., Any]

_COMMENT = re.compile(r"#\s*intended:\s*(straight-through|reversal|stop-gradient)\b")
_WORDS: dict[str, Meant] = {
    "straight-through": lambda *args: _first_tensor(args),
    "reversal": lambda *args: -_first_tensor(args),
    "stop-gradient": lambda *args: 0 * _first_tensor(args),
}
_LEAVES_GRAPH = frozenset(
    ("detach", "data", "__get__", "item", "tolist", "numpy", "__float__", "__array__", "new_tensor")
)


def _first_tensor(args: Any) -> Any:
    return next(value for value in NESTS.leaves(args) if is_tensor(value))


def intended(meant: Meant) -> Callable[[Any], Any]:
    """State the gradient that a custom Function, or a function, is meant to have: that of `meant`.

    `verify` then checks that one, and says so. Nothing else changes.

        @intended(lambda x: x)  # straight through
        class Round(torch.autograd.Function): ...
    """
    if not callable(meant):
        raise TypeError(f"intended: a function expected, got {type(meant).__name__}")

    def state(owner: Any) -> Any:
        if isinstance(owner, type):
            owner.intended = staticmethod(meant)  # type: ignore[attr-defined]
            return owner

        @functools.wraps(owner)
        def stated(*args: Any, **kwargs: Any) -> Any:
            run = _runs[-1] if _runs else None
            if run is None:
                return owner(*args, **kwargs)
            return run.called(owner, meant, args, kwargs, owner)

        return stated

    return state


_runs: list[Any] = []
"""The active runs in which calls use their stand-ins' slopes, the innermost last."""


@contextmanager
def during(run: Any) -> Iterator[None]:
    """Inside, decorated functions are called through `run.called`."""
    _runs.append(run)
    try:
        yield
    finally:
        _runs.remove(run)


class Intent:
    """Every intent stated about one computation."""

    def __init__(self, stated: Any, functions: list[Any]) -> None:
        self.whole: Meant | None = stated if callable(stated) else None
        self.functions = _by_class(stated if isinstance(stated, Mapping) else {}, functions)
        self._base: dict[Any, Any] = {}  # arguments and result of each call, in order
        self._turns: dict[Any, int] = {}
        self._recording = False
        self.used: dict[str, str] = {}  # calls met: name, and where the intent is stated

    def note(self, run: Callable[[], Any]) -> None:
        """Run the computation at the differentiated values; keep each call's arguments and result."""
        self._base.clear()
        self._recording = True
        try:
            with self.evaluating():
                run()
        finally:
            self._recording = False

    def __bool__(self) -> bool:
        return bool(self.whole or self.functions or self.used)

    @contextmanager
    def evaluating(self, engine: Any = None) -> Iterator[None]:
        """Inside, calls return values with the intended slope."""
        self._turns = {}
        engine = engine or self.engine
        with ExitStack() as stack:
            for cls, meant in self.functions.items():
                stack.callback(
                    replace(cls, "forward", functools.partial(self._forward, cls, meant))
                )
            stack.enter_context(FunctionMode(engine, self._see))
            stack.enter_context(during(self))
            self._boundary: FrameType | None = sys._getframe(2)
            yield

    engine: Any = None

    # --- calls ---------------------------------------------------------------------------------

    def called(self, key: Any, meant: Meant, args: Any, kwargs: Any, function: Any) -> Any:
        """One call: its result, moved as much as the stand-in moves."""
        turn = self._turns[key] = self._turns.get(key, 0) + 1
        if self._recording:
            result = function(*args, **kwargs)
            kept = NESTS.mapped((args, kwargs, result), _kept)
            self._base[key, turn] = kept
            self.used[getattr(key, "__name__", str(key))] = getattr(meant, "__name__", str(meant))
            return result
        if (key, turn) not in self._base:  # a call that the first run did not make is left as it is
            return function(*args, **kwargs)
        before, named, given = self._base[key, turn]
        there, here = meant(*args, **kwargs), meant(*before, **named)
        return moved(given, there, here)

    def _forward(self, cls: Any, meant: Meant, below: Any) -> Any:
        """The `forward` of a custom Function while values are evaluated."""
        forward = below.__func__ if isinstance(below, staticmethod) else below
        plain = "setup_context" in vars(cls)

        def stand_in(*args: Any) -> Any:
            ctx = () if plain else args[:1]
            rest = args if plain else args[1:]
            return self.called(cls, meant, rest, {}, lambda *given: forward(*ctx, *given))

        return staticmethod(stand_in)

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        """An engine call, on a line that states an intent."""
        agreed = by_agreement(function, args, kwargs)
        if agreed is not None:
            return self.called(agreed[0], agreed[1], args, kwargs, function)
        name = str(getattr(function, "__name__", ""))
        site = own_site(sys._getframe(1), self._boundary)
        word = word_at(site.file, site.line) if site is not None else ""
        # Whatever leaves the graph on such a line is a constant, also in `x + (x.round() -
        # x).detach()`; only a stopped gradient may be a whole block without gradients.
        stops = word == "stop-gradient" and not self.engine.is_grad_enabled()
        leaves = name in _LEAVES_GRAPH or stops
        if not word or site is None or not leaves:
            return function(*args, **kwargs)
        key = name, site.file, site.line
        turn = self._turns[key] = self._turns.get(key, 0) + 1
        if self._recording:
            result = function(*args, **kwargs)
            self._base[key, turn] = NESTS.mapped(result, _kept)
            self.used[f"line {site.line}"] = word
            return result
        return self._base[key, turn] if (key, turn) in self._base else function(*args, **kwargs)


def moved(given: Any, there: Any, here: Any) -> Any:
    """A result, moved by as much as the stand-in moved."""
    parts = [t for t in NESTS.leaves(given) if is_tensor(t)]
    ups = [t for t in NESTS.leaves(there) if is_tensor(t)]
    downs = [t for t in NESTS.leaves(here) if is_tensor(t)]
    if len(parts) != len(ups):
        raise ValueError(f"intended: the stand-in gives {len(ups)} tensors, not {len(parts)}")
    steps = iter([(up - down) for up, down in zip(ups, downs, strict=True)])

    def step(value: Any) -> Any:
        if not is_tensor(value):
            return value
        change = next(steps)
        return value + change if value.is_floating_point() or value.is_complex() else value

    return NESTS.mapped(given, step)


def _kept(value: Any) -> Any:
    return value.detach().clone() if is_tensor(value) else value


def _by_class(stated: Mapping[Any, Meant], calls: list[Any]) -> dict[Any, Meant]:
    """The stand-in of each custom Function that has one, by class."""
    found: dict[Any, Meant] = {}
    known: dict[str, Any] = {}
    for call in calls:
        cls = call.function.__self__
        known[cls.__name__] = cls
        own = vars(cls).get("intended")
        if own is not None:
            found[cls] = own.__func__ if isinstance(own, staticmethod) else own
        word = word_at(call.site.file, call.site.line) if call.site is not None else ""
        if word:
            found[cls] = _WORDS[word]
    for key, meant in stated.items():
        cls = key if isinstance(key, type) else known.get(str(key))
        if cls is None or cls.__name__ not in known:
            there = f"; there are {', '.join(known)}" if known else "; it has none"
            raise ValueError(f"intended: the computation has no custom Function {key!r}{there}")
        if not callable(meant):
            raise TypeError(f"intended[{key!r}]: a function expected, got {type(meant).__name__}")
        found[cls] = meant
    return found


# --- comments ------------------------------------------------------------------------------------


def word_at(file: str, line: int) -> str:
    """The intent stated by a comment on a line, or on its enclosing `with`; empty if there is none."""
    lines = lines_of(file)
    known = _read.get(file)
    if (
        known is None or known[0] is not lines
    ):  # `linecache` returns the same list until the file changes
        known = _read[file] = lines, _words(lines)
    return known[1].get(line, "")


_read: dict[str, tuple[list[str], dict[int, str]]] = {}


def _words(lines: list[str]) -> dict[int, str]:
    found = {
        number: match.group(1)
        for number, text in enumerate(lines, 1)
        if (match := _COMMENT.search(text))
    }
    if not found:
        return {}
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:  # a notebook cell with magics
        return found
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.stmt)) and node.lineno in found:
            last = node.end_lineno or node.lineno
            for number in range(node.lineno, last + 1):
                found.setdefault(number, found[node.lineno])
    return found


__all__ = ["Intent", "during", "intended", "moved", "word_at"]
