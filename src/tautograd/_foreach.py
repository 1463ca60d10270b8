"""`torch._foreach_*`: one operation on each tensor of a list.

PyTorch's names are private, and optimizers outside it use them. Each is made from its operation when it
is first named: PyTorch runs a list in one kernel on a GPU, and one by one on a CPU, as here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tautograd as torch

from ._tensor.tensor import Tensor

_UNARY = frozenset(
    (
        *(
            "abs",
            "acos",
            "asin",
            "atan",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "erfc",
            "exp",
            "expm1",
            "floor",
        ),
        *("frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt"),
        *("sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
    )
)
_BINARY = frozenset(
    ["add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow"]
)
_TERNARY = frozenset(("addcdiv", "addcmul"))
_WITH_ALPHA = frozenset(("add", "sub"))
_WITHOUT_TWIN: dict[str, Callable[..., Any]] = {
    "norm": lambda t, ord=2, dtype=None: _norm(t, ord, dtype),
    "powsum": lambda t, ord=2, dtype=None: (
        (t if dtype is None else t.to(dtype)).abs().pow(ord).sum()
    ),
    "max": lambda t: t.max(),
    "clone": lambda t, memory_format=torch.preserve_format: t.clone(memory_format=memory_format),
}
NAMES = tuple(
    sorted(
        {f"_foreach_{n}{end}" for n in (*_UNARY, *_BINARY, *_TERNARY, "lerp") for end in ("", "_")}
        | {f"_foreach_{n}" for n in (*_WITHOUT_TWIN, "mm", "copy_", "zero_")}
    )
)


def foreach(name: str) -> Callable[..., Any] | None:
    """The function of this name, or None if PyTorch has none."""
    if name not in NAMES:
        return None
    inplace = name.endswith("_")
    operation = name.removeprefix("_foreach_").removesuffix("_")

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if operation == "pow" and not isinstance(self, (list, tuple)):
            return tuple(torch.pow(self, exponent) for exponent in _checked(name, args[0]))
        tensors = _checked(name, self)
        rows = _rows(name, operation, tensors, args, kwargs)
        call = _call(operation, inplace)
        found = [call(t, *given, **named) for t, (given, named) in zip(tensors, rows, strict=True)]
        return self if inplace else tuple(found)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`{operation}` of each tensor in a list{', in place' * inplace}."
    return run


def _call(operation: str, inplace: bool) -> Callable[..., Any]:
    """What is done to one tensor."""
    if operation in _WITHOUT_TWIN:
        return _WITHOUT_TWIN[operation]
    if inplace:
        operation = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(operation, operation)
        return lambda t, *given, **named: getattr(t, f"{operation}_")(*given, **named)
    if operation in ("clamp_max", "clamp_min", "maximum", "minimum"):
        # With a number the operation is called clamp, with a tensor it is called maximum.
        operation = {"clamp_max": "minimum", "clamp_min": "maximum"}.get(operation, operation)
        with_number = "clamp_max" if operation == "minimum" else "clamp_min"
        return lambda t, other: getattr(
            torch, operation if isinstance(other, Tensor) else with_number
        )(t, other)
    found: Callable[..., Any] = getattr(torch, operation)
    return found


def _checked(name: str, tensors: Any) -> Any:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name}(): argument 'self' (position 1) must be tuple of Tensors, but found element "
                f"of type {type(tensor).__name__} at pos {place}"
            )
    return tensors


def _rows(name: str, operation: str, tensors: Any, args: Any, kwargs: Any) -> list[Any]:
    """The further arguments of each call."""
    count = len(tensors)
    if operation in _UNARY or operation in (*_WITHOUT_TWIN, "zero"):
        return [(args, kwargs)] * count
    if operation in _TERNARY:
        return _ternary(count, *args, **kwargs)
    if operation == "copy":
        args = args[:1]
    columns = [_column(count, value) for value in args]
    named: list[dict[str, Any]] = [{}] * count
    for key, value in kwargs.items():
        if key == "alpha" and operation in _WITH_ALPHA:
            if args and isinstance(args[0], (int, float, complex)):
                raise TypeError(
                    f"{name}() received an invalid combination of arguments: alpha is for tensors"
                )
            named = [{"alpha": value}] * count
        elif key in ("other", "scalar", "scalars", "exponent", "tensors1", "weight", "src", "mat2"):
            columns.append(_column(count, value))
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    return list(zip(zip(*columns, strict=True), named, strict=True))


def _column(count: int, value: Any) -> list[Any]:
    """An argument for each tensor: one for all of them, or a list."""
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and "
                f"{value.numel()} elements."
            )
        return [value] * count
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            if value and isinstance(value[0], Tensor):
                raise RuntimeError(
                    f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
                )
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return list(value)
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "__float__"):
        return [value] * count
    raise TypeError(f"expected a number, tensors or numbers for each, not {type(value).__name__}")


def _norm(tensor: Any, ord: Any, dtype: Any) -> Any:
    if ord == float("inf") and not tensor.numel():
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation "
            "does not have an identity"
        )
    return torch.linalg.vector_norm(tensor, ord, dtype=dtype)


def _ternary(
    count: int, tensor1: Any, tensor2: Any, *scalars: Any, value: Any = 1, **kwargs: Any
) -> list[Any]:
    given = scalars[0] if scalars else kwargs.pop("scalars", value)
    if isinstance(given, Tensor):
        if given.ndim != 1:
            raise RuntimeError(
                f"Expected packed scalar Tensor to be of dimension 1. Got {given.ndim} instead."
            )
        if not given.is_contiguous():
            raise RuntimeError("Expected scalars to be contiguous.")
        if given.numel() != count:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got "
                f"{given.numel()} instead."
            )
        given = given.tolist()
    factors = _column(count, given)
    ones, others = _column(count, tensor1), _column(count, tensor2)
    return [
        ((one, other), {"value": factor})
        for one, other, factor in zip(ones, others, factors, strict=True)
    ]
