"""Writes `src/tautograd/_names/pytorch.txt`: every public name of the installed PyTorch, module by module.

    python tools/make_names.py           write it
    python tools/make_names.py --check   say whether it is up to date

A line is a module (or `torch.Tensor`) and its names. A module is public if no part of its path begins
with an underscore; its names are its `__all__`, or, without one, what it defines itself.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import tautograd

TABLE = Path(tautograd.__file__).parent / "_names" / "pytorch.txt"
HEAD = "# Written by tools/make_names.py: the public names of PyTorch {}, module by module.\n"
# Left over from an import, or text for docstrings: nobody is meant to use them.
_LEFTOVERS = frozenset(("TYPE_CHECKING", "annotations", "m", "torch", "PropModule"))
_PLAIN = (str, int, float, bool, tuple, list, frozenset, type(None))


def main(check: bool) -> int:
    version = torch.__version__.partition("+")[0]
    text = HEAD.format(version) + "".join(
        f"{line}\n" for line in sorted(_lines(), key=lambda line: line.partition(":")[0])
    )
    if check:
        if TABLE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TABLE.name} is out of date: run tools/make_names.py")
        return 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE.name}: {text.count(chr(10)) - 1} modules, {len(text.split())} words")
    return 0


def _lines() -> Iterator[str]:
    for module in _modules(torch):
        yield f"{module.__name__}: {' '.join(sorted(set(_names(module))))}".rstrip()
    methods = [name for name in dir(torch.Tensor) if not name.startswith("_")]
    yield f"torch.Tensor: {' '.join(methods)}"


def _modules(package: types.ModuleType) -> Iterator[types.ModuleType]:
    yield package
    for info in pkgutil.iter_modules(getattr(package, "__path__", [])):
        if info.name.startswith("_"):
            continue
        try:
            module = importlib.import_module(f"{package.__name__}.{info.name}")
        except ImportError:  # it needs a package that is not installed
            continue
        yield from _modules(module)


def _names(module: types.ModuleType) -> Iterator[str]:
    listed = getattr(module, "__all__", None)
    if isinstance(listed, (list, tuple)):
        yield from (name for name in listed if not name.startswith("_"))
        if module is not torch:
            return
    for name, value in _contents(module).items():
        if not name.startswith("_") and name not in _LEFTOVERS and _is_own(module, name, value):
            yield name


def _contents(module: types.ModuleType) -> dict[str, Any]:
    """The contents of a module, even if an object with settings as attributes replaces it."""
    inner = getattr(module, "m", None)
    if type(module) is types.ModuleType or not isinstance(inner, types.ModuleType):
        return dict(vars(module))
    settings = dict.fromkeys(vars(type(module)))
    return {**vars(inner), **settings}


def _is_own(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a name is one the module provides, rather than one it imported for itself."""
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{module.__name__}.{name}"
    home = getattr(value, "__module__", None)
    if isinstance(value, types.BuiltinFunctionType):
        return home is None or home.startswith("torch")
    if isinstance(home, str):
        return home.startswith(module.__name__)
    if isinstance(value, _PLAIN):
        return not name.endswith("_notes")
    return type(value).__module__.startswith("torch")


if __name__ == "__main__":
    logging.disable()
    warnings.simplefilter("ignore")
    sys.exit(main("--check" in sys.argv[1:]))
