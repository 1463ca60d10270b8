"""Random programs, each from a number: operations, shapes, views, writes in place, control flow in Python.

A program is a list of steps that was drawn once, so it does the same whenever it is run. It keeps a few
tensors and lets each step take some of them: elementwise functions with broadcasting, reductions, products,
views, indexing, joins, and writes into clones and into views of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tautograd as torch

Step = Callable[[list[Any]], Any]

UNARY: tuple[Any, ...] = (
    *(
        torch.tanh,
        torch.sin,
        torch.exp,
        torch.sigmoid,
        torch.neg,
        torch.abs,
        torch.relu,
        torch.square,
    ),
    *(
        lambda x: torch.log(x.abs() + 1),
        lambda x: torch.sqrt(x.abs() + 0.5),
        lambda x: 1 / (x * x + 1),
    ),
    *(lambda x: x.clamp(-0.5, 0.8), torch.nn.functional.gelu, lambda x: x * 0.5 + 1),
    *(lambda x: torch.where(x > 0, x, x * 0.1), lambda x: x.softmax(-1), lambda x: x.cumsum(-1)),
    *(lambda x: x.flip(0), lambda x: x.sort(-1).values, torch.nn.functional.softplus),
)
BINARY: tuple[Any, ...] = (
    *(torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.atan2),
    *(
        lambda x, y: x / (y * y + 1),
        lambda x, y: x.lerp(y, 0.3),
        lambda x, y: torch.hypot(x, y + 1),
    ),
    *(lambda x, y: torch.where(x > y, x, y * 2), lambda x, y: torch.addcmul(x, x, y, value=0.5)),
)
REDUCTIONS: tuple[Any, ...] = (
    *(lambda x, d: x.sum(d), lambda x, d: x.mean(d, keepdim=True), lambda x, d: x.amax(d)),
    *(
        lambda x, d: x.logsumexp(d),
        lambda x, d: x.max(d).values,
        lambda x, d: x.var(d, unbiased=False),
    ),
    *(lambda x, d: x.prod(d), lambda x, d: x.norm(dim=d), lambda x, d: x.argmax(d).to(x.dtype)),
)
VIEWS: tuple[Any, ...] = (
    *(lambda x: x.transpose(0, -1), lambda x: x[..., 1:] if x.shape[-1] > 1 else x),
    *(lambda x: x.reshape(-1), lambda x: x.unsqueeze(0), lambda x: x[::2], lambda x: x[0:1]),
    *(lambda x: x.expand(2, *x.shape), lambda x: x.flatten(), lambda x: x.movedim(0, -1)),
    *(lambda x: x.diagonal() if x.dim() > 1 else x, lambda x: x.unfold(0, 1, 1)),
)
WRITES: tuple[Any, ...] = (
    *(lambda v: v.mul_(0.5), lambda v: v.add_(1.0), lambda v: v.tanh_(), lambda v: v.zero_()),
    *(lambda v: v.clamp_(min=-0.3), lambda v: v.copy_(v.detach().cos()), lambda v: v.fill_(0.25)),
)
SIZE = 400  # elements: what is larger is not taken further


def program(seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """A function of tensors, and the arrays to call it with."""
    rng = np.random.default_rng(seed)
    shapes = [tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4))) for _ in range(3)]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    steps = [_step(rng) for _ in range(rng.integers(4, 13))]
    results = int(rng.integers(1, 4))

    def run(*tensors: Any, branch: bool = False, times: int = 1) -> Any:
        made = list(tensors)
        for _ in range(times):
            for number, step in enumerate(steps):
                if branch and number % 3 == 2:
                    made.append(made[number % len(made)] * 2)
                    continue
                out = step(made)
                if out is not None and 0 < out.numel() <= SIZE and out.dim() <= 5:
                    made.append(out)
        return tuple(made[-results:]) if results > 1 else made[-1]

    return run, arrays


def _step(rng: np.random.Generator) -> Step:
    kinds = [_unary, _binary, _binary, _reduction, _view, _write, _product, _index, _join, _scatter]
    return kinds[int(rng.integers(len(kinds)))](rng)


def _any(rng: np.random.Generator) -> Callable[[list[Any]], Any]:
    at = int(rng.integers(0, 10**6))
    return lambda made: made[at % len(made)]


def _unary(rng: np.random.Generator) -> Step:
    function, take = UNARY[int(rng.integers(len(UNARY)))], _any(rng)
    return lambda made: function(take(made))


def _binary(rng: np.random.Generator) -> Step:
    function, first, second = BINARY[int(rng.integers(len(BINARY)))], _any(rng), _any(rng)

    def step(made: list[Any]) -> Any:
        x, y = first(made), second(made)
        try:
            np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
        except ValueError:
            y = y.mean()
        return function(x, y)

    return step


def _reduction(rng: np.random.Generator) -> Step:
    function, take = REDUCTIONS[int(rng.integers(len(REDUCTIONS)))], _any(rng)
    at = int(rng.integers(100))

    def step(made: list[Any]) -> Any:
        x = take(made)
        return function(x, at % x.dim()) if x.dim() else x * 2

    return step


def _view(rng: np.random.Generator) -> Step:
    function, take = VIEWS[int(rng.integers(len(VIEWS)))], _any(rng)
    return lambda made: function(take(made)) if take(made).dim() else None


def _write(rng: np.random.Generator) -> Step:
    """A clone is written through a view of it, and seen as a whole."""
    view, write = VIEWS[int(rng.integers(len(VIEWS)))], WRITES[int(rng.integers(len(WRITES)))]
    take = _any(rng)

    def step(made: list[Any]) -> Any:
        x = take(made)
        if not x.dim():
            return None
        whole = x.clone()
        part = view(whole * 1 if 0 in whole.stride() else whole)
        if 0 in part.stride():  # several elements in one place: no place to write to
            part = part[0:1]
        if 0 not in part.stride():
            write(part)
        return whole * 2 if part.numel() % 2 else whole

    return step


def _product(rng: np.random.Generator) -> Step:
    take, other = _any(rng), _any(rng)

    def step(made: list[Any]) -> Any:
        x, y = take(made), other(made)
        if not x.dim():
            return x * y.sum()
        x = x.reshape(-1, x.shape[-1])
        return x @ x.t() * y.mean() if x.shape[0] <= 12 else x.t() @ x

    return step


def _index(rng: np.random.Generator) -> Step:
    take, at, how = _any(rng), rng.integers(0, 50, 3), int(rng.integers(4))

    def step(made: list[Any]) -> Any:
        x = take(made)
        if not x.dim():
            return None
        index = torch.tensor([int(i) % x.shape[0] for i in at])
        if how == 0:
            return x[index]
        if how == 1:
            return x.index_select(0, index)
        if how == 2:
            return x.gather(0, x.argsort(0))
        return x[int(at[0]) % x.shape[0]]

    return step


def _join(rng: np.random.Generator) -> Step:
    take, how = _any(rng), int(rng.integers(3))

    def step(made: list[Any]) -> Any:
        x = take(made)
        if not x.dim():
            return torch.stack([x, x * 2])
        return (torch.cat([x, x.flip(0)]), torch.stack([x, x * 3], -1), torch.cat(x.split(1), 0))[
            how
        ]

    return step


def _scatter(rng: np.random.Generator) -> Step:
    take, at, how = _any(rng), rng.integers(0, 50, 2), int(rng.integers(3))

    def step(made: list[Any]) -> Any:
        x = take(made)
        if not x.dim():
            return None
        index = torch.tensor([int(i) % x.shape[0] for i in at])
        if how == 0:
            return torch.zeros_like(x).index_add(0, index, x[index])
        if how == 1:
            return x.masked_fill(x > 0.3, -1.0)
        other = x.clone()
        other[int(at[0]) % x.shape[0]] = 0.5
        return other

    return step
