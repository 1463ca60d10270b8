"""Evidence files: a verification written down so that it can be believed, and made again.

>>> report = tautograd.verify(fn, inputs)          # doctest: +SKIP
>>> tautograd.evidence.save(report, "fn.json")     # doctest: +SKIP
>>> tautograd.evidence.replay("fn.json").same      # doctest: +SKIP
True
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

from tautograd._evidence.causes import Cause, Comparison, compare
from tautograd._evidence.files import read as _read
from tautograd._evidence.files import write as _write
from tautograd._evidence.items import Item
from tautograd._evidence.refusals import CannotRun, EvidenceError
from tautograd._evidence.schema import schema

__all__ = [
    "CannotRun",
    "Cause",
    "Comparison",
    "EvidenceError",
    "Item",
    "diff",
    "load",
    "replay",
    "save",
    "schema",
]

_Path = str | os.PathLike[str]


def save(report: Any, path: _Path, *, overwrite: bool = False) -> pathlib.Path:
    """Write the evidence for a report of `verify` to a file; a file that is there is kept.

    The file is there whole or not at all, whatever interrupts the writing.
    """
    from tautograd._evidence.files import may_write
    from tautograd._evidence.gather import gather

    may_write(path, overwrite=overwrite)
    _write(gather(report), path, overwrite=overwrite)
    return pathlib.Path(path)


def load(path: _Path) -> dict[str, Any]:
    """The content of an evidence file; `EvidenceError` says why a file is refused."""
    return _read(path)


def replay(path: _Path, target: Any = None, *, inputs: Any = None) -> Comparison:
    """Run the verification of an evidence file again and compare.

    `target` is the function or module, or its name (`pkg.mod:fn`). Without it the name in the file
    is used, if that is in the project of the current folder; otherwise `CannotRun` says so.
    `inputs` are the arguments, for a file that does not hold them: a tensor, a tuple, a dictionary
    of keyword arguments, or a tuple and a dictionary.
    """
    from tautograd._evidence.inputs import Inputs, arguments_in
    from tautograd._evidence.replay import replay as run_again

    given = None if inputs is None else Inputs(*arguments_in(inputs))
    return run_again(path, target, inputs=given)


def diff(a: _Path | dict[str, Any], b: _Path | dict[str, Any]) -> Comparison:
    """Compare two evidences (files, or what `load` gave of them)."""
    one, other = (each if isinstance(each, dict) else _read(each) for each in (a, b))
    return compare(one, other)
