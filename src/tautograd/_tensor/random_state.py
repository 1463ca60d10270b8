"""The sources of random numbers: `Generator`, the default one, and its seed and state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _random
from .._arrays.devices import CPU, as_device, cuda_backend, device_of, gpu, is_meta
from .._autograd.effects import put_off_no_longer
from .._ops.declare.guarding import marked
from .._ops.declare.public import FUNCTIONS
from .._ops.declare.wrong_argument import WrongArgument
from .tensor import Tensor, make

_GPU_STATE = 16  # bytes
_STATE = "the state of a generator"


class Generator(_random.Generator):
    """A source of random numbers with its own state; `manual_seed` starts PyTorch's streams."""

    __module__ = "torch._C"

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(as_device(device))

    @property
    def on_gpu(self) -> bool:
        """Whether its numbers are drawn on a GPU."""
        return bool(self.device.type == "cuda")

    def manual_seed(self, seed: Any) -> Any:
        """Start the stream of a seed."""
        put_off_no_longer(_STATE)
        return super().manual_seed(seed)

    def seed(self) -> int:
        """Start a stream from an unpredictable seed, which is returned."""
        put_off_no_longer(_STATE)
        return super().seed()

    def get_state(self) -> Any:
        """The state as a tensor of bytes; a GPU's is its seed and its offset."""
        put_off_no_longer(_STATE)
        if self.on_gpu:
            return make(np.array([self.initial_seed(), self.offset], np.uint64).view(np.uint8))
        return make(super().get_state())

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state that `get_state` returned."""
        put_off_no_longer(_STATE)
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if self.on_gpu:
            self._restore(new_state._data)
            return self
        super().set_state(new_state._data)
        return self

    def _restore(self, state: Any) -> None:
        if state.dtype != np.uint8 or state.size != _GPU_STATE:
            raise RuntimeError(f"RNG state of a GPU is {_GPU_STATE} bytes, not {state.size}")
        seed, offset = np.ascontiguousarray(state).view(np.uint64).tolist()
        self.manual_seed(seed)
        self.set_offset(offset)

    def get_offset(self) -> int:
        """How many words of each thread's stream have been used, on a GPU."""
        return self.offset if self.on_gpu else super().get_offset()

    def set_offset(self, offset: int) -> None:
        """Continue after so many words, on a GPU."""
        if self.on_gpu:
            if int(offset) % 4:
                raise RuntimeError(f"offset must be a multiple of 4, but got offset={offset}")
            self.offset = int(offset)
        else:
            super().set_offset(offset)

    def clone_state(self) -> Generator:
        """An independent generator that continues with the same numbers."""
        return _restored(str(self.device), self.get_state()._data)

    graphsafe_get_state = clone_state

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (str(self.device), self.get_state()._data)

    def __deepcopy__(self, memo: Any) -> Generator:
        return _restored(str(self.device), self.get_state()._data)


def _restored(device: str, state: Any) -> Generator:
    return Generator(device).set_state(make(np.copy(state)))


# The generator from which arrays are drawn, as users see it.
default_generator: Generator = _random.default_generator  # type: ignore[assignment]
default_generator.__class__ = Generator
default_generator.device = as_device("cpu")


class _OnMeta:
    """A dummy generator on the device meta, where nothing is drawn."""

    on_gpu = False


on_meta: Any = _OnMeta()


def function(fn: Any) -> Any:
    """Export a function as `tautograd.<name>`."""
    FUNCTIONS[fn.__name__] = fn
    return fn


@function
@marked  # for a non-integer, `int` raises its own error, as in PyTorch
def manual_seed(seed: Any) -> Generator:
    """Seed the default generator; the same seed gives PyTorch's numbers."""
    number = int(seed)
    default_generator.manual_seed(number)
    seed_gpus(number)
    return default_generator


@function
def seed() -> int:
    """Seed the default generator from the system's entropy; returns the seed."""
    return default_generator.seed()


@function
def initial_seed() -> int:
    """The default generator's latest seed."""
    return default_generator.initial_seed()


@function
def get_rng_state() -> Any:
    """The default generator's state, as a tensor of bytes."""
    return default_generator.get_state()


@function
def set_rng_state(new_state: Any) -> None:
    """Make the default generator continue from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restore the state of the generators after the block, so that its draws do not advance them."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


def checked(generator: Any, near: Any = None) -> Generator:
    """The given generator, or else the default one of an array's device."""
    if generator is None:
        if near is None or type(near) is np.ndarray:
            return default_generator
        return default_on(device_of(near))
    if generator is on_meta:
        return on_meta  # type: ignore[no-any-return]
    if not isinstance(generator, _random.Generator):
        raise WrongArgument(f"expected a torch.Generator, but got {type(generator).__name__}")
    if near is not None and type(near) is not np.ndarray:
        if is_meta(near):
            return on_meta  # type: ignore[no-any-return]
        _check_type(generator, device_of(near))
    return generator  # type: ignore[return-value]


def source_for(generator: Any, device: Any, out: Any = None) -> Generator:
    """The generator for new numbers on a device: the given one, or the device's own."""
    where = as_device(device) if out is None else out.device
    if generator is None:
        return default_on(where)
    found = checked(generator)
    _check_type(found, where)
    return found


def _check_type(generator: Any, where: Any) -> None:
    if generator.device.type != where.type:
        raise RuntimeError(
            f"Expected a '{where.type}' device type for generator but found "
            f"'{generator.device.type}'"
        )


# --- a GPU's own ----------------------------------------------------------------------------------


class _Gpus:
    """The default generators of GPUs, created lazily, and the seed they start with."""

    generators: dict[int, Generator] = {}  # noqa: RUF012
    seed: int | None = None


def default_on(where: Any) -> Generator:
    """The default generator of a device."""
    if where.type == CPU.type:
        return default_generator
    if where.type == "meta":
        return on_meta  # type: ignore[no-any-return]
    found = _Gpus.generators.get(where.index)
    if found is None:
        found = _Gpus.generators[where.index] = Generator(gpu(where.index))
        if _Gpus.seed is not None:
            found.manual_seed(_Gpus.seed)
        else:
            found.seed()
    return found


def seed_gpus(seed: int, index: int | None = None) -> None:
    """Seed one GPU's default generator, or all of them, including those not created yet."""
    if index is None:
        _Gpus.seed = seed
    for number, generator in _Gpus.generators.items():
        if index is None or number == index:
            generator.manual_seed(seed)
    if index is not None and index not in _Gpus.generators and cuda_backend() is not None:
        default_on(gpu(index)).manual_seed(seed)
