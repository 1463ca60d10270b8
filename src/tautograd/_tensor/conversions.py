"""Converting a tensor where Python expects its own types: numbers, lists, text, truth, iteration, membership."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._arrays.dtypes import get_default_dtype
from .._autograd.effects import value_asked
from .._autograd.modes import modes
from .._ops.declare.guarding import marked, no_method
from .._ops.declare.public import FUNCTIONS, attach
from .._user_code.sites import warning_level
from . import printing
from .tensor import Tensor

printing.default_dtype = get_default_dtype
printing.plain_tensor_types.add(Tensor)


@marked
def numel(input: Tensor) -> int:
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return int(input._data.size)


def item(self: Tensor) -> Any:
    """The single element as a Python number."""
    try:
        data = self._data
    except AttributeError:
        raise no_method("item", (self,)) from None
    if data.size != 1:
        raise RuntimeError(f"a Tensor with {data.size} elements cannot be converted to Scalar")
    return _python(data).item()


marked(item)


def _python(array: Any) -> Any:
    """An array cast to a dtype whose elements Python has a type for."""
    return array.astype(np.float64) if array.dtype.kind == "V" else array


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for a 0-dim tensor."""
    return _python(self._data).tolist()


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    value_asked("a tensor's value as text (`print(tensor)`)", "text")
    return printing.tensor_repr(self, tensor_contents)


def _tangent(self: Tensor) -> Any:
    """The tangent to print: forward mode's innermost level."""
    tangents = self._tangents
    return tangents[max(tangents)] if tangents else None


def _format(self: Tensor, spec: str) -> str:
    if not self._data.ndim and type(self) is Tensor:
        return str(item(self).__format__(spec))
    return object.__format__(self, spec)


# --- one number -----------------------------------------------------------------------------------


def _only(self: Tensor) -> Any:
    if self._data.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


_warned: list[str] = []


def _warn_of_gradient(self: Tensor) -> None:
    """Warn, once per process, that converting a tensor to a number drops its history."""
    if not modes.grad or not self.requires_grad:
        return
    import warnings

    from .settings import is_warn_always_enabled

    if _warned and not is_warn_always_enabled():
        return

    _warned.append("scalar")
    warnings.warn(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first.",
        UserWarning,
        stacklevel=warning_level(),
    )


def _real(value: Any, kind: str) -> Any:
    """A number without its imaginary part, which must be zero."""
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real


def _float(self: Tensor) -> float:
    _warn_of_gradient(self)
    return float(_real(_only(self), "double"))


def _int(self: Tensor) -> int:
    value = _only(self)
    if isinstance(value, complex) and not abs(value) < 2**63:  # NaN is not, either
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(_real(value, "int64_t"))


def _complex(self: Tensor) -> complex:
    _warn_of_gradient(self)
    return complex(_only(self))


def _index(self: Tensor) -> int:
    if self._data.dtype.kind not in "iub" or self._data.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._data.item())


def is_nonzero(input: Tensor) -> bool:
    """Whether the single element is not zero."""
    size = input._data.size
    if size != 1:
        how_many = "no values" if size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {how_many} is ambiguous")
    return bool(input._data.item())


# --- a sequence -----------------------------------------------------------------------------------


def _iter(self: Tensor) -> Iterator[Tensor]:
    if not self._data.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _reversed(self: Tensor) -> Tensor:
    return self if not self._data.ndim else self.flip(0)


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, np.number, np.bool_)):
        found: Any = self == element
        return bool(np.any(found._data))
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def _delitem(self: Tensor, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


_METHODS: dict[str, Callable[..., Any]] = {
    "numel": numel,
    "nelement": numel,
    "item": item,
    "tolist": tolist,
    "is_nonzero": is_nonzero,
    "__repr__": _repr,
    "__format__": _format,
    "__float__": _float,
    "__int__": _int,
    "__complex__": _complex,
    "__index__": _index,
    "__bool__": is_nonzero,
    "__iter__": _iter,
    "__reversed__": _reversed,
    "__contains__": _contains,
    "__delitem__": _delitem,
}
for _name, _method in _METHODS.items():
    attach(_name, _method)
_cls: Any = Tensor
_cls._tangent_for_repr = property(_tangent)

FUNCTIONS["numel"] = numel
FUNCTIONS["is_nonzero"] = is_nonzero
