"""Random vectors to send through a computation: of plus and minus one, and of different sizes."""

from __future__ import annotations

from typing import Any

import numpy as np


def sign_vectors(count: int, size: int, seed: int) -> Any:
    """Rows of plus and minus one: a single wrong entry shows in each of them with its whole error."""
    return np.random.default_rng(seed).choice([-1.0, 1.0], (count, size))


def uneven_signs(random: np.random.Generator, shape: Any) -> Any:
    """Numbers of both signs and of different sizes: what a sum or a mean takes from equal ones may be exactly
    nothing. They are multiples of 1/128, which every precision has."""
    return random.choice([-1.0, 1.0], shape) * (random.integers(64, 129, shape) / 128)
