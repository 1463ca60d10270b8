"""`torch.overrides`: seeing, and changing, what every operation on tensors does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._autograd import function_modes
from ._autograd.modes import modes
from ._tensor.tensor import Tensor


class TorchFunctionMode:
    """While it is entered, every operation on tensors is handed to `__torch_function__`.

    A subclass says what is done instead; `return func(*args, **(kwargs or {}))` does what would have
    been done. Modes nest: the innermost is asked first, and while it answers it is not active, so
    that what it calls goes to the next one out. `func.__name__` is the operation's name in PyTorch;
    its arguments are those of the operation itself, after what the public function made of them.
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
        function_modes.enter(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        function_modes.leave()


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
    function_modes.enter(mode)


def _pop_mode() -> TorchFunctionMode:
    """Take this thread's innermost mode away, and give it."""
    innermost: TorchFunctionMode = modes.function_modes[-1]
    function_modes.leave()
    return innermost


def _release_mode(mode: TorchFunctionMode) -> None:
    """A mode that another thread entered is not asked any more."""
    function_modes.release(mode)


def _get_current_function_mode_stack() -> list[Any]:
    """The modes that are entered in this thread, the outermost first."""
    return list(modes.function_modes or ())


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or a type of its own that stands for one."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments would be shown to a mode."""
    return bool(modes.function_modes)


__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "has_torch_function", "is_tensor_like"]
