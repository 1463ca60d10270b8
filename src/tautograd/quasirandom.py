"""Sobol sequences: points that fill a cube more evenly than random ones do."""

from __future__ import annotations

from typing import Any

import numpy as np

import tautograd as torch

from ._tensor.tensor import Tensor

__all__ = ["SobolEngine"]


def _directions(dimension: int, bits: int) -> Any:
    """Joe and Kuo's direction numbers, which SciPy has, as integers of so many bits."""
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(dimension, scramble=False, bits=bits)._sv, dtype=np.int64)


class SobolEngine:
    """Draws points of a Sobol sequence, scrambled by a random digital shift and matrix if asked."""

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = torch.from_numpy(_directions(dimension, self.MAXBIT))
        self.shift = torch.zeros(dimension, dtype=torch.long)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next n points, `(n, dimension)`."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        steps = n - 1 if self.num_generated == 0 else n  # the first point is the shift itself
        result = self._walk(steps, dtype)
        if self.num_generated == 0:
            result = torch.cat((self._first_point.to(dtype), result), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def _walk(self, steps: int, dtype: Any) -> Tensor:
        """Each point differs from the one before by the direction of its number's lowest zero bit."""
        start = max(self.num_generated - 1, 0)
        numbers = np.arange(start, start + steps, dtype=np.int64)
        lowest = np.log2(~numbers & (numbers + 1)).astype(np.int64)
        rows = np.concatenate([self.quasi.numpy()[None], self.sobolstate.numpy()[:, lowest].T])
        points = np.bitwise_xor.accumulate(rows, axis=0)
        self.quasi = torch.from_numpy(points[-1].copy())
        return torch.from_numpy(points[1:]).to(dtype) * (1.0 / (1 << self.MAXBIT))

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next 2ᵐ points, where that keeps their number a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out n points."""
        first = self.num_generated == 0
        start, steps = max(self.num_generated - 1, 0), n - 1 if first else n
        end = start + steps
        # In Gray code the directions between two points are the bits in which their numbers differ.
        bits = (start ^ (start >> 1)) ^ (end ^ (end >> 1))
        for bit in range(self.MAXBIT):
            if bits >> bit & 1:
                self.quasi = self.quasi ^ self.sobolstate[:, bit]
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        """A random shift, and each direction times a random lower triangular matrix of bits."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits = self.MAXBIT
        drawn = torch.randint(2, (self.dimension, bits), generator=generator)
        self.shift = torch.mv(drawn, torch.pow(2, torch.arange(0, bits)))
        matrix = torch.randint(2, (self.dimension, bits, bits), generator=generator).tril().numpy()
        matrix[:, range(bits), range(bits)] = 1
        # Bit k of a direction, the highest first, against column k of the matrix.
        places = np.arange(bits - 1, -1, -1)
        digits = self.sobolstate.numpy()[:, :, None] >> places & 1
        mixed = np.einsum("dpk,djk->djp", matrix, digits) & 1
        self.sobolstate = torch.from_numpy((mixed << places).sum(-1))

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] if self.scramble else []
        parts += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"
