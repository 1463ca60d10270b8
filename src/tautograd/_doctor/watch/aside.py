"""Experiments aside: a copy of a module is run on changed inputs, and the run itself stays bit for bit
as it was. The copy is in eval mode, has no hooks, and records nothing; random numbers are put back."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

MANY = 50_000_000  # parameters of a module that is still copied


@contextmanager
def random_state(engine: Any) -> Iterator[None]:
    """Whatever is drawn inside, what comes after is drawn as if nothing had been."""
    kept, plain, arrays = engine.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002 - the user's own
    cuda: Any = getattr(engine, "cuda", None)
    devices = cuda.get_rng_state_all() if cuda is not None and cuda.is_available() else None
    try:
        yield
    finally:
        engine.set_rng_state(kept)
        random.setstate(plain)
        np.random.set_state(arrays)  # noqa: NPY002
        if devices is not None:
            cuda.set_rng_state_all(devices)


def copy_of(module: Any) -> Any:
    """A copy that can be run without a trace, or None: what cannot be copied is left alone."""
    if sum(p.numel() for p in module.parameters()) > MANY:
        return None
    try:
        made = copy.deepcopy(module)
    except (TypeError, RuntimeError, AttributeError, ValueError, NotImplementedError):
        return None
    for part in made.modules():
        for name, hooks in vars(part).items():
            if name.endswith("_hooks") and isinstance(hooks, dict):
                hooks.clear()
    return made.eval()


def first_tensor(engine: Any, output: Any) -> Any:
    """The output itself, or the first of several."""
    if isinstance(output, tuple | list) and output:
        output = output[0]
    return output if isinstance(output, engine.Tensor) else None


def outputs(
    engine: Any, module: Any, inputs: list[tuple[Any, ...]], as_it_is: bool = False
) -> list[Any]:
    """What a copy of a module makes of each of these arguments; empty if it cannot be run so. In eval mode,
    or `as_it_is`: in the module's own modes, each time with the same random numbers."""
    found: list[Any] = []
    with random_state(engine), engine.no_grad():
        made = copy_of(module)
        if made is None:
            return []
        if as_it_is:
            for part, own in zip(made.modules(), module.modules(), strict=True):
                part.training = own.training
        try:
            for args in inputs:
                with random_state(engine):
                    found.append(first_tensor(engine, made(*args)))
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError):
            return []  # it will not be run twice, or only as the loop runs it
    return found if all(value is not None for value in found) else []
