"""Runs a script or module as `__main__`, without a trace of having been run from here.

The script sees the `sys.argv`, `sys.path[0]`, `__file__` and `__main__` that `python script.py`
gives it. Exceptions are not caught but propagate to the interpreter, which then sets the exit
status as always (Ctrl-C and `sys.exit("message")` included); only this package's frames are removed
from the traceback it prints.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from tautograd._nearest import nearest
from tautograd._user_code.source_lines import is_regular_or_absent, keep_lines

_LARGEST = 64 << 20  # bytes
NO_TORCH = "PyTorch is not installed here; '--as-torch' before the script runs it on tautograd."
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


class NothingToRun(Exception):
    """The script or module named cannot be read; the message says why."""


def run_script(path: str, arguments: Sequence[str]) -> None:
    """Run the file at `path` as `python path arguments...` would."""
    absolute = os.path.abspath(path)
    try:
        with io.open_code(absolute) as file:
            source = file.read(_LARGEST + 1)
    except OSError as error:
        raise NothingToRun(_why_unreadable(path, error)) from None
    except ValueError as error:  # a null character in the name
        raise NothingToRun(f"cannot read '{path}': {error}") from None
    if len(source) > _LARGEST:  # an endless device, or data
        raise NothingToRun(f"'{path}' has more than {_LARGEST:,} bytes, which is no script")

    _set_path_0(os.path.dirname(os.path.realpath(absolute)))
    _hide_own_frames()
    # Bytes, not text: the compiler honours the file's own encoding declaration.
    code = compile(source, absolute, "exec", dont_inherit=True)
    if not is_regular_or_absent(absolute):  # a pipe, which can be read once
        keep_lines(absolute, decode_source(source))
    main = _fresh_main(absolute, SourceFileLoader("__main__", absolute))
    sys.argv[:] = [path, *arguments]
    _execute(code, main)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run the module or package `name` as `python -m name arguments...` would."""
    _set_path_0(os.getcwd())
    _hide_own_frames()
    sys.argv[:] = ["-m", *arguments]  # as under `python -m` while parent packages are imported
    spec = _module_spec(name)
    loader = spec.loader
    code = loader.get_code(spec.name) if isinstance(loader, InspectLoader) else None
    if code is None or spec.origin is None:
        raise NothingToRun(f"module '{name}' holds no Python code to run")
    main = _fresh_main(spec.origin, loader, spec)
    sys.argv[0] = spec.origin
    _execute(code, main)


def _module_spec(name: str) -> ModuleSpec:
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = find_spec(name)
            if spec is None:
                raise NothingToRun(f"'{package}' is a package with no __main__ module to run")
    except ModuleNotFoundError as error:
        # Only a missing parent of the requested module; a package that fails to import something
        # else must show its own traceback.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    except ValueError:  # find_spec: a module whose __spec__ is None, or an empty name
        spec = None
    if spec is None:
        raise NothingToRun(f"no module named '{name}' (looked in the current folder too)")
    return spec


def _execute(code: CodeType, main: ModuleType) -> None:
    exec(code, main.__dict__)


def _fresh_main(filename: str, loader: object, spec: ModuleSpec | None = None) -> ModuleType:
    """A new `__main__`, installed where pickle and multiprocessing look for it."""
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=filename,
        __loader__=loader,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
        __cached__=spec.cached if spec is not None else None,
        __builtins__=sys.modules["builtins"],
        __annotations__={},
    )
    sys.modules["__main__"] = main
    return main


def _set_path_0(folder: str) -> None:
    # With `python -P` or PYTHONSAFEPATH there is no such first entry, and none must be added.
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _why_unreadable(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        folder = os.path.dirname(path) or "."
        siblings = [p.name for p in Path(folder).glob("*.py")] if os.path.isdir(folder) else []
        suggestion = nearest(os.path.basename(path), siblings)
        hint = (
            f"; did you mean '{os.path.join(os.path.dirname(path), suggestion)}'?"
            if suggestion
            else ""
        )
        return f"there is no file '{path}'{hint}"
    if isinstance(error, IsADirectoryError):
        return f"'{path}' is a folder; name the script in it, or use -m for a package"
    return f"cannot read '{path}': {error.strerror}"


# ---- tracebacks ----------------------------------------------------------------------------------


def _hide_own_frames() -> None:
    """Remove the frames of `taut` from the traceback that the interpreter prints."""
    report = sys.excepthook

    def excepthook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        error.__traceback__ = without_own_frames(traceback)
        report(kind, error, error.__traceback__)
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            print(NO_TORCH, file=sys.stderr)

    sys.excepthook = excepthook


def without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The script's part of a traceback, without the frames that lead in or belong to the import hook."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    own = [frame.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER) for frame in frames]
    # The entry: the console script, then this package up to its exec.
    start = own.index(True) if True in own else 0
    while start < len(frames) and own[start]:
        start += 1
    # The exit: an import hook that raised.
    stop = len(frames)
    while stop > start and own[stop - 1]:
        stop -= 1
    kept: TracebackType | None = None
    for frame in reversed(frames[start:stop]):
        kept = linked(kept, frame)
    return kept


def linked(below: TracebackType | None, part: TracebackType) -> TracebackType:
    """This part of a traceback, followed by a different rest."""
    line: int | None = part.tb_lineno  # None if an interrupt came between two lines
    line = part.tb_frame.f_code.co_firstlineno if line is None else line
    return TracebackType(below, part.tb_frame, part.tb_lasti, line)
