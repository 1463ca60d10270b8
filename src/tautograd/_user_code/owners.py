"""Whose code a file is: the user's, an installed library's, Python's, an engine's, or the trust kit's.

The folder a file lies in decides, compared as whole folders with symbolic links followed. A name
says nothing: a user's project may stand in a folder called `torch`, `_doctor` or `site-packages-old`.
"""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from enum import IntEnum

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_KIT = (
    *(os.path.join(_PACKAGE, name, "") for name in ("_verify", "_doctor", "_view", "_evidence")),
    *(os.path.join(_PACKAGE, name, "") for name in ("_lab", "_cli", "_report")),
    os.path.join(os.path.dirname(_PACKAGE), "tautograd_pytest", ""),
)
# NumPy counts as part of an engine: operators of our own array types go through a class of its.
_ENGINES = "torch", "numpy"
# Training loops that other people wrote: the line that called them is the user's.
_FRAMEWORKS = frozenset(
    ("lightning", "pytorch_lightning", "lightning_fabric", "transformers", "accelerate")
)
_GENERATED = "<string>", "<attrs generated", "<eval_with_key>"


class Owner(IntEnum):
    """Whose a file is, in the order in which its lines are of use to whoever reads a report."""

    USERS = 0
    GENERATED = 1
    """Code without a file: `python -c`, or what a library wrote at run time."""
    LIBRARY = 2
    FRAMEWORK = 3
    """A library that runs the training loop, and calls the user's code from it."""
    PYTHON = 4
    ENGINE = 5
    KIT = 6


class _Owners(dict[str, Owner]):
    """File name -> owner, remembered: code that runs asks for the same few files again and again."""

    def __missing__(self, filename: str) -> Owner:
        found = self[filename] = _owner(filename)
        return found


owners = _Owners()


def _owner(filename: str) -> Owner:
    if filename.startswith("<"):
        if filename.startswith("<frozen"):
            return Owner.PYTHON
        if filename.startswith("<__array_function__"):
            return Owner.ENGINE
        # Else a prompt, a notebook's cell or a doctest.
        return Owner.GENERATED if filename.startswith(_GENERATED) else Owner.USERS
    path = os.path.realpath(filename)
    if path.startswith(_KIT) or path == _command():
        return Owner.KIT
    if path.startswith((_PACKAGE + os.sep, *_engine_folders())):
        return Owner.ENGINE
    packages, python = _installed()
    for folder in packages:
        if path.startswith(folder):
            top = path[len(folder) :].partition(os.sep)[0]
            return Owner.FRAMEWORK if top in _FRAMEWORKS else Owner.LIBRARY
    return Owner.PYTHON if path.startswith(python) else Owner.USERS


@functools.cache
def _command() -> str:
    """The script that installing puts in place for the command."""
    return os.path.join(os.path.realpath(sysconfig.get_path("scripts")), "taut")


def _engine_folders() -> tuple[str, ...]:
    """Where the engines that are loaded lie; a file of one that is not loaded cannot be running."""
    modules = (sys.modules.get(name) for name in _ENGINES)
    files = (getattr(module, "__file__", None) for module in modules)
    return tuple(_folder_of(file) for file in files if file)


@functools.cache
def _folder_of(file: str) -> str:
    return os.path.dirname(os.path.realpath(file)) + os.sep


@functools.cache
def _installed() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders of installed packages, and those of Python's own library (which may be around them)."""
    prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    packages = [site.getusersitepackages(), *site.getsitepackages(prefixes)]
    packages += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    base = {"platbase": sys.base_exec_prefix}  # a virtual environment has no library of Python's
    python = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib", vars=base)]
    return _folders(packages), _folders(python)


def _folders(paths: list[str]) -> tuple[str, ...]:
    return tuple({os.path.realpath(path) + os.sep for path in paths})


class _Asked(dict[str, bool]):
    """File name -> whether its owner comes no earlier than one; remembered, as one look in a dictionary."""

    def __init__(self, first: Owner) -> None:
        self._first = first

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = owners[filename] >= self._first
        return found


internal = _Asked(Owner.ENGINE)
"""Whether a file belongs to an engine or to the kit."""
is_internal = internal.__getitem__
"""The same as a function: `[]` of a dictionary's subclass takes Python three times as long."""
foreign = _Asked(Owner.FRAMEWORK)
"""Whether a file is no part of the program: an engine's, the kit's, Python's, a training framework's."""
