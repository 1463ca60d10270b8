"""Recorders: the functions that apply operations to tensors, each written from the operation's record.

A function is made with its operation and written at its first call (`write`), as text and from there as
code. Records that say the same share the text; the code object is each operation's own, because the
interpreter specialises code for what it meets there.

`print(source_of(mul_op))` shows such a text, and tracebacks and debuggers find its lines, too.
"""

from __future__ import annotations

import builtins
import linecache
import os
from sys import _getframe
from types import CodeType
from typing import Any

import numpy as np

from .._arrays.dtypes import HALF_CODES
from .._arrays.quiet import is_used_elsewhere, quietly_apart
from .._ops.declare.code_holders import give_code
from .._ops.declare.record import NO_PARAMETERS, Op
from .._tensor.tensor import Tensor, current_node
from .._user_code.owners import is_internal
from .apply import run_forward, settled, tied, wrap_several
from .machine_code import counted, counts_calls, written
from .modes import modes, shared
from .node import next_sequence, node_type
from .recorder_text import counting, text_of

_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<recorder ")
_CODES: dict[str, CodeType] = {}


def _apply_special(*call: Any) -> Any:
    from .special import apply_special

    return apply_special(*call)


# What every text may name; `op`, `node_class`, `caller` (and an operator's `slow`) are the record's own.
_NAMES: dict[str, Any] = {
    "FLOAT32": np.dtype(np.float32),
    "HALF_CODES": HALF_CODES,
    "NO_PARAMETERS": NO_PARAMETERS,
    "Tensor": Tensor,
    "__builtins__": builtins.__dict__,  # by which NumPy's own code imports, in what it was called from
    "__name__": __name__,
    "apply_special": _apply_special,
    "asarray": np.asarray,
    "counted": counted,
    "current_node": current_node,
    "generic": np.generic,
    "getframe": _getframe,
    "is_internal": is_internal,
    "is_used_elsewhere": is_used_elsewhere,
    "modes": modes,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "next_sequence": next_sequence,
    "quietly_apart": quietly_apart,
    "run_forward": run_forward,
    "settled": settled,
    "shared": shared,
    "tied": tied,
    "wrap_several": wrap_several,
}


def write(op: Op, function: Any, kind: str) -> None:
    """Give a function of an operation its code."""
    scope = function.__globals__
    scope.update(_NAMES, node_class=node_type(op), caller=None)
    if kind == "transposed":
        scope["turned_class"] = node_type(scope["turned"])
    if kind.startswith("apply"):
        function.__defaults__ = NO_PARAMETERS, None
    name = op.name if kind in ("apply", "record") else function.__name__

    def write_text(function: Any, counts: bool = False) -> None:
        text = text_of(op, kind)
        code = _compiled(counting(text) if counts else text)
        give_code(function, code.replace(co_name=name, co_qualname=name))

    scope["write_again"] = write_text
    write_text(function, counts_calls(kind))
    written(function, kind)


def _compiled(text: str) -> CodeType:
    """The code of a text, whose lines count as this package's and not as the user's."""
    found = _CODES.get(text)
    if found is None:
        file = f"{_TEXTS}{len(_CODES)}>"
        module = compile(text, file, "exec")
        found = next(part for part in module.co_consts if isinstance(part, CodeType))
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        _CODES[text] = found
    return found


def source_of(op: Op) -> str:
    """The text of `op.apply`."""
    return text_of(op, "apply")
