"""Where in the user's program something happened: the line of code, and the path of the module.

A line of the user's own counts. One inside another installed library is named only if there is none
of the user's between it and the kit, and the engine's and the kit's own lines never are.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import traceback
from types import FrameType
from typing import Any

from ..report.findings import Site
from .engines import engines

_USERS, _LIBRARY, _OURS = range(3)
_KIT = os.path.abspath(os.path.join(os.path.dirname(__file__), *(os.pardir,) * 2)) + os.sep
_INSTALLED = tuple(
    {
        os.path.abspath(path) + os.sep
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)
_GENERATED = "<frozen", "<string>", "<__array_function__"
"""What code has for a file that Python or a library made at run time."""


class Files:
    """Whose a file is."""

    USERS, LIBRARY, OURS = _USERS, _LIBRARY, _OURS

    def __init__(self, *engines: Any) -> None:
        folders = [os.path.dirname(os.path.abspath(engine.__file__)) for engine in engines]
        self._ours = _KIT, *(folder + os.sep for folder in folders)
        self._known: dict[str, int] = {}

    def owner(self, filename: str) -> int:
        found = self._known.get(filename)
        if found is None:
            path = os.path.abspath(filename)
            if path.startswith(self._ours):
                found = _OURS
            elif filename.startswith(_GENERATED) or path.startswith(_INSTALLED):
                found = _LIBRARY
            else:
                found = _USERS
            self._known[filename] = found
        return found

    def site(self, frame: FrameType | None, boundary: FrameType | None = None) -> Site | None:
        """The innermost line of user code at or above a frame."""
        found = self.frame(frame, boundary)
        return None if found is None else site_at(found)

    def frame(self, frame: FrameType | None, boundary: FrameType | None = None) -> FrameType | None:
        """The innermost frame of user code at or above a frame.

        `boundary` is the frame of the kit that runs the program: a library's line inside of it says
        more than the user's line that called the kit.
        """
        library: FrameType | None = None
        while frame is not None:
            owner = self.owner(frame.f_code.co_filename)
            if owner == _USERS:
                return frame
            if owner == _LIBRARY and library is None:
                library = frame
            if frame is boundary and library is not None:
                break
            frame = frame.f_back
        return library


def line_of(error: BaseException) -> str:
    """`file.py:12`, the innermost line of user code that an error went through; a library's line only
    if there is none; empty if there is neither."""
    files = Files(*engines())
    found = ["", ""]
    for at in traceback.extract_tb(error.__traceback__):
        owner = files.owner(at.filename)
        if owner != _OURS:
            found[owner] = f"{at.filename}:{at.lineno}"
    return found[_USERS] or found[_LIBRARY]


def site_at(frame: FrameType) -> Site:
    """The line that a frame is at."""
    code = frame.f_code
    line = frame.f_lineno or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    return Site(code.co_filename, line, code.co_name, text)


class ModulePaths:
    """Which module of a model is running, by the names its parents have for it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._running: list[str] = []
        self._names: dict[int, str] = {}
        self._roots: list[Any] = []  # kept, so that no other object gets the same id
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
