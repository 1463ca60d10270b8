"""Where random numbers come from: `Generator`, the default one, and its seed and state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _random
from .._arrays.devices import as_device
from .._ops.public import FUNCTIONS
from .tensor import Tensor, make


class Generator(_random.Generator):
    """A source of random numbers with a state of its own; `manual_seed` gives PyTorch's streams."""

    __module__ = "torch._C"

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(as_device(device))

    def get_state(self) -> Any:
        """The state as a tensor of bytes."""
        return make(super().get_state())

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` returned."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        super().set_state(new_state._data)
        return self

    def clone_state(self) -> Generator:
        """An independent generator that goes on with the same numbers."""
        return _restored(str(self.device), _random.Generator.get_state(self))

    graphsafe_get_state = clone_state

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (str(self.device), _random.Generator.get_state(self))

    def __deepcopy__(self, memo: Any) -> Generator:
        return _restored(str(self.device), _random.Generator.get_state(self))


def _restored(device: str, state: Any) -> Generator:
    return Generator(device).set_state(make(np.copy(state)))


# The one generator that arrays are drawn from, as users see it.
default_generator: Generator = _random.default_generator  # type: ignore[assignment]
default_generator.__class__ = Generator
default_generator.device = as_device("cpu")


def function(fn: Any) -> Any:
    """Offer a function as `tautograd.<name>`."""
    FUNCTIONS[fn.__name__] = fn
    return fn


@function
def manual_seed(seed: Any) -> Generator:
    """Seed the default generator; the same seed gives PyTorch's numbers."""
    default_generator.manual_seed(int(seed))
    return default_generator


@function
def seed() -> int:
    """Seed the default generator from the system's entropy; the seed is returned."""
    return default_generator.seed()


@function
def initial_seed() -> int:
    """The seed the default generator was last given."""
    return default_generator.initial_seed()


@function
def get_rng_state() -> Any:
    """The default generator's state, as a tensor of bytes."""
    return default_generator.get_state()


@function
def set_rng_state(new_state: Any) -> None:
    """Let the default generator go on from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Numbers drawn inside the block do not count: after it the stream goes on as before."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


def checked(generator: Any) -> Generator:
    """The generator asked for, or else the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, _random.Generator):
        raise TypeError(f"expected a torch.Generator, but got {type(generator).__name__}")
    return generator  # type: ignore[return-value]
