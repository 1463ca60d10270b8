"""A GPU's random numbers: seeds and states of its generators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._arrays.devices import cuda_backend, gpu
from .._tensor.random_state import default_on, seed_gpus
from ._backend import index_of, needed

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator, if there is one."""
    number = int(seed)
    if cuda_backend() is not None:
        seed_gpus(number, index_of(None))


def manual_seed_all(seed: int) -> None:
    """Seed every GPU's generator."""
    seed_gpus(int(seed))


def seed() -> None:
    """Seed the current GPU's generator at random, if there is one."""
    if cuda_backend() is not None:
        default_on(gpu(index_of(None))).seed()


def seed_all() -> None:
    """Seed every GPU's generator at random."""
    if cuda_backend() is not None:
        for index in range(needed().device_count()):
            default_on(gpu(index)).seed()


def initial_seed() -> int:
    """The seed that the current GPU's generator started from."""
    return int(default_on(gpu(index_of(None))).initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a GPU's generator, as a tensor of bytes."""
    return default_on(gpu(index_of(device))).get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Let a GPU's generator go on from a state."""
    default_on(gpu(index_of(device))).set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The states of every GPU's generator."""
    count = 0 if cuda_backend() is None else needed().device_count()
    return [get_rng_state(index) for index in range(count)]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Let every GPU's generator go on from its state."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
