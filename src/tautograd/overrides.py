"""`torch.overrides`: seeing, and changing, what every operation on tensors does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ._autograd import function_modes
from ._autograd.modes import modes
from ._ops.declare import subclasses
from ._tensor.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class TorchFunctionMode:
    """While it is entered, every public call of this thread is handed to `__torch_function__`.

    A subclass says what is done instead; `return func(*args, **(kwargs or {}))` does what would have
    been done. `func` is the function itself (`func is torch.add`), a method of `Tensor` or the `__get__`
    of one of its attributes. Modes nest: the innermost is asked first, and while it answers it is not
    active, so that what it calls goes to the next one out.
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _pop_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchFunctionMode) -> None:
    """Make a mode the innermost one of this thread, as entering it does."""
    subclasses.enter(mode)


def _pop_mode() -> TorchFunctionMode:
    """Take this thread's innermost mode away, and give it."""
    innermost: TorchFunctionMode = subclasses.leave()
    return innermost


def _get_current_function_mode() -> Any:
    """The innermost mode of this thread, or None."""
    return subclasses.entered()[-1] if subclasses.entered() else None


def _get_current_function_mode_stack() -> list[Any]:
    """The modes that are entered in this thread, the outermost first."""
    return list(subclasses.entered())


class _OfOperations:
    """The same for modes that are shown operations, after what public functions made of their arguments.

    `func.__name__` is the operation's name in PyTorch. No public function looks for them: what is not watched is
    not slowed down.
    """

    class TorchFunctionMode(TorchFunctionMode):
        def __enter__(self) -> Any:
            function_modes.enter(self)
            return self

        def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
            function_modes.leave()

    @staticmethod
    def _push_mode(mode: Any) -> None:
        function_modes.enter(mode)

    @staticmethod
    def _pop_mode() -> Any:
        innermost = modes.function_modes[-1]
        function_modes.leave()
        return innermost

    @staticmethod
    def _get_current_function_mode_stack() -> list[Any]:
        return list(modes.function_modes or ())

    @staticmethod
    def _release_mode(mode: Any) -> None:
        """A mode that another thread entered is not asked any more."""
        function_modes.release(mode)


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or a type of its own that stands for one."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def _asked(relevant_args: Iterable[Any]) -> list[Any]:
    """Those of some arguments whose class answers calls on them, each class once."""
    if not subclasses.is_enabled():
        return []
    return subclasses.speaking(relevant_args)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments is for a mode or for one of their classes to answer."""
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return bool(subclasses.entered()) or bool(_asked(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """The same, of one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same, of arguments one by one."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Have a call answered by a mode or by a class among `relevant_args`.

    For functions that others write: `if has_torch_function((x,)): return handle_torch_function(f, (x,), x)`.
    """
    name = getattr(public_api, "__name__", str(public_api))
    if subclasses.entered():
        return subclasses.shown_to_mode(public_api, name, args, kwargs)
    return subclasses.ask(public_api, name, _asked(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Function], Function]:
    """A decorator: the function is answered by a class among the arguments that `dispatcher` names."""

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return wrap


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """What a class that says nothing else gives as it is, not as a tensor of its own."""
    return set(subclasses.kept_plain())


def enable_reentrant_dispatch() -> AbstractContextManager[None]:
    """Subclasses are asked inside, also while one answers."""
    return subclasses.asked_again()


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions on tensors by where they are: a module, `Tensor`, or a property."""
    from ._overridable import overridable

    return overridable()[0]


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that no class is asked about: they are given no tensor."""
    from ._overridable import ignored

    return set(ignored())


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function one that takes the same arguments and gives -1."""
    from ._overridable import stand_ins

    return dict(stand_ins())


def resolve_name(f: Any) -> str | None:
    """The name by which a function is reached, as `torch.linalg.det`; None for one that is not PyTorch's."""
    from ._overridable import overridable

    return overridable()[1].get(f)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of tensors, or reads a property of theirs."""
    from ._overridable import methods

    return func in methods() or getattr(func, "__name__", "") in ("__get__", "__set__")


__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]
