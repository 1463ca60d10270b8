"""Filling tensors with random numbers in place: `uniform_`, `normal_` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _random
from .._autograd.views import check_writable
from .._ops.declare.public import attach
from .._ops.declare.wrong_argument import WrongArgument
from .arguments import type_name
from .draws import bound, check_batches, fill, per_example, write_drawn
from .random_state import checked
from .tensor import Tensor


def method(fn: Any) -> Any:
    """Give Tensor a method."""
    attach(fn.__name__, fn)
    return fn


def _options(
    name: str, given: tuple[Any, ...], named: dict[str, Any], **defaults: Any
) -> list[Any]:
    """Parameters by position or by name: `from`, a keyword, cannot be one in a Python signature."""
    found = {**defaults, **dict(zip(defaults, given, strict=False))}
    for key, value in named.items():
        if key not in defaults:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        found[key] = value
    return list(found.values())


@method
def uniform_(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Tensor:
    """Fill with uniform numbers in [from, to), by default [0, 1)."""
    low, high = _options("uniform_", bounds, named, **{"from": 0.0, "to": 1.0})
    return fill(self, "Uniform0", _random.uniform, generator, low, high, dtype=self._data.dtype)


@method
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers of this mean and standard deviation."""
    return fill(self, "Normal0", _random.normal, generator, mean, std, dtype=self._data.dtype)


@method
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
) -> Tensor:
    """Fill with numbers whose logarithms are normal."""
    return fill(
        self, "LogNormal0", _random.log_normal, generator, mean, std, dtype=self._data.dtype
    )


@method
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    return fill(self, "Exponential0", _random.exponential, generator, lambd, dtype=self._data.dtype)


@method
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Tensor:
    """Fill with Cauchy-distributed numbers."""
    return fill(self, "Cauchy0", _random.cauchy, generator, median, sigma, dtype=self._data.dtype)


@method
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of trials up to the first success of probability `p`."""
    return fill(self, "Geometric0", _random.geometric, generator, p, dtype=self._data.dtype)


@method
def random_(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Tensor:
    """Fill with integers: below `to`, in [from, to), or of the dtype's whole range."""
    if len(bounds) == 1 and not named:
        named, bounds = {"to": bounds[0]}, ()
    low, high = _options("random_", bounds, named, **{"from": None, "to": None})
    kind = self._data.dtype
    if low is None and high is None:
        return fill(self, "Random2", _random.random, generator, dtype=kind)
    node = "Random1" if low is None else "Random0"
    return fill(self, node, _random.randint, generator, low or 0, high, dtype=kind)


@method
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability `p` (one for all, or a tensor), and zeros otherwise."""
    kind = self._data.dtype
    if not isinstance(p, Tensor):
        if not isinstance(p, (int, float)):
            raise WrongArgument(
                f"bernoulli_(): argument 'p' (position 1) must be float, not {type_name(p)}"
            )
        return fill(self, "Bernoulli2", _random.bernoulli, generator, float(p), dtype=kind)
    shape = tuple(self.shape)
    check_writable(self)
    if 0 not in shape:
        p.detach().expand(shape)  # refused before anything is drawn
    check_batches(self._data, p._data)
    order = _slowest_first(self._data)

    def drawn(source: Any, rates: Any) -> Any:
        if 0 in shape:
            return np.empty(shape, kind)  # whatever shape the two broadcast to
        assert order is not None
        rates = np.ascontiguousarray(np.transpose(np.broadcast_to(rates, shape), order))
        values = _random.bernoulli_from(source, rates, kind, rates.shape)
        return np.transpose(values, np.argsort(order))

    in_order = bound(_random.bernoulli_from, dtype=kind, shape=shape)
    sampler = in_order if order is None and 0 not in shape else drawn
    values = per_example(sampler, checked(generator, self._data), p._data)
    return write_drawn(self, "Bernoulli1", values)


def _slowest_first(array: Any) -> list[int] | None:
    """The memory order of the dimensions, in which numbers are drawn; None for C order."""
    if type(array) is not np.ndarray or array.flags.c_contiguous:
        return None
    return list(_random.memory_order(array.shape, array.strides)[::-1])
