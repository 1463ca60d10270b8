"""PyTorch's tensors and modules: not ours to compile, and a clear word instead of a program that does nothing.

What PyTorch computes leaves no trace on a tape, so a record of it would give the same numbers for ever. Arguments and
a model are looked at before anything runs; whatever else a function computes with PyTorch is met while it is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._user_code.owners import internal
from .record.trees import NESTS

_WORDS = (
    "tautograd.compile() records what tautograd computes, and {what} of PyTorch's. Use `torch.compile` for PyTorch, "
    "or give it tautograd's tensors and modules (`tautograd.from_numpy(tensor.numpy())`)."
)


def is_pytorch(value: Any) -> bool:
    """Whether a value is a tensor, a module or an optimizer of PyTorch's."""
    torch = _pytorch()
    if torch is None:
        return False
    kinds = torch.Tensor, torch.nn.Module, torch.optim.Optimizer
    return isinstance(value, kinds)


def _pytorch() -> Any:
    """The module, if the program has imported it whole; not tautograd under its name."""
    found = sys.modules.get("torch")
    whole = getattr(found, "__name__", "") == "torch" and hasattr(found, "overrides")
    return found if whole and hasattr(found, "optim") else None


def refuse_model(model: Any) -> None:
    """Refuse to compile what belongs to PyTorch: a module, or a method of one."""
    if is_pytorch(model) or is_pytorch(getattr(model, "__self__", None)):
        owner = model if is_pytorch(model) else model.__self__
        raise TypeError(_WORDS.format(what=f"{type(owner).__name__} is a module"))


def refuse_arguments(arguments: Any) -> None:
    """Refuse a call with PyTorch's tensors among its arguments."""
    if _pytorch() is None:
        return
    for leaf in NESTS.leaves(arguments):
        if is_pytorch(leaf):
            raise TypeError(_WORDS.format(what=f"an argument is a {type(leaf).__name__}"))


@contextmanager
def met_by(tape: Any) -> Iterator[None]:
    """Refuse what PyTorch computes meanwhile in this thread, with the line that asks for it."""
    torch = _pytorch()
    if torch is None:
        yield
        return

    class Meeting(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if not (tape.paused or tape.dead):
                what = "a computation of PyTorch's, which `torch.compile` compiles,"
                tape.refuse(what, "foreign", _line_outside(torch.__path__[0]))
            return function(*args, **(kwargs or {}))

    with Meeting():
        yield


def _line_outside(folder: str) -> Any:
    """The innermost frame that is neither in a folder nor in this package."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and (
        internal[frame.f_code.co_filename] or frame.f_code.co_filename.startswith(folder)
    ):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti
