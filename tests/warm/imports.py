"""Modules that are loaded beforehand and forgotten, to be given back when somebody imports them.

A process forked from one that has loaded NumPy, tautograd and PyTorch starts at once, but it must look
as if it had loaded nothing: `taut doctor` asks what a script imports, and when. So packages are loaded
under a record of which module imports which, and taken out of `sys.modules` again. Whoever imports one
of them later gets it back through the import system: finders ahead are asked first, and everything
that it imports itself is imported after it, in the same order as the first time.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


class Loaded:
    """Which modules have been loaded, and what each of them imports."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.specs: dict[str, ModuleSpec | None] = {}
        self.imports: dict[str, list[str]] = {}
        """By module: what its text imports, in order."""
        self.without_a_finder: dict[str, list[str]] = {}
        """By module: what it puts into `sys.modules` itself."""
        self.bound: dict[str, dict[str, Any]] = {}
        """By package: what it binds to the name of one of its parts."""

    def load(self, names: Sequence[str]) -> None:
        """Import these modules (all of a package: `name.*`), and forget them again."""
        recorder = _Recorder(self)
        original = builtins.__import__, importlib.import_module
        sys.meta_path.insert(0, recorder)
        builtins.__import__ = recorder.importing  # type: ignore[assignment]
        importlib.import_module = recorder.importing_by_name
        try:
            for name in names:
                _load(name)
        finally:
            builtins.__import__, importlib.import_module = original
            sys.meta_path.remove(recorder)
        self._forget()

    def _forget(self) -> None:
        for name in [name for name in sys.modules if is_foreign(name)]:
            self.modules[name] = module = sys.modules.pop(name)
            self.specs[name] = getattr(module, "__spec__", None)
        for name in self.imports:  # which are attributes of their package once they are imported
            parent, _, last = name.rpartition(".")
            if parent in self.modules and name in self.modules:
                value = vars(self.modules[parent]).pop(last, None)
                if value is not None and value is not self.modules[name]:
                    self.bound.setdefault(parent, {})[last] = value


def _load(name: str) -> None:
    package = importlib.import_module(name.removesuffix(".*"))
    if name.endswith(".*"):
        for part in pkgutil.iter_modules(package.__path__):
            if not part.name.startswith("__"):
                _load(f"{package.__name__}.{part.name}{'.*' if part.ispkg else ''}")


def is_foreign(name: str) -> bool:
    """Whether a module is of an installed package, not Python's own nor of the tests."""
    top = name.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in ("__main__", "tests", "__mp_main__")


class _Recorder(MetaPathFinder):
    """Writes down what is imported while which module is being executed."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._executing: list[str] = []
        self._import, self._import_module = builtins.__import__, importlib.import_module
        self._seen: set[str] = set()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if not is_foreign(fullname):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                self._watch(spec)
                return spec
        return None

    def _watch(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        if loader is None:
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            self._seen.add(spec.name)
            self._executing.append(spec.name)
            self._loaded.imports[spec.name] = []
            try:
                execute(module)
            finally:
                self._executing.pop()
            found = [name for name in sys.modules if is_foreign(name) and name not in self._seen]
            self._loaded.without_a_finder[spec.name] = found
            self._seen.update(found)

        loader.exec_module = exec_module

    def _note(self, name: str) -> None:
        if self._executing and is_foreign(name) and name in sys.modules:
            self._loaded.imports[self._executing[-1]].append(name)

    def importing(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        found = self._import(name, globals, locals, fromlist, level)
        if self._executing:
            package = (globals or {}).get("__package__")
            full = importlib.util.resolve_name("." * level + name, package) if level else name
            self._note(full)
            for part in fromlist or ():
                self._note(f"{full}.{part}")
        return found

    def importing_by_name(self, name: str, package: str | None = None) -> ModuleType:
        found = self._import_module(name, package)
        self._note(importlib.util.resolve_name(name, package))
        return found


class Giving(MetaPathFinder):
    """Gives back a module that was loaded, where the search path leads to the same file still."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        known = self._loaded.specs.get(fullname)
        if known is None or not self._is_still_there(fullname, path, known):
            return None
        loader = _GivingBack(self._loaded, fullname)
        spec = ModuleSpec(fullname, loader, origin=known.origin)
        spec.submodule_search_locations = known.submodule_search_locations
        spec.cached = known.cached
        spec.has_location = known.has_location
        return spec

    def _is_still_there(self, name: str, path: Any, known: ModuleSpec) -> bool:
        parent = name.rpartition(".")[0]
        if parent:
            return sys.modules.get(parent) is self._loaded.modules.get(parent)
        now = PathFinder.find_spec(name, path)
        return now is not None and now.origin == known.origin


class _GivingBack(Loader):
    def __init__(self, loaded: Loaded, name: str) -> None:
        self._loaded, self._name = loaded, name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._loaded.modules[self._name]

    def exec_module(self, module: ModuleType) -> None:
        loaded = self._loaded
        vars(module)["__spec__"] = loaded.specs[self._name]
        for name in loaded.without_a_finder.get(self._name, ()):
            if name in loaded.modules:
                sys.modules.setdefault(name, loaded.modules[name])
        for name in loaded.imports[self._name]:
            if name in sys.modules:
                continue
            if name in loaded.imports:
                importlib.import_module(name)
            else:
                sys.modules[name] = loaded.modules[name]
        vars(module).update(loaded.bound.get(self._name, {}))
