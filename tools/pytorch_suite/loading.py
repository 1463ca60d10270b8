"""Loads PyTorch's test files, and the harness they import, on either engine.

The text of a test file is read from a git directory of PyTorch. On PyTorch it runs unchanged. On
tautograd `torch` is tautograd, and PyTorch's harness (`torch.testing._internal`, and what compares
tensors) is the text of the installed PyTorch, run on tautograd: so tests are generated, named and
judged in the same way on both. Missing names have stand-ins while a file is loaded (`absent`). A
top-level statement that fails leaves `Absent`s; a failing entry of a table such as `op_db` is skipped.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import linecache
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from . import absent
from .absent import Absent

TAG = "v2.11.0"
HARNESS = (
    "torch.testing._internal",
    "torch.testing._comparison",
    "torch.testing._utils",
    "torch.utils._import_utils",
)


# Functions that test files call before their tests: a compiled library of tests, a switch for PyTorch's
# own warnings. None of them changes what a test compares, so they are no-ops.
WITHOUT_EFFECT = (
    "torch.ops.load_library",
    "torch._C._debug_only_are_vmap_fallback_warnings_enabled",
    "torch._C._debug_only_display_vmap_fallback_warnings",
)


def text_of(git_dir: str, path: str) -> str | None:
    """A file of PyTorch's repository, or None."""
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", "show", f"{TAG}:{path}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else None


class Loader:
    """Loads a test file and what it imports."""

    def __init__(self, git_dir: str, engine: str) -> None:
        self._git_dir = git_dir
        self._foreign = engine != "torch"
        self._folders: list[str] = []
        self._views: dict[tuple[str, bool], View] = {}
        found = PathFinder.find_spec("torch")
        if found is None or not found.submodule_search_locations:
            raise SystemExit("PyTorch, the reference, is not installed")
        self._installed = Path(found.submodule_search_locations[0])
        if self._foreign:
            from tautograd._cli import as_torch

            as_torch.install()
            importlib.import_module("torch")

    def test_file(self, path: str) -> ModuleType:
        """The module of a test file."""
        text = text_of(self._git_dir, path)
        if text is None:
            raise SystemExit(f"{path} is not in {self._git_dir} at {TAG}")
        self._folders = [str(Path(path).parent), "test"]
        return self._run(Path(path).stem, text, path, harness=False)

    # --- running a file's text ---------------------------------------------------------------------

    def _run(self, name: str, text: str, path: str, *, harness: bool) -> ModuleType:
        module = ModuleType(name)
        module.__file__ = path
        module.__package__ = name if Path(path).name == "__init__.py" else name.rpartition(".")[0]
        if Path(path).name == "__init__.py":
            module.__path__ = [str(Path(path).parent)]
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        sys.modules[name] = module
        space = module.__dict__
        space["__builtins__"] = {
            **vars(builtins),
            "__import__": self._importer(harness=harness),
            "getattr": absent.getattr_,
            "hasattr": absent.hasattr_,
        }
        space["_kept"] = _kept
        absent.loading += 1
        try:
            if self._foreign:
                self._by_statement(text, path, space, harness=harness)
            else:
                exec(compile(text, path, "exec", dont_inherit=True), space)
        finally:
            absent.loading -= 1
        return module

    def _by_statement(self, text: str, path: str, space: dict[str, Any], *, harness: bool) -> None:
        tree = ast.parse(text, path)
        futures = [
            n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"
        ]
        for statement in tree.body:
            if statement in futures:
                continue
            try:
                exec(_compiled([*futures, _entry_by_entry(statement)], path), space)
            except Exception as error:
                for name in _bound(statement):
                    reason = f"{name} ({type(error).__name__}: {error})"
                    space.setdefault(name, Absent(reason, harness=harness))

    # --- import -------------------------------------------------------------------------------------

    def _importer(self, *, harness: bool) -> Any:
        def find(
            name: str, space: Any = None, here: Any = None, wanted: Any = (), level: int = 0
        ) -> Any:
            if level:
                package = (space or {}).get("__package__") or ""
                base = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = f"{base}.{name}".strip(".")
                level = 0
            if self._foreign and name.partition(".")[0] in ("torch", "functorch"):
                found = self.view(name if wanted else name.partition(".")[0], harness=harness)
                if not wanted:
                    self.module(name)
                if wanted and "*" in wanted:
                    return self.module(name) or found
                return found
            try:
                return builtins.__import__(name, space, here, wanted, level)
            except ModuleNotFoundError as error:
                if error.name != name.partition(".")[0] or self._beside(name) is None:
                    raise
                return sys.modules[name if wanted else name.partition(".")[0]]

        return find

    def _beside(self, name: str) -> ModuleType | None:
        """A module beside the test file in PyTorch's repository."""
        for folder in self._folders:
            path = f"{folder}/{name.replace('.', '/')}.py"
            text = text_of(self._git_dir, path)
            if text is not None:
                return self._run(name, text, path, harness=False)
        return None

    def module(self, name: str) -> ModuleType | None:
        """The module with a dotted name: the harness's from PyTorch's text, others tautograd's."""
        if any(name == part or name.startswith(f"{part}.") for part in HARNESS):
            known = sys.modules.get(name)
            return known if known is not None else self._of_harness(name)
        try:
            return importlib.import_module(name)
        except ImportError:
            return None

    def _of_harness(self, name: str) -> ModuleType | None:
        place = self._installed.parent / name.replace(".", "/")
        for path in (place / "__init__.py", place.with_suffix(".py")):
            if path.exists():
                return self._run(name, path.read_text(), str(path), harness=True)
        return None

    def view(self, name: str, *, harness: bool) -> View:
        key = (name, harness)
        if key not in self._views:
            self._views[key] = View(self, name, harness)
        return self._views[key]


class View(ModuleType):
    """A module as a test file sees it: its parts, or stand-ins for those that are missing."""

    def __init__(self, loader: Loader, name: str, harness: bool) -> None:
        super().__init__(name)
        self.__dict__.update(_loader=loader, _harness=harness)
        del self.__dict__["__doc__"], self.__dict__["__spec__"]

    def __getattr__(self, name: str) -> Any:
        loader: Loader = self._loader
        full = f"{self.__name__}.{name}"
        if any(full == p or full.startswith(f"{p}.") for p in HARNESS) and loader.module(full):
            return loader.view(full, harness=self._harness)
        if full in WITHOUT_EFFECT:
            return lambda *_: False
        module = loader.module(self.__name__)
        try:
            value = getattr(module, name)
        except (AttributeError, ImportError) as error:
            if name.startswith("__") and name != "__version__":
                raise AttributeError(name) from error
            if loader.module(full) is not None:
                return loader.view(full, harness=self._harness)
            if absent.loading or self._harness:
                return Absent(full, harness=self._harness)
            raise
        if value is module:  # `torch.torch` is `torch`
            return self
        if isinstance(value, ModuleType):
            return loader.view(full, harness=self._harness)
        if self.__name__ == "torch.ops" and self._harness:
            return _Operators(value, full)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader.module(self.__name__), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._loader.module(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(self._loader.module(self.__name__))


class _Operators:
    """A namespace of `torch.ops` as the harness sees it: its tables name PyTorch's internal operators."""

    def __init__(self, operators: Any, name: str) -> None:
        self._operators, self._name = operators, name

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._operators, name)
        except AttributeError:
            return Absent(f"{self._name}.{name}", harness=True)


def _kept(make: Any) -> list[Any]:
    """An entry of a table, if it can be created."""
    try:
        return [make()]
    except Exception:
        return []


def _entry_by_entry(statement: ast.stmt) -> ast.stmt:
    """A long top-level list, evaluated entry by entry."""
    value = getattr(statement, "value", None)
    if (
        isinstance(statement, ast.Assign | ast.AnnAssign)
        and isinstance(value, ast.List)
        and len(value.elts) >= 4
    ):
        value.elts = [_guarded(entry) for entry in value.elts]
        ast.fix_missing_locations(statement)
    return statement


def _guarded(entry: ast.expr) -> ast.expr:
    if isinstance(entry, ast.Constant | ast.Name | ast.Starred):
        return entry
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    call = ast.Call(ast.Name("_kept", ast.Load()), [ast.Lambda(empty, entry)], [])
    return ast.copy_location(ast.Starred(call, ast.Load()), entry)


def _compiled(statements: list[ast.stmt], path: str) -> CodeType:
    return compile(ast.Module(statements, []), path, "exec", dont_inherit=True)


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement would have bound."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [statement.name]
    names = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
    return names
