"""The path of the currently running module, by the attribute names in its parents."""

from __future__ import annotations

import sys
from typing import Any


class ModulePaths:
    """Tracks which module of a model is running, by the attribute names in its parents."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._running: list[str] = []
        self._names: dict[int, str] = {}
        self._roots: list[Any] = []  # kept alive, so that no other object gets the same id
        self._handles: list[Any] = []

    @property
    def current(self) -> str:
        return self._running[-1] if self._running else ""

    def __enter__(self) -> ModulePaths:
        if f"{self._engine.__name__}.nn" in sys.modules:  # else there are no modules
            hooks = self._engine.nn.modules.module
            self._handles = [
                hooks.register_module_forward_pre_hook(self._begin),
                hooks.register_module_forward_hook(self._end, always_call=True),
            ]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def _begin(self, module: Any, _: Any) -> None:
        if not self._running and id(module) not in self._names:
            self._roots.append(module)
            for name, inner in module.named_modules():
                self._names.setdefault(id(inner), name)
        self._running.append(self._names.get(id(module), self.current))

    def _end(self, *_: Any) -> None:
        if self._running:
            self._running.pop()
