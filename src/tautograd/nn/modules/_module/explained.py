"""Adds to errors of operations the module they occurred in, and its inputs.

The error's message is unchanged. A note below it, which tracebacks show, names the innermost
running module, its path from the outermost, and the shapes of its inputs and
parameters.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ...._ops.declare.guarding import in_words
from ...._tensor.tensor import Tensor
from ...._user_code.owners import internal
from ...parameter import is_lazy

_KINDS = (RuntimeError, ValueError, IndexError, TypeError)


def explain(error: Exception, module: Any, args: Any, kwargs: Any) -> None:
    """Add a note to an error in a module's `forward` that says where it occurred, if an operation
    raised it.

    An internal error inside one of our modules is raised again with an explanation.
    """
    spoken = in_words(error, type(module).__name__, args, kwargs)
    if spoken is not None:
        raise spoken from error
    with contextlib.suppress(Exception):  # a module that cannot be printed must not hide the error
        _explain(error, module, args, kwargs)


def _explain(error: Exception, module: Any, args: Any, kwargs: Any) -> None:
    found = getattr(error, "_raised_in", None)
    if found is None:
        if isinstance(error, _KINDS) and _from_an_operation(error):
            note = f"in {_described(module)}{_given(args, kwargs)}{_owned(module)}"
            _attach(error, module, note)
        return
    inner, note = found
    for path, below in module.named_modules():
        if below is inner and path:
            _attach(error, inner, f"in {type(module).__name__}, {path}: {note[3:]}", note)
            return


def _attach(error: Any, module: Any, note: str, first: str = "") -> None:
    if hasattr(error, "_note"):
        error.__notes__.remove(error._note)
    error._raised_in = (module, first or note)
    error._note = note
    error.add_note(note)


def _from_an_operation(error: Exception) -> bool:
    """Whether the error was raised by this package, not by the user's code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and internal[trace.tb_frame.f_code.co_filename]


def _described(module: Any) -> str:
    text = repr(module)
    return text if "\n" not in text else type(module).__name__


def _given(args: Any, kwargs: Any) -> str:
    shapes = [_shape(a) for a in args] + [f"{k}={_shape(v)}" for k, v in kwargs.items()]
    return f", called with {', '.join(shapes)}" if shapes else ""


def _shape(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{list(value._data.shape)} {value.dtype}"
    return type(value).__name__


def _owned(module: Any) -> str:
    named = [
        f"{name} {list(p._data.shape)}"
        for name, p in module._parameters.items()
        if isinstance(p, Tensor) and not is_lazy(p)
    ]
    return f"; it has {', '.join(named)}" if named else ""
