"""The code of a computation: its own text, and the files of the project it imports.

The files are found from import statements, without running them: the set is then the same in
a process that has loaded half the project as in a fresh one. Installed packages are not followed;
their versions are in the runtime's list.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

from tautograd._evidence.canonical import sha256, sha256_of_file
from tautograd._user_code.owners import Owner, owners

from .._user_code.source_lines import refuse_devices

_DEFINITIONS = 1000  # in all files together: projects may have many more, but evidence is small
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def project_root(path: str) -> str:
    """The top folder of the project that contains a file or folder.

    It is the nearest parent with a `.git`, else with a project file; else the current
    folder if that contains it; else its own folder.
    """
    start = os.path.realpath(path)
    if not os.path.isdir(start):
        start = os.path.dirname(start)
    above = list(_upward(start))
    for mark in _MARKS:
        for folder in above:
            if os.path.exists(os.path.join(folder, mark)):
                return folder
    here = os.path.realpath(os.getcwd())
    return here if inside(start, here) else start


def _upward(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, with links resolved."""
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_installed(path: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to tautograd itself."""
    return owners[os.path.abspath(path)] > Owner.GENERATED


def relative(path: str, root: str) -> str:
    """A path as recorded in evidence: relative to the project's top, with slashes."""
    return os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/")


# ---- what is imported ----------------------------------------------------------------------------


def imported_files(path: str, root: str) -> list[str]:
    """A source file and the files of its project that it imports, directly or indirectly, sorted."""
    found: set[str] = set()
    waiting = [os.path.realpath(path)]
    bases = _bases(root)
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        for module in _imports_of(file, bases):
            waiting += _files_of(module, [os.path.dirname(file), *bases], root)
    return sorted(found)


def _bases(root: str) -> list[str]:
    entries = [os.path.realpath(entry or os.getcwd()) for entry in sys.path]
    return [root, *(e for e in entries if inside(e, root) and os.path.isdir(e))]


def _imports_of(file: str, bases: list[str]) -> Iterator[str]:
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return
    package = _package_of(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                parents = package[: len(package) - node.level + 1]
                start = ".".join([*parents, start] if start else parents)
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names if alias.name != "*")


def _package_of(file: str) -> list[str]:
    """The dotted path of a file's package, from the folders that have an `__init__.py`."""
    names: list[str] = []
    folder = os.path.dirname(file)
    while os.path.exists(os.path.join(folder, "__init__.py")):
        names.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return names


def _files_of(module: str, bases: list[str], root: str) -> Iterator[str]:
    steps = module.split(".")
    for base in bases:
        top = os.path.join(base, steps[0])
        if not (os.path.isdir(top) or os.path.isfile(f"{top}.py")):
            continue
        for count in range(1, len(steps) + 1):
            stem = os.path.join(base, *steps[:count])
            for candidate in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
                real = os.path.realpath(candidate)
                if os.path.isfile(real) and inside(real, root) and not is_installed(real):
                    yield real
        return


# ---- evidence of it ------------------------------------------------------------------------------


def file_of(subject: Any) -> str | None:
    """The source file that defines a function, class or module object."""
    subject = inspect.unwrap(subject) if callable(subject) else subject
    for candidate in (subject, type(subject)):
        try:
            file = inspect.getsourcefile(candidate)
        except (
            TypeError,
            OSError,
        ):  # OSError: a class of a `__main__` without a file, as in notebooks
            continue
        if file and os.path.isfile(file):
            return os.path.realpath(file)
    return None


def text_hash(subject: Any) -> str | None:
    """SHA-256 of the source text of a function, or of a class and what it inherits from."""
    subject = inspect.unwrap(subject) if callable(subject) else subject
    kind = subject if inspect.isroutine(subject) or inspect.isclass(subject) else type(subject)
    parts = [kind]
    if inspect.isclass(kind):
        parts = [c for c in kind.__mro__ if (f := file_of(c)) and not is_installed(f)] or [kind]
    if code := getattr(kind, "__code__", None):
        refuse_devices(code.co_filename)
    try:
        return sha256("\n".join(inspect.getsource(part) for part in parts).encode())
    except (OSError, TypeError):
        return None


def code_of(file: str | None, root: str | None) -> list[dict[str, Any]]:
    """Path and hash of a file and of what it imports from its project."""
    if file is None or root is None:
        return []
    if is_installed(file):
        return [{"path": _installed_name(file), "sha256": sha256_of_file(file)}]
    rows: dict[str, dict[str, Any]] = {}
    left = _DEFINITIONS
    others = imported_files(file, root)
    for f in sorted(others, key=lambda f: f != os.path.realpath(file)):  # its own file comes first
        rows[f] = {"path": relative(f, root), "sha256": sha256_of_file(f)}
        found = definitions_of(f)
        if len(found) <= left:
            left -= len(found)
            rows[f]["definitions"] = found
    return [rows[f] for f in others]


def definitions_of(file: str) -> list[dict[str, Any]]:
    """Every function and method of a source file, with its lines and their hash; then the rest of each
    class and of the file. From these a change can be located later, though the text is not kept."""
    try:
        with open(file, "rb") as source:
            text = source.read()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return []
    lines = text.splitlines()
    found: list[dict[str, Any]] = []

    def note(name: str, first: int, last: int, rows: list[int]) -> None:
        digest = sha256(b"\n".join(lines[row - 1] for row in rows))
        found.append({"name": name, "first": first, "last": last, "sha256": digest})

    def walk(body: list[ast.stmt], prefix: str, rest: set[int]) -> None:
        for node in body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last, name = node.end_lineno or node.lineno, f"{prefix}{node.name}"
            own = set(range(first, last + 1))
            rest -= own
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{name}.", own)
            note(name, first, last, sorted(own))

    outside = set(range(1, len(lines) + 1))
    walk(tree.body, "", outside)
    note("", 1, len(lines), sorted(row for row in outside if lines[row - 1].strip()))
    return found


def _installed_name(file: str) -> str:
    package = _package_of(file)
    return "/".join(["<installed>", *package, os.path.basename(file)])
