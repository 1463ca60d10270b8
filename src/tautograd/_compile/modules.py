"""Modules that take part in a recording: what of them the record depends on, and must not change.

A record holds for the modes, settings and hooks that its modules had. Setting any attribute of any module
moves a counter on (`_autograd/effects.py`), so as long as that stands still nothing needs to be looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._autograd.modes import modes
from ..nn.modules.module import Module
from .errors import cannot_record

_lock = threading.RLock()
_active = 0
_before: Any = None
_SIMPLE = (bool, int, float, str, type(None))
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Modules:
    """The modules that were called, as they were before their first call."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Module, Any]] = {}

    def note(self, module: Module) -> None:
        if id(module) not in self.found:
            self.found[id(module)] = module, _state(module)

    def settle(self) -> None:
        """After a recording: no module's attribute may have changed, for a replay would not change it."""
        for module, state in self.found.values():
            now = _state(module)
            changed = [name for name, value in now.items() if state.get(name, ...) != value]
            if changed:
                raise cannot_record(
                    f"{type(module).__name__}'s attribute `{changed[0]}`, a Python value that changes "
                    "at each call,",
                    "attribute",
                )

    def hold(self) -> bool:
        """Whether every module is as it was recorded."""
        return all(_state(module) == state for module, state in self.found.values())


def _state(module: Module) -> dict[str, Any]:
    """A module's modes, settings and hooks, and which tensors and modules it holds."""
    own = module.__dict__
    state = {k: v for k, v in own.items() if isinstance(v, _SIMPLE)}
    for name in _HOOKS:
        state[name] = tuple(own[name])
    for name in ("_parameters", "_buffers", "_modules"):
        state[name] = tuple((k, id(v)) for k, v in own[name].items())
    return state


@contextmanager
def noting(found: Modules) -> Iterator[None]:
    """Note each module that this thread calls."""
    global _active, _before
    with _lock:
        if not _active:
            _before = vars(Module)["__call__"]
            Module.__call__ = _call  # type: ignore[method-assign]
        _active += 1
    modes.modules_seen = found
    try:
        yield
    finally:
        modes.modules_seen = None
        with _lock:
            _active -= 1
            if not _active:
                Module.__call__ = _before  # type: ignore[method-assign]


def _call(self: Module, *args: Any, **kwargs: Any) -> Any:
    found = modes.__dict__.get("modules_seen")
    if found is not None:
        found.note(self)
    return _before(self, *args, **kwargs)
