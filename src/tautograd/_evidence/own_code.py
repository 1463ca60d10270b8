"""Code that only an evidence file names: which of it may run, and proof that it is what runs.

The decision is made from the text of a source file, before anything is imported: the file is the
user's own, it is byte for byte the one that the evidence was made with, and it defines the name. After
the import, the object under that name must be the one that this text defines.
"""

from __future__ import annotations

import ast
import inspect
import os
import shlex
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from tautograd._evidence import targets
from tautograd._evidence.canonical import sha256
from tautograd._evidence.compiled import is_code_of
from tautograd._evidence.definitions import (
    Definition,
    NotDefined,
    attribute_in,
    binds,
    definition_in,
    parsed,
)
from tautograd._evidence.project_paths import own_source, source_of
from tautograd._evidence.refusals import CannotRun, shown
from tautograd._evidence.sources import inside, project_root
from tautograd._verify.subject.engines import is_tensor


@dataclass(frozen=True)
class Own:
    """A definition in a file of the user's, found in its text and not imported yet."""

    path: str
    definition: Definition
    source: bytes = field(repr=False)
    say: str = field(repr=False)
    """The command with which the user can run it anyway."""

    @property
    def target(self) -> str:
        """In the syntax of the command line."""
        return f"{self.path}:{self.definition.name}"

    def load(self) -> ModuleType:
        """Import the file, from the very bytes that were checked."""
        return targets.load_source(self.path, self.source)

    def take(self, module: ModuleType) -> Any:
        """The object that the text defines, from the imported module."""
        found = _found(module, self.definition, self.path, self.source)
        if found is None:
            raise CannotRun(
                f"once '{self.path}' is imported, its '{self.definition.name}' is not what its text "
                f"defines; if you want to run it, name it: {self.say}"
            )
        return found

    def check_maker(self, maker: Any, name: str) -> None:
        """Refuse a maker of inputs that is found beside the function but was defined elsewhere."""
        if not callable(maker) or is_tensor(maker):
            return
        function = _unwrapped(maker)
        if not isinstance(function, FunctionType) or not _is_in(function.__code__, self.path):
            raise CannotRun(
                f"'{name}', which would make the inputs, is not defined in '{self.path}'; if you "
                f"want to run it, name the function: {self.say}"
            )


def own_code(
    file: str | None, name: str, files: list[dict[str, Any]], recorded: str, command: str
) -> Own:
    """The definition that a recorded file and name refer to; or `CannotRun`, with the command to use
    instead.

    `files` are the recorded paths and hashes, `recorded` is how the evidence names it, and `command`
    is the command that a target is appended to.
    """
    path = own_source(file) if file else None
    if file is None or path is None:
        where = f", in {shown(file)}" if file else ""
        about = (
            f"the evidence is about '{shown(recorded)}'{where}, which is not in the project of the "
            "current folder"
        )
        missing_in = _project_without(file) if file else None
        if file and missing_in:
            there = _typed(f"path/to/{os.path.basename(file)}:{name}")
            raise CannotRun(
                f"{about}: there is no such file in {missing_in}. Replay it in the project it was made in, or "
                f"say where the file is: {command} {there}"
            )
        raise CannotRun(
            f"{about}; if that is what you want to import, name it: {command} {_typed(recorded)}"
        )
    say = f"{command} {_typed(f'{os.path.relpath(path)}:{name}')}"
    source = source_of(path)
    hashes = {row["sha256"] for row in files if row["path"] == file}
    if hashes != {sha256(source)}:
        said = "has changed since the evidence was made" if hashes else "is not in its list of code"
        raise CannotRun(
            f"the evidence is about '{shown(name)}' in {file}, which {said}: an evidence file has only "
            f"that code run which it was made with; to run it as it is now, name it: {say}"
        )
    if not inside(targets.module_name(path)[1], project_root(os.getcwd())):
        raise CannotRun(
            f"{file} is in a package that begins above the project of the current folder; if you "
            f"want to import all of it, name it: {say}"
        )
    if "." in os.path.basename(path).removesuffix(".py"):
        raise CannotRun(f"{file} has a name that cannot be imported; name it: {say}")
    try:
        found = definition_in(parsed(source), name)
    except NotDefined as reason:
        raise CannotRun(
            f"the evidence is about '{shown(name)}', but {file} {shown(str(reason), 400)}; what an evidence file "
            "names by "
            f"itself must be defined there; if you want to run it, name it: {say}"
        ) from None
    return Own(path, found, source, say)


def _project_without(file: str) -> str | None:
    """The current folder's project, if a recorded path would be in a project but does not exist there."""
    parts = file.split("/")
    if file.startswith(("/", "<")) or not file.endswith(".py") or ".." in parts:
        return None
    try:
        root = project_root(os.getcwd())
    except OSError:  # the folder no longer exists
        return None
    return None if os.path.lexists(os.path.join(root, *parts)) else root


def _typed(target: str) -> str:
    """A target as typed on a command line, if it is one that a person might type."""
    sane = len(target) <= 200 and target.isprintable()
    if sane and target.startswith("-"):  # otherwise it would be an option
        target = f"./{target}"
    return shlex.quote(target) if sane else "pkg.mod:fn"


def check_companion(own: Own) -> None:
    """Refuse, by the text, inputs beside a function that the file merely imports or re-exports."""
    tree, name = parsed(own.source), own.definition.name
    try:
        for candidate in (f"{name}_inputs", f"{name.lower()}_inputs"):
            if binds(tree, candidate):
                definition_in(tree, candidate, values=True)
                return
        inner = f"{name}.inputs"
        cls = own.definition.of or own.definition
        if cls.kind == "class":
            try:
                definition_in(tree, f"{cls.name}.inputs", values=True)
            except NotDefined as reason:
                if not str(reason).startswith("does not define"):
                    raise
        value = attribute_in(tree, name, "inputs")
        if isinstance(value, ast.Attribute):
            raise NotDefined(f"binds '{inner}' to something that it does not define")
        if isinstance(value, ast.Name):
            definition_in(tree, value.id, values=True)
    except NotDefined as reason:
        raise CannotRun(
            f"the inputs would be made beside '{name}', but {os.path.relpath(own.path)} {reason}; "
            f"if you want to run it, name the function: {own.say}"
        ) from None


# ---- the live object -----------------------------------------------------------------------------


def _found(module: ModuleType, definition: Definition, path: str, source: bytes) -> Any:
    """The object of a definition in an imported module; None if it is a different one."""
    namespace: Any = vars(module)
    owner: Any = None
    *outer, last = definition.name.split(".")
    for step in outer:
        owner = namespace.get(step)
        if not isinstance(owner, type) or owner.__module__ != module.__name__:
            return None
        namespace = type.__getattribute__(owner, "__dict__")
    found = namespace.get(last)
    if definition.kind == "class":
        return found if _is_class(found, module, definition, source) else None
    if definition.kind == "instance":
        made = definition.of is not None and _is_class(type(found), module, definition.of, source)
        return found if made else None
    called = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    function = _unwrapped(called)
    if not isinstance(function, FunctionType) or function.__globals__ is not vars(module):
        return None
    if function is not called and not definition.decorated:  # nothing in the text decorates it
        return None
    code = function.__code__
    if not (_is_in(code, path) and is_code_of(code, definition, source)):
        return None
    return MethodType(called, owner) if isinstance(found, classmethod) else called


def _unwrapped(value: Any) -> Any:
    """The function inside its decorators, or None if they are circular."""
    try:
        return inspect.unwrap(value) if callable(value) else None
    except ValueError:
        return None


def _is_class(value: Any, module: ModuleType, definition: Definition, source: bytes) -> bool:
    return (
        isinstance(value, type)
        and value.__module__ == module.__name__
        and value.__qualname__ == definition.name
        and value.__dict__.get("__firstlineno__", definition.line) == definition.line
        and (not definition.methods or _has_any_of(value, definition, source))
    )


def _has_any_of(cls: type, definition: Definition, source: bytes) -> bool:
    """Whether a class has one of the definition's methods: anything may bear a class's name."""
    for method in definition.methods:
        found = cls.__dict__.get(method.name.rpartition(".")[2])
        function = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if isinstance(function, FunctionType) and is_code_of(function.__code__, method, source):
            return True
    return False


def _is_in(code: CodeType, path: str) -> bool:
    return os.path.realpath(code.co_filename) == os.path.realpath(path)
