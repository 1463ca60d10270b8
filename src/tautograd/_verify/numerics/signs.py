"""Random vectors to send through a computation: plus and minus ones, and numbers of varying size."""

from __future__ import annotations

from typing import Any

import numpy as np


def sign_vectors(count: int, size: int, seed: int) -> Any:
    """Rows of plus and minus one: each of them shows the whole error of any single wrong entry."""
    return np.random.default_rng(seed).choice([-1.0, 1.0], (count, size))


def uneven_signs(random: np.random.Generator, shape: Any) -> Any:
    """Numbers of both signs and varying sizes: with equal ones, the effect of a sum or a mean may be
    exactly zero. They are multiples of 1/128, which every precision represents."""
    return random.choice([-1.0, 1.0], shape) * (random.integers(64, 129, shape) / 128)
