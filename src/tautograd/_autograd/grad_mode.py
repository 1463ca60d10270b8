"""Turning recording on and off: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, for functions, generators and coroutine functions alike,
and acts on the calling thread alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .modes import change, modes, set_grad

_new = object.__new__


class _Mode:
    """A context that can also decorate; a fresh copy is used for each call, so it is reentrant."""

    def __enter__(self) -> Any:
        raise AssertionError("subclasses say what entering does")

    def __exit__(self, *exc: object) -> None:
        raise AssertionError("subclasses say what leaving does")

    def clone(self) -> _Mode:
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
            decorated_class: Any = function
            decorated_class.__init__ = self(decorated_class.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return decorated

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            # The mode holds while the generator runs, never while its caller does.
            try:
                with self.clone():
                    response = generator.send(None)
                while True:
                    try:
                        request = yield response
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            response = generator.throw(error)
                    else:
                        with self.clone():
                            response = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return decorated


class _Switch(_Mode):
    """Recording on or off, until the end of a `with` block or of the function that is decorated."""

    _value: bool

    def __new__(cls, function: Any = None) -> Any:
        self = _new(cls)
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self._before = set_grad(self._value)

    def __exit__(self, *exc: object) -> None:
        set_grad(self._before)


class no_grad(_Switch):
    """Operations inside are not recorded: results do not require gradients."""

    _value = False


class enable_grad(_Switch):
    """Operations inside are recorded, also within `no_grad`."""

    _value = True


class set_grad_enabled(_Mode):
    """Recording on or off: at once when called, and until the end of a `with` block."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}"
            )
        self.mode = mode
        self._before = set_grad(mode)

    def __call__(self, function: Any) -> Any:
        set_grad(self._before)
        return super().__call__(function)

    def __enter__(self) -> None:
        set_grad(self.mode)

    def __exit__(self, *exc: object) -> None:
        set_grad(self._before)

    def clone(self) -> set_grad_enabled:
        before = modes.grad
        copy = type(self)(self.mode)
        copy._before = before
        return copy

    def __str__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(_Mode):
    """Like `no_grad`, and results are inference tensors, which autograd never accepts."""

    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)

    def __enter__(self) -> None:
        self._before = modes.grad, modes.inference
        change(grad=not self.mode, inference=self.mode)

    def __exit__(self, *exc: object) -> None:
        grad, inference = self._before
        change(grad=grad, inference=inference)

    def clone(self) -> Any:
        return type(self)(self.mode)


class set_multithreading_enabled(_Mode):
    """Kept for programs that ask: backward runs on the calling thread either way."""

    enabled = True

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = set_multithreading_enabled.enabled
        set_multithreading_enabled.enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        set_multithreading_enabled.enabled = self._before

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)


def is_grad_enabled() -> bool:
    """Whether this thread records operations."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return modes.inference
