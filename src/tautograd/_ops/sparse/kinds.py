"""What a sparse tensor says of itself: its layout, `is_sparse`, its type, how it prints.

Importing this gives `Tensor` those answers; until then every tensor is dense, and says so at no cost.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._arrays.devices import is_meta
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.formats import sparse_coo, sparse_csc, sparse_csr, strided
from ..._arrays.sparse.base import SparseArray
from ..._arrays.sparse.compressed import CompressedArray
from ..._arrays.sparse.coo import CooArray
from ..._autograd.views import bump
from ..._tensor import printing
from ..._tensor.tensor import Tensor, make
from ..declare.guarding import guarded, is_guarded
from ..declare.subclasses import declared, declared_attribute

_cls: Any = Tensor
_COMPRESSED = {"csr": sparse_csr, "csc": sparse_csc}


def layout_of(tensor: Tensor) -> Any:
    data = tensor._data
    if isinstance(data, CooArray):
        return sparse_coo
    return _COMPRESSED[data.kind] if isinstance(data, CompressedArray) else strided


for _name, _getter in (
    ("layout", layout_of),
    ("is_sparse", lambda self: isinstance(self._data, CooArray)),
    ("is_sparse_csr", lambda self: getattr(self._data, "kind", None) == "csr"),
):
    setattr(_cls, _name, property(_getter))
    declared_attribute(_name, _getter)


def _instead(name: str, sparse: Any) -> None:
    """Let a method of `Tensor` do otherwise for sparse tensors.

    It speaks for what it stands before, which takes a call from here for one of the library's own.
    """
    dense = getattr(Tensor, name)

    @functools.wraps(dense)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        if isinstance(getattr(self, "_data", None), SparseArray):
            return sparse(self, *args, **options)
        return dense(self, *args, **options)

    shown = guarded(method, name, method=True) if is_guarded(dense) else method
    setattr(_cls, name, shown)
    declared(shown, name, method=True)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    if dtype is None:
        return f"torch.sparse.{LEGACY_NAMES[self.dtype]}Tensor"
    return self.to(dtype)


def _numpy(self: Tensor, **_: Any) -> Any:
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


def _storage(self: Tensor, *_: Any) -> Any:
    raise NotImplementedError("Cannot access storage of SparseTensorImpl")


def _view(name: str) -> Any:
    def refuse(self: Tensor, *_: Any, **__: Any) -> Any:
        from ..._arrays.sparse.base import not_for

        if name == "reshape":
            raise RuntimeError("reshape is not implemented for sparse tensors")
        raise not_for(name, self._data.backend)

    return refuse


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return text_of(self)


def _stride(self: Tensor, dim: int | None = None) -> Any:
    return (0,) * self._data.ndim if dim is None else 0


def _item(self: Tensor) -> Any:
    return self._data.item()


def _zero(self: Tensor) -> Tensor:
    np.copyto(self._data, 0)
    bump(self)
    return self


for _name, _function in (
    ("type", _type),
    ("numpy", _numpy),
    ("storage", _storage),
    ("untyped_storage", _storage),
    ("data_ptr", _storage),
    ("__repr__", _repr),
    ("stride", _stride),
    ("zero_", _zero),
    ("is_contiguous", lambda self, memory_format=None: False),
    ("view", _view("view")),
    ("reshape", _view("reshape")),
):
    _instead(_name, _function)


# --- printing ----------------------------------------------------------------------------------------


def text_of(tensor: Tensor) -> str:
    """A sparse tensor as PyTorch prints it: its parts, then its size."""
    data = tensor._data
    plain = type(tensor) in printing.plain_tensor_types
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    if isinstance(data, CooArray):
        parts: tuple[tuple[str, Any], ...] = (("indices", data.indices), ("values", data.values))
    else:
        first, second = ("crow", "col") if data.kind == "csr" else ("ccol", "row")
        parts = (
            (f"{first}_indices", data.starts),
            (f"{second}_indices", data.others),
            ("values", data.values),
        )
    indent = len(prefix)
    texts = [_part(name, array, indent) for name, array in parts]
    separator = ",\n" + " " * indent
    text = prefix + separator.join(texts)
    suffixes = [f"size={tuple(tensor.shape)}", f"nnz={data.nnz}"]
    if is_meta(data.values):  # how many elements are held is not said there
        suffixes = ["device='meta'", suffixes[0]]
    if str(tensor.dtype) != str(printing.default_dtype()) and _says_dtype(tensor):
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes.append(f"layout={tensor.layout}")
    name = printing._grad_fn_name(tensor)
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return printing._with_suffixes(text, suffixes, indent, isinstance(data, CooArray))


def _says_dtype(tensor: Tensor) -> bool:
    default = str(printing.default_dtype())
    complexes = "torch.complex128" if default == "torch.float64" else "torch.complex64"
    return str(tensor.dtype) not in ("torch.int64", "torch.bool", complexes)


def _part(name: str, array: Any, indent: int) -> str:
    """`name=tensor(…)`, with the element type left to the whole tensor."""
    start = f"{name}=tensor("
    if is_meta(array):
        return f"{start}..., size={tuple(array.shape)})"
    size = f", size={tuple(array.shape)}" if not array.size else ""
    brackets = printing.format_values(make(array)._data, indent + len(start))
    return f"{start}{brackets}{size})"
