"""`torch.ops`: operations by namespace, `aten`'s among them.

`torch.ops.aten.add` is tautograd's `add`, with its overloads (`.Tensor`, `.default`) as the same
function; `torch.ops.<namespace>.<name>` is what `torch.library` has defined.
"""

from __future__ import annotations

import inspect
import operator
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ._ops.declare.dims import wrap_dim
from ._ops.declare.guarding import guarded
from ._ops.declare.truth_values import truth_values_of
from ._tensor.tensor import Tensor

__all__ = ["load_library"]


_LISTS = frozenset(
    ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "chunk", "dsplit",
     "gradient", "hsplit", "meshgrid", "size", "split", "split_copy", "split_with_sizes",
     "split_with_sizes_copy", "stride", "tensor_split", "unbind", "unbind_copy", "unsafe_chunk",
     "unsafe_split", "unsafe_split_with_sizes", "vsplit", "where")
)  # fmt: skip
"""Operations whose schemas give a list, where the functions give a tuple."""
_TRUE_OR_FALSE = (int, float, np.generic, type(None))
"""What passes for a truth value where a schema is asked and not Python's parser."""
_OUT_IN_SCHEMA_ALONE = ("unsafe_split", "unsafe_split_with_sizes")
"""Operations whose schemas have `out`, which the functions have not."""


class OpOverloadPacket:
    """An operation of `aten`, whose overloads are all the one function."""

    def __init__(self, name: str, function: Any) -> None:
        if function.__name__ == "<lambda>":  # Python names it where a call does not fit
            function.__name__ = function.__qualname__ = name
        function = guarded(function, name)  # where it is none of the public ones, which are
        self._name, self._function = name, function
        self.__name__ = name
        # Defaults that Python's binding overlooks, and the operator itself does not.
        plain = inspect.unwrap(function)
        code = getattr(plain, "__code__", None)
        taken = code.co_varnames[: code.co_argcount] if code else ()
        self._first = "self" if "self" in taken else "input" if "input" in taken else ""
        unread = getattr(plain, "__defaults__", None) or ()
        self._mean_is_unread = any(type(value).__name__ == "_Unread" for value in unread)
        self._truths = truth_values_of(plain) if isinstance(plain, FunctionType) else {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if "self" in kwargs and self._first == "input":
                kwargs["input"] = kwargs.pop("self")
            if self._mean_is_unread and "reduction" not in kwargs:
                given = inspect.signature(self._function).bind_partial(*args, **kwargs).arguments
                kwargs = kwargs if "reduction" in given else {**kwargs, "reduction": 1}
            if "out" in kwargs and self._name in _OUT_IN_SCHEMA_ALONE:
                from ._ops.declare.out_argument import write_out

                out = kwargs["out"]
                rest = {name: value for name, value in kwargs.items() if name != "out"}
                write_out(self._function, args, rest, out)
                return None
            args, kwargs = self._with_truths(args, kwargs)
            if self._name in _UNDER:
                _require_self(self._name, args, kwargs)
            result = self._function(*args, **kwargs)
        except TypeError as error:  # no schema takes these: another class than the function's
            from ._ops.declare.guarding import accident_as

            kind = accident_as(RuntimeError, TypeError)
            raise kind(f"aten::{self._name}() failed to match any schema: {error}") from error
        if isinstance(result, tuple):
            return list(result) if self._name in _LISTS else tuple(result)  # no names
        return result

    def _with_truths(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with truth values where it has numbers in their places: to a schema one is as good."""
        for name, place in self._truths.items():
            if place < len(args) and isinstance(args[place], _TRUE_OR_FALSE):
                args = (*args[:place], bool(args[place]), *args[place + 1 :])
            elif name in kwargs and isinstance(kwargs[name], _TRUE_OR_FALSE):
                kwargs = {**kwargs, name: bool(kwargs[name])}
        return args, kwargs

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
    if name in ("adaptive_max_pool2d", "adaptive_max_pool3d"):
        name += "_with_indices"  # which the operators always give
    if name in _BY_SCHEMA:
        return _BY_SCHEMA[name]
    if name == "unfold":  # of a tensor; that of `nn.functional` is `im2col` here
        return METHODS[name]
    if name == "hardtanh":
        from ._ops.elementwise.rectifiers import plain_hardtanh

        return plain_hardtanh
    known = FUNCTIONS.get(name) or NN_FUNCTIONAL.get(name) or METHODS.get(name) or _UNDER.get(name)
    if known is None:  # functions that are loaded when they are first named
        late = getattr(sys.modules[__name__.partition(".")[0]], name, None)
        known = late if isinstance(late, FunctionType) else None
    return known


def _require_self(name: str, args: Any, kwargs: Any) -> None:
    """Operators that are written as methods here: what they are called on must be a tensor."""
    if not args and "self" not in kwargs:
        return  # which is another error
    given = args[0] if args else kwargs["self"]
    if not isinstance(given, Tensor):
        raise RuntimeError(
            f"aten::{name}() Expected a value of type 'Tensor' for argument 'self' but instead found "
            f"type '{type(given).__name__}'."
        )


def _elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    from ._ops.declare.public import NN_FUNCTIONAL

    if scale == input_scale == 1:
        return NN_FUNCTIONAL["elu"](self, alpha)
    below = (self * input_scale).expm1() * (alpha * scale)
    return (self * scale).where(self > 0, below)


def _loss(name: str, *args: Any, reduction: int, **options: Any) -> Any:
    """A loss of `nn.functional`, which has a word for what a schema has a number for."""
    from ._ops.declare.public import NN_FUNCTIONAL

    if not isinstance(reduction, (int, np.integer)):
        raise TypeError(
            f"{name}(): argument 'reduction' must be int, not {type(reduction).__name__}"
        )
    words = {1: "mean", 2: "sum"}
    return NN_FUNCTIONAL[name](*args, **options, reduction=words.get(int(reduction), "none"))


_BY_SCHEMA: dict[str, Any] = {
    "binary_cross_entropy": lambda self, target, weight=None, reduction=1: _loss(
        "binary_cross_entropy", self, target, weight=weight, reduction=reduction
    ),
    "binary_cross_entropy_with_logits": lambda self, target, weight=None, pos_weight=None, reduction=1: (
        _loss(
            "binary_cross_entropy_with_logits",
            self,
            target,
            weight=weight,
            pos_weight=pos_weight,
            reduction=reduction,
        )
    ),
    "elu": _elu,
    "huber_loss": lambda self, target, reduction=1, delta=1.0: _loss(
        "huber_loss", self, target, delta=delta, reduction=reduction
    ),
    "multi_margin_loss": lambda self, target, p=1, margin=1, weight=None, reduction=1: _loss(
        "multi_margin_loss", self, target, p=p, margin=margin, weight=weight, reduction=reduction
    ),
    "nll_loss": lambda self, target, weight=None, reduction=1, ignore_index=-100: _loss(
        "nll_loss", self, target, weight=weight, ignore_index=ignore_index, reduction=reduction
    ),
    "smooth_l1_loss": lambda self, target, reduction=1, beta=1.0: _loss(
        "smooth_l1_loss", self, target, beta=beta, reduction=reduction
    ),
    "l1_loss": lambda self, target, reduction=1: _loss(
        "l1_loss", self, target, reduction=reduction
    ),
    "mse_loss": lambda self, target, reduction=1: _loss(
        "mse_loss", self, target, reduction=reduction
    ),
    "multilabel_margin_loss": lambda self, target, reduction=1: _loss(
        "multilabel_margin_loss", self, target, reduction=reduction
    ),
    "soft_margin_loss": lambda self, target, reduction=1: _loss(
        "soft_margin_loss", self, target, reduction=reduction
    ),
}
"""Functions that have other parameters in a schema, or in another order: no `size_average`, no `inplace`."""


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    for name, value in (("dim", dim), ("start", start), ("end", end), ("step", step)):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise RuntimeError(
                f"aten::slice() Expected a value of type 'int' for argument '{name}', which fits 64 bits, "
                f"but got {value}"
            )
    dim, start, end, step = (
        int(value) if isinstance(value, (np.bool_, np.integer)) else value
        for value in (dim, start, end, step)
    )
    if step is not None and operator.index(step) <= 0:
        raise RuntimeError("slice step must be positive")
    return self[
        (slice(None),) * wrap_dim(operator.index(dim), self.ndim) + (slice(start, end, step),)
    ]


def _to_copy(
    self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    options = {"memory_format": memory_format} if memory_format is not None else {}
    return self.to(device or self.device, dtype or self.dtype, non_blocking, copy=True, **options)


_UNDER: dict[str, Any] = {
    "_pin_memory": lambda self, device=None: self.pin_memory(),
    "_sparse_addmm": lambda self, mat1, mat2, *, beta=1, alpha=1: self.addmm(
        mat1, mat2, beta=beta, alpha=alpha
    ),
    "_to_copy": _to_copy,
    "alias": lambda self: self.view_as(self),
    "index": lambda self, indices: self[tuple(slice(None) if i is None else i for i in indices)],
    "slice": _slice,
}
"""Operators that programs know by a method, a subscript or another name."""


def load_library(path: str) -> None:
    """Load compiled operations, which PyTorch's core would have to run."""
    raise OSError(f"{path}: compiled operations run on PyTorch's core, which is not here")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = globals()[name] = _Namespace(f"{__name__}.{name}")
    return namespace
