"""`torch.ops`: operations by namespace, `aten`'s among them.

`torch.ops.aten.add` is tautograd's `add`, with its overloads (`.Tensor`, `.default`) as the same
function; `torch.ops.<namespace>.<name>` is what `torch.library` has defined.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

__all__ = ["load_library"]


_LISTS = frozenset(
    (
        *(
            "atleast_1d",
            "atleast_2d",
            "atleast_3d",
            "broadcast_shapes",
            "broadcast_tensors",
            "chunk",
        ),
        *(
            "dsplit",
            "gradient",
            "hsplit",
            "meshgrid",
            "size",
            "split",
            "split_with_sizes",
            "stride",
        ),
        *("tensor_split", "unbind", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"),
        *("vsplit", "where"),
    )
)
"""Operations whose schemas give a list, where the functions give a tuple."""


class OpOverloadPacket:
    """An operation of `aten`, whose overloads are all the one function."""

    def __init__(self, name: str, function: Any) -> None:
        self._name, self._function = name, function
        self.__name__ = name
        # Defaults that Python's binding overlooks, and the operator itself does not.
        unread = getattr(inspect.unwrap(function), "__defaults__", None) or ()
        self._mean_is_unread = any(type(value).__name__ == "_Unread" for value in unread)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._mean_is_unread and "reduction" not in kwargs:
                given = inspect.signature(self._function).bind_partial(*args, **kwargs).arguments
                kwargs = kwargs if "reduction" in given else {**kwargs, "reduction": 1}
            result = self._function(*args, **kwargs)
        except TypeError as error:  # no schema takes these: another class than the function's
            from ._ops.declare.guarding import accident_as

            kind = accident_as(RuntimeError, TypeError)
            raise kind(f"aten::{self._name}() failed to match any schema: {error}") from error
        if isinstance(result, tuple):
            return list(result) if self._name in _LISTS else tuple(result)  # no names
        return result

    def overloads(self) -> list[str]:
        return ["default"]

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self._name}')>"


class _Namespace(ModuleType):
    """The operations of one namespace."""

    def __getattr__(self, name: str) -> Any:
        namespace = self.__name__.rpartition(".")[2]
        if namespace == "aten":
            function = _aten(name)
            if function is not None:
                packet = OpOverloadPacket(name, function)
                setattr(self, name, packet)
                return packet
        library = sys.modules.get("tautograd.library")
        found = None if library is None else library.OPERATIONS.get(f"{namespace}::{name}")
        if found is None:
            raise AttributeError(
                f"'_OpNamespace' '{namespace}' object has no attribute '{name}'", name=name
            )
        return found


def _aten(name: str) -> Any:
    from . import nn
    from ._ops.declare.public import FUNCTIONS, METHODS, NN_FUNCTIONAL

    del nn
    return FUNCTIONS.get(name) or NN_FUNCTIONAL.get(name) or METHODS.get(name)


def load_library(path: str) -> None:
    """Load compiled operations, which PyTorch's core would have to run."""
    raise OSError(f"{path}: compiled operations run on PyTorch's core, which is not here")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = globals()[name] = _Namespace(f"{__name__}.{name}")
    return namespace
