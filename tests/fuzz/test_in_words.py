"""Nothing public is left out of the net that puts accidents in words."""

from __future__ import annotations

import importlib
import inspect
from types import FunctionType

import tautograd
from fuzz.functions.names import public_functions
from tautograd._ops.declare.guarding import is_guarded

# They ask for nothing but the classes of their arguments, and say so themselves.
PLAIN = {"torch.can_cast", "torch.promote_types", "torch.result_type"}
PLAIN |= {"torch.Generator", "torch.finfo", "torch.iinfo"}


def test_every_public_function_is_guarded() -> None:
    left_out = []
    for public in public_functions():
        path, _, last = public.name.replace("torch", "tautograd", 1).rpartition(".")
        if path == "tautograd.Tensor" or public.name in PLAIN:
            continue
        if path == "tautograd.ops.aten":  # the functions once more, and what only operators do
            found = getattr(tautograd.ops.aten, last)._function
        else:
            found = getattr(importlib.import_module(path), last)
        if isinstance(found, type):
            found = vars(found).get("__init__")
        if not isinstance(found, FunctionType) or not inspect.signature(found).parameters:
            continue
        if not (is_guarded(found) or hasattr(found, "__wrapped__")):
            left_out.append(public.name)
    assert not left_out
