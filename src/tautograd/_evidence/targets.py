"""What a name on the command line means: `pkg.mod:fn`, `path/to/file.py:fn`, or a whole module."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tautograd._evidence.as_read import AsRead
from tautograd._evidence.canonical import sha256
from tautograd._evidence.refusals import CannotRun, said_by
from tautograd._evidence.sources import project_root, relative
from tautograd._nearest import nearest
from tautograd._verify.subject.engines import engines, is_module

EXAMPLES = "'pkg.mod:fn' or 'path/to/file.py:fn'"


@dataclass(frozen=True)
class Target:
    """A place in the code, as the user typed it."""

    where: str
    """A dotted module path, or a path to a file."""
    name: str
    """The name within it; empty for the whole module."""

    @classmethod
    def parse(cls, text: str) -> Target:
        """The parts of `where:name`."""
        where, _, name = text.rpartition(":")
        if not where or (os.sep in name or name.endswith(".py")):  # no colon, or a drive letter's
            where, name = text, ""
        if not where:
            raise CannotRun(f"'{text}' names nothing to verify; write {EXAMPLES}")
        return cls(where, name)

    @property
    def is_file(self) -> bool:
        """Whether it names a file rather than a module."""
        return self.where.endswith(".py") or "/" in self.where or os.sep in self.where

    def __str__(self) -> str:
        return f"{self.where}:{self.name}" if self.name else self.where


# ---- importing -----------------------------------------------------------------------------------


def load_module(target: Target) -> ModuleType:
    """Import the module or file of a target."""
    return load_file(target.where) if target.is_file else _load_dotted(target.where)


def _load_dotted(name: str) -> ModuleType:
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does
    with _failures_of(name):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            # Only for the requested module: failing imports inside it are reported differently.
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            missing = error.name
        raise CannotRun(
            f"no module named '{missing}' (looked in the current folder too); "
            f"a file is named by its path: {name.replace('.', '/')}.py"
        )


def load_file(path: str) -> ModuleType:
    """Import a file by its path; a file in a package as part of it."""
    real = os.path.realpath(path)
    if not os.path.isfile(real):
        what = "is a folder" if os.path.isdir(real) else "does not exist"
        raise CannotRun(f"the file '{path}' {what}")
    name, base = module_name(real)
    if base not in sys.path:
        sys.path.insert(0, base)
    loaded = sys.modules.get(name)
    if loaded is not None and _is_of(loaded, real):
        return loaded
    with _failures_of(path):
        if "." in name:
            module = importlib.import_module(name)
            if not _is_of(module, real):
                raise CannotRun(f"'{path}' is hidden by another '{name}', {module.__file__}")
            return module
        if loaded is not None or _is_another(name, real):
            name = _name_of_its_own(name, real)  # the plain name belongs to another module
        return _load_as(name, real)


def load_source(path: str, source: bytes) -> ModuleType:
    """Import a file whose bytes were checked before, from those bytes."""
    name, base = module_name(os.path.realpath(path))
    loaded = sys.modules.get(name)
    if loaded is not None and _is_of(loaded, path):
        return loaded
    if base not in sys.path:
        sys.path.insert(0, base)
    with _failures_of(path):
        package, _, last = name.rpartition(".")
        home = importlib.import_module(package) if package else None
        folder = os.path.dirname(path.removesuffix(f"{os.sep}__init__.py"))
        if home is not None and folder not in map(os.path.realpath, home.__path__):
            raise CannotRun(f"'{path}' is hidden by another '{package}', {home.__file__}")
        if loaded is None and name in sys.modules and _is_of(sys.modules[name], path):
            return sys.modules[name]  # its package has already imported it
        if loaded is not None or (home is None and _is_another(name, path)):
            name = _name_of_its_own(name, path)  # the plain name belongs to another module
        module = _load_as(name, path, AsRead(name, path, source))
        if home is not None:
            setattr(home, last, module)
        return module


def _is_of(module: ModuleType, path: str) -> bool:
    return os.path.realpath(getattr(module, "__file__", "") or "") == os.path.realpath(path)


def _is_another(name: str, path: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is None or spec.origin is None or os.path.realpath(spec.origin) != path


def _name_of_its_own(name: str, path: str) -> str:
    return f"{name}_{sha256(path.encode(errors='surrogateescape'))[:8]}"


def _load_as(name: str, path: str, loader: Any = None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise CannotRun(f"'{path}' is not a file of Python code")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def module_name(path: str) -> tuple[str, str]:
    """The dotted name under which a file is imported, and the folder on whose path it is found."""
    folder, file = os.path.split(path)
    names = [file.removesuffix(".py")]
    if names == ["__init__"]:
        names = []
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        names.insert(0, package)
    return ".".join(names), folder


@contextlib.contextmanager
def _failures_of(name: str) -> Iterator[None]:
    """Report errors while the user's code is imported, in one sentence."""
    try:
        yield
    except CannotRun:
        raise
    except SystemExit as stopped:
        raise CannotRun(
            f"importing '{name}' ended with sys.exit({said_by(stopped)}); put what a script does "
            "under: if __name__ == '__main__'"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # code may raise a subclass of that alone
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise CannotRun(
            f"importing '{name}' failed: {type(error).__name__}: {said_by(error)} "
            f"({last.filename}:{last.lineno})",
            lines=True,
        ) from error


# ---- what is in it -------------------------------------------------------------------------------


def find(module: ModuleType, name: str) -> Any:
    """The object of a dotted name in a module."""
    found: Any = module
    for step in name.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            near = nearest(step, [n for n in dir(found) if not n.startswith("__")])
            hint = f"; did you mean '{near}'?" if near else ""
            raise CannotRun(f"'{module.__name__}' has no '{name}'{hint}") from None
    return found


def is_module_class(value: Any) -> bool:
    """Whether a value is a subclass of `nn.Module`, of any loaded engine."""
    return inspect.isclass(value) and any(
        issubclass(value, base) for base in _bases("nn", "Module")
    )


def is_function_class(value: Any) -> bool:
    """Whether a value is a subclass of `autograd.Function`."""
    return inspect.isclass(value) and any(
        issubclass(value, base) for base in _bases("autograd", "Function")
    )


def _bases(part: str, name: str) -> Iterator[type]:
    for engine in engines():
        loaded = sys.modules.get(f"{engine.__name__}.{part}")
        if loaded is not None:
            yield getattr(loaded, name)


def _is_known_class(value: Any) -> bool:
    return is_module_class(value) or is_function_class(value)


def kind_of(value: Any) -> str:
    """The kind of object that a target refers to."""
    if is_module_class(value):
        return "module class"
    if is_function_class(value):
        return "autograd function"
    if is_module(value):
        return "module"
    if callable(value) and not inspect.isclass(value):
        return "function"
    raise CannotRun(
        f"{value!r} is neither a function nor a module; name one, for example {EXAMPLES}"
    )


def public_names(module: ModuleType) -> list[str]:
    """The public functions and modules that a Python module defines."""
    listed = getattr(module, "__all__", None)
    names = listed if listed is not None else [n for n in vars(module) if not n.startswith("_")]
    found = []
    for name in names:
        value = getattr(module, name, None)
        own = getattr(value, "__module__", None) == module.__name__ or is_module(value)
        if name.endswith("_inputs") or not own:
            continue
        if inspect.isfunction(value) or is_module(value) or _is_known_class(value):
            found.append(name)
    return found


# ---- written down --------------------------------------------------------------------------------


def origin_of(subject: Any) -> Any:
    """The object a callable was defined as: for the `apply` of an `autograd.Function`, the class."""
    owner = getattr(subject, "__self__", None)
    return owner if is_function_class(owner) else subject


def target_of(subject: Any) -> str | None:
    """The target that names a function or class; None if it cannot be named."""
    thing = origin_of(subject)
    if is_module(thing):
        thing = type(thing)
    name = getattr(thing, "__qualname__", "")
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or not name or "<" in name:
        return None
    if module.__name__ == "__main__":
        file = getattr(module, "__file__", None)
        if not file or not os.path.isfile(file):
            return None
        return f"{relative(file, project_root(file))}:{name}"
    return f"{module.__name__}:{name}"
