"""The base class of transforms: a call, an inverse, a cache of the last pair, and an inverse object."""

from __future__ import annotations

from typing import Any

from tautograd import Tensor

from .. import constraints


class Transform:
    """A function y = t(x) with `t.inv(y)` and `t.log_abs_det_jacobian(x, y)`.

    A subclass defines `_call` and, if it has one, `_inverse`. With `cache_size=1` the last pair is
    cached: the inverse of the last result is the very input.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size == 1:
            self._cached_x_y: tuple[Any, Any] = None, None
        elif cache_size != 0:
            raise ValueError("cache_size must be 0 or 1")
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions an event has, if that is the same on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim  # type: ignore[no-any-return]
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse, as a transform whose own inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv  # type: ignore[no-any-return]

    @property
    def sign(self) -> Any:
        """1 if the transform is increasing, -1 if it is decreasing."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        """t(x)."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old  # type: ignore[no-any-return]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old  # type: ignore[no-any-return]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx|, for each event."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of t(x), given that of x."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of x, given that of t(x)."""
        return shape


class Stateless(Transform):
    """A transform without parameters: any two of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) or isinstance(self, type(other))

    __hash__ = None


class _InverseTransform(Transform):
    """The inverse of a transform, as made by `t.inv`."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # unlike other transforms, it is useless without its inverse

    @property
    def _turned(self) -> Any:
        if self._inv is None:
            raise AssertionError("_inv must not be None")
        return self._inv

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The codomain of the transform itself."""
        return self._turned.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The domain of the transform itself."""
        return self._turned.domain

    @property
    def bijective(self) -> bool:
        """As the transform itself."""
        return self._turned.bijective  # type: ignore[no-any-return]

    @property
    def sign(self) -> Any:
        """As of the transform itself."""
        return self._turned.sign

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self._inv  # type: ignore[no-any-return]

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The inverse of the transform with a cache of this size."""
        return self._turned.with_cache(cache_size).inv  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._turned == other._inv)

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        """The x that the transform maps to this."""
        return self._turned._inv_call(x)  # type: ignore[no-any-return]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Minus that of the transform itself."""
        return -self._turned.log_abs_det_jacobian(y, x)  # type: ignore[no-any-return]

    def forward_shape(self, shape: Any) -> Any:
        """The reverse."""
        return self._turned.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The reverse."""
        return self._turned.forward_shape(shape)
