"""Tells when an engine has been imported, before the line that imports it binds a name.

PyTorch is slow to import and a script may do without it, so nothing is imported in advance: a finder
at the head of `sys.meta_path` lets the others find `torch`, and has itself called once the module has
run. tautograd is there already; it counts as used when one of its parts that train is imported.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PARTS = {
    "torch": "torch",
    "tautograd.nn": "tautograd",
    "tautograd.optim": "tautograd",
    "tautograd.autograd": "tautograd",
}


class _Finder(MetaPathFinder):
    def __init__(self, tell: Callable[[ModuleType], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()
        self._looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self._looking or fullname not in PARTS:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        loader: Any = spec.loader if spec is not None else None
        if loader is None or not hasattr(loader, "exec_module"):
            return spec

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the loader is as it was
            loader.exec_module(module)
            self.told(fullname)

        loader.exec_module = exec_module
        return spec

    def told(self, part: str) -> None:
        """This part of an engine is there: tell of the engine, once."""
        engine = sys.modules[PARTS[part]]
        if engine.__name__ not in self._told:
            self._told.add(engine.__name__)
            self._tell(engine)


@contextlib.contextmanager
def telling(tell: Callable[[ModuleType], None]) -> Iterator[None]:
    """Inside, `tell` is called with each engine when it is first imported, or now if it is."""
    finder = _Finder(tell)
    for part in PARTS:
        if part in sys.modules:
            finder.told(part)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(finder)
