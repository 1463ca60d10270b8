"""Tables of source text: each entry runs on PyTorch and on tautograd and must come to the same.

Entries stand between ` ; ` or on lines of their own; one is statements, each followed by `; `, and
an expression at the end. What comes out is compared as text where it is no tensor: both engines
print as PyTorch does. Warnings must be of the same classes.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
import re
import warnings
from typing import Any

import numpy as np
import torch

import tautograd

from .both_engines import agree


def entries(table: str) -> list[str]:
    return [entry.strip() for line in table.strip().splitlines() for entry in line.split(" ; ")]


def check(source: str) -> None:
    """Fail unless both engines make the same of it, or raise the same error."""
    agree(lambda engine: shown_with_warnings(engine, source))


def shown_with_warnings(engine: Any, source: str) -> Any:
    names = {"torch": engine, "np": np, "copy": copy, "math": math, "pickle": pickle}
    names["operator"] = operator
    *statements, expression = source.split("; ")
    engine.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # PyTorch implements NumPy's protocols as they were before NumPy 2.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        for statement in statements:
            exec(statement, names)
        found = shown(eval(expression, names))
    return [found, [w.category.__name__ for w in caught]]


def shown(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, tautograd.Tensor)):
        kind = [type(value).__name__, str(value.dtype), tuple(value.shape), value.stride()]
        flags = [value.requires_grad, value.is_leaf]
        return [*kind, *flags, repr(value.detach().tolist()), _text(value)]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, value.strides, repr(value.tolist())]
    if type(value) in (list, tuple):
        return [shown(v) for v in value]
    return [type(value).__name__, _text(value)]


def _text(value: Any) -> str:
    return re.sub(r" at 0x\w+", "", repr(value))
