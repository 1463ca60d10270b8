"""`tautograd.compile(fn)`: the same function, recorded once and then replayed as one program."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from ..optim import _hooks as optimizer_hooks
from .capture import tensors_in
from .entry import Entry
from .errors import CompileError
from .explain import Explanation
from .guards import is_ordinary, key_of, mode_key
from .quick import MISS

log = logging.getLogger("tautograd.compile")
RECORDS = 16  # kept per function
FORMS = 256  # of arguments that are remembered as seen once


def _log_if_asked() -> None:
    """`TAUT_LOG=compile` shows why something was recorded."""
    if "compile" in os.environ.get("TAUT_LOG", "").split(",") and not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


class Compiled:
    """A function that is replayed as a program wherever its record holds.

    The first call with arguments of a new form (shapes, dtypes, strides, Python values) runs as
    written, the second is recorded, and from then on it is replayed.
    """

    def __init__(
        self, fn: Callable[..., Any], *, fallback: bool = False, native: bool = True
    ) -> None:
        self._fn = fn
        self._fallback = fallback
        self._native = native
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._entries: OrderedDict[Any, list[Entry]] = OrderedDict()
        self._seen: OrderedDict[Any, int] = OrderedDict()
        self._refused: dict[Any, str] = {}
        self._last: Entry | None = None
        self.records = 0  # how often the function was recorded
        functools.update_wrapper(self, fn)
        _log_if_asked()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and last.quick is not None and not kwargs:
            result = last.quick(args)
            if result is not MISS:
                return result
        tensors = tensors_in((args, kwargs))
        if modes.recorder is not None or not is_ordinary(tensors) or _watched():
            return self._fn(*args, **kwargs)
        with self._lock:
            if self._pid != os.getpid():
                self._forget_all()
            key = mode_key(), key_of(args), key_of(kwargs) if kwargs else None
            entry = self._matching(key)
            if entry is not None:
                with entry.lock:
                    return entry.replay(list(tensors))
            if key in self._refused or self._seen_first(key):
                return self._fn(*args, **kwargs)
            return self._record(key, args, kwargs)

    def _matching(self, key: Any) -> Entry | None:
        last = self._last
        if last is not None and last.key == key and last.guards.reason() is None:
            return last
        found = self._entries.get(key)
        if found is None:
            return None
        reasons = []
        for entry in reversed(found):
            reason = entry.guards.reason()
            if reason is None:
                self._entries.move_to_end(key)
                self._last = entry
                return entry
            reasons.append(reason)
        log.info("%s: recorded again: %s", self._name(), reasons[0])
        return None

    def _seen_first(self, key: Any) -> bool:
        """Whether arguments of this form are new: then the call runs as written."""
        if key in self._entries or key in self._seen:
            return False
        self._seen[key] = 1
        if len(self._seen) > FORMS:
            self._seen.popitem(last=False)
        return True

    def _record(self, key: Any, args: Any, kwargs: Any) -> Any:
        try:
            entry, result = Entry.recorded(self._fn, key, args, kwargs, self._native)
        except CompileError as error:
            if not self._fallback:
                raise
            self._refused[key] = str(error)
            warnings.warn(
                f"{self._name()} runs as it is written, for it cannot be recorded:\n{error}",
                stacklevel=3,
            )
            if error.finished is not None:
                return error.finished[0]
            return self._fn(*args, **kwargs)
        self.records += 1
        log.info("%s: recorded (%d instructions)", self._name(), entry.size)
        of_form = self._entries.setdefault(key, [])
        of_form.append(entry)
        if len(of_form) > 4:  # variants of one form, as with and without gradients left over
            of_form.pop(0)
        self._entries.move_to_end(key)
        while sum(map(len, self._entries.values())) > RECORDS:
            self._entries.popitem(last=False)
        self._last = entry
        return result

    def _name(self) -> str:
        return getattr(self._fn, "__qualname__", type(self._fn).__name__)

    def _forget_all(self) -> None:
        """In a child process: programs, threads and locks belong to the parent."""
        self._pid = os.getpid()
        self._entries.clear()
        self._last = None

    def clear(self) -> None:
        """Forget every record."""
        with self._lock:
            self._entries.clear()
            self._seen.clear()
            self._refused.clear()
            self._last = None

    def explain(self) -> Explanation:
        """The record that ran last: its instructions, what was fused and what was not, and its memory."""
        with self._lock:
            return Explanation(self._name(), self._last, self._refused)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: a program for each object."""
        if instance is None:
            return self
        name = f"_compiled_{self._fn.__name__}"
        found = instance.__dict__.get(name)
        if found is None:
            bound = self._fn.__get__(instance, owner)
            found = Compiled(bound, fallback=self._fallback, native=self._native)
            instance.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return f"<compiled {self._name()}: {sum(map(len, self._entries.values()))} records>"


def _watched() -> bool:
    """Whether somebody watches every optimizer's steps, as the doctor does: then each step is run."""
    return bool(optimizer_hooks._global_pre_hooks or optimizer_hooks._global_post_hooks)


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fallback: bool = False,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "llvm",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Record a function of tensors, up to a whole training step, and replay it as one program.

    `compile(fn)`, or `@compile` above a function. With `fallback=True` a function that cannot be
    recorded runs as it is written, and a warning says so once. `backend="numpy"` replays with NumPy's
    functions and needs no compiler. `fullgraph`, `dynamic`, `mode` and `options` are PyTorch's; a record is
    always of the whole function and of fixed shapes.
    """
    if backend not in ("llvm", "inductor", "numpy", "eager"):
        raise ValueError(
            f"compile(): argument 'backend' must be 'llvm' or 'numpy', not {backend!r}"
        )
    if model is None:
        return functools.partial(compile, fallback=fallback, backend=backend, disable=disable)
    if not callable(model):
        raise TypeError(f"compile(): argument 'model' must be callable, not {type(model).__name__}")
    if disable or backend == "eager":
        return model
    return Compiled(model, fallback=fallback and not fullgraph, native=backend != "numpy")


__all__ = ["Compiled", "Tensor", "compile"]
