"""A module made and run on both engines: what it gives, its gradients, how it prints and is saved.

A case is how to make a module and what to give it: `Case("Conv2d", (2, 4, 3), {"padding": 1}, (1, 2, 5, 5))`.
`compare` makes it from the same seed on both engines, so that equal weights are part of what is
compared, runs it, and goes backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.both import same


@dataclass(frozen=True)
class Case:
    """A module by its name and arguments, and the shapes of its inputs."""

    module: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    dtype: str = "float32"

    def __str__(self) -> str:
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.options.items())]
        return f"{self.module}({', '.join(given)}) {self.shape} {self.dtype}"


def image(torch: Any, shape: Sequence[int], dtype: str, seed: int = 0) -> Any:
    """The same numbers on both engines, none of them equal."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    values = rng.permutation(np.linspace(-2, 2, count + 2)[1:-1])
    if dtype.startswith("complex"):
        values = values + 1j * rng.permutation(values)
    return torch.tensor(values.tolist(), dtype=getattr(torch, dtype)).reshape(tuple(shape))


def made(torch: Any, case: Case) -> Any:
    module = getattr(torch.nn, case.module)(*case.args, **case.options)
    return module.to(getattr(torch, case.dtype))


def outcome(torch: Any, case: Case) -> Any:
    """All that can be seen of a module that ran forward and backward once."""
    module = made(torch, case)
    x = image(torch, case.shape, case.dtype).requires_grad_()
    out = module(x)
    outs = list(out) if isinstance(out, tuple) else [out]
    weights = image(torch, tuple(outs[0].shape), case.dtype, seed=1)
    total = (outs[0] * weights).sum()
    (total.real if total.is_complex() else total).backward()
    return {
        "repr": repr(module),
        "state": dict(module.state_dict()),
        "out": outs,
        "node": outs[0].grad_fn.name(),
        "input": x.grad,
        "parameters": {name: p.grad for name, p in module.named_parameters()},
        "contiguous": outs[0].is_contiguous(),
    }


@same
def compare(torch: Any, case: Case) -> Any:
    return outcome(torch, case)


def attempt(torch: Any, program: Any) -> Any:
    """The class and first line of what a program raises."""
    try:
        program(torch)
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]
    return "nothing was raised"
