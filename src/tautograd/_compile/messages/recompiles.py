"""Why a function was recorded again, in words: which argument came in another form, or what else has changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from ..._tensor.tensor import Tensor
from ..._user_code.sites import resolve

MOST = 64  # that are remembered
_OF_TENSORS = ("shape", "strides", "dtype", "memory (a GPU's, or whether it can be written to)")


class Recompiles:
    """Each record but the first of a function, and why there had to be another one."""

    def __init__(self) -> None:
        self.found: deque[tuple[int, str, Any]] = deque(maxlen=MOST)

    def note(self, number: int, why: str, site: Any) -> str:
        """Remember one, and give it as a line of text."""
        self.found.append((number, why, site))
        return self.lines()[-1]

    def lines(self) -> list[str]:
        return [f"record {n}: {why}{_called_from(site)}" for n, why, site in self.found]


def _called_from(site: Any) -> str:
    line = resolve(site)
    return "" if line is None else f"  [called from {line.file}:{line.line}]"


def difference(old: Any, new: Any) -> str:
    """What the form of arguments is that it was not: `argument 0: shape (3, 4), was (5, 4)`."""
    if old[0] != new[0]:
        return "a mode (gradients, autocast, inference) is another one"
    found = list(_positional(old[1][1], new[1][1]))
    before, now = ({} if kwargs is None else dict(kwargs[1]) for kwargs in (old[2], new[2]))
    if before.keys() != now.keys():
        found.append(
            f"arguments by name: {', '.join(now) or 'none'}, were {', '.join(before) or 'none'}"
        )
    else:
        found += [
            text for name in now for text in _between(f"argument `{name}`", before[name], now[name])
        ]
    return "; ".join(found) or "arguments that are the same object, or a float that is no input"


def _positional(old: Any, new: Any) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{len(new)} argument{'s' * (len(new) != 1)}, were {len(old)}"
        return
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        yield from _between(f"argument {i}", a, b)


def _between(name: str, old: Any, new: Any) -> Iterator[str]:
    """How two forms of one argument differ."""
    if old == new:
        return
    if old[0] is not new[0]:
        yield f"{name}: {new[0].__name__}, was {old[0].__name__}"
    elif issubclass(new[0], Tensor):
        yield from _of_tensors(name, old, new)
    elif len(new) == 3 and isinstance(new[1], tuple):
        yield from _of_containers(name, old, new)
    else:
        yield f"{name}: {new[1]!r}, was {old[1]!r}" if len(new) == 2 else f"{name}: another object"


def _of_tensors(name: str, old: Any, new: Any) -> Iterator[str]:
    for what, a, b in zip(_OF_TENSORS, old[2], new[2], strict=True):
        if a != b:
            yield f"{name}: {what} {b}, was {a}"
            return  # other strides follow from another shape
    if old[3] != new[3]:
        yield f"{name}: requires_grad={new[3]}, was {old[3]}"
    elif old[1] != new[1]:
        yield f"{name}: the same tensor twice, or no longer"
    else:
        yield f"{name}: its history or its hooks"


def _of_containers(name: str, old: Any, new: Any) -> Iterator[str]:
    if len(old[1]) != len(new[1]):
        yield f"{name}: {len(new[1])} elements, were {len(old[1])}"
        return
    for i, (a, b) in enumerate(zip(old[1], new[1], strict=True)):
        if issubclass(new[0], (tuple, list)):
            yield from _between(f"{name}[{i}]", a, b)
        elif a[0] != b[0]:
            yield f"{name}: key {b[0]!r}, was {a[0]!r}"
        else:
            yield from _between(f"{name}[{b[0]!r}]", a[1], b[1])
