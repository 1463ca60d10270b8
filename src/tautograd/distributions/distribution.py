"""The base class of distributions: shapes, validation, expansion, `repr`, and the abstract methods.

A distribution declares its parts, and the base does the rest:

    arg_constraints   what each parameter must satisfy; `repr` shows them in this order
    _expanded         parameters with the batch's shape in front, which `expand` expands
    _parts            distributions it holds, which `expand` expands as well
    _kept             what `expand` passes on unchanged
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import tautograd as torch
from tautograd import Size, Tensor

from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


def _undefined(self: Any) -> Any:
    raise NotImplementedError


class Distribution:
    """A probability distribution over a batch of events; see its subclasses.

    `batch_shape` is the shape over which parameters vary, `event_shape` that of a single draw.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    _expanded: tuple[str, ...]
    _parts: tuple[str, ...] = ()
    _kept: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the validation of parameters and values on or off, for all distributions."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = Size(),
        event_shape: Sequence[int] = Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape: Any = batch_shape
        self._event_shape: Any = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Broadcast the parameters together, and take their shape as the batch's."""
        values = broadcast_all(*parameters.values())
        for name, value in zip(parameters, values, strict=True):
            setattr(self, name, value)
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` "
                "or initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint) or self._is_pending(name):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def _is_pending(self, name: str) -> bool:
        """Whether a parameter is derived from another, and has not been computed yet."""
        return name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property)

    # --- shapes ------------------------------------------------------------------------------

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution for a batch of this shape, with parameters that share memory."""
        owner = next((kind for kind in type(self).__mro__ if "_expanded" in vars(kind)), None)
        if owner is None:
            raise NotImplementedError
        new: Self = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        own = len(self._batch_shape)
        for name in self._expanded:
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(shape + value.shape[own:])
        for name in self._parts:
            if name in self.__dict__:
                part = self.__dict__[name]
                new.__dict__[name] = part.expand(shape + part.batch_shape[own:])
        for name in self._kept:
            new.__dict__[name] = self.__dict__[name]
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self))

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters vary."""
        return self._batch_shape  # type: ignore[no-any-return]

    @property
    def event_shape(self) -> Size:
        """The shape of a single draw."""
        return self._event_shape  # type: ignore[no-any-return]

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """The shape of a draw of `sample_shape` from each distribution of the batch."""
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    # --- defined by subclasses ---------------------------------------------------------------

    # On the class these are constraints, or properties that depend on an object; the base has none.
    arg_constraints: Any = property(_undefined, doc="What each parameter must satisfy, by name.")
    support: Any = property(_undefined, doc="The constraint that every draw satisfies.")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw `sample_shape` samples from each distribution of the batch, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw samples that are functions of the parameters, so that gradients reach these."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` samples. Deprecated: use `sample((n,))`."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile: the inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values of a discrete distribution, along a first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    # --- validation --------------------------------------------------------------------------

    def _check(self, value: Tensor) -> None:
        """Validate a value, unless validation is off."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs "
                f"{self._event_shape}."
            )
        pairs = zip(reversed(shape), reversed(expected), strict=False)
        if any(have not in (1, want) and want != 1 for have, want in pairs):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}."
            )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to "
                f"be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = {k: self.__dict__[k] for k in self.arg_constraints if k in self.__dict__}
        shown = (f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in given.items())
        return f"{type(self).__name__}({', '.join(shown)})"
