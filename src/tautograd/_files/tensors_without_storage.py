"""Tensors in a file without their own storage: sparse ones, made of other tensors, and meta tensors."""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import dtype as dtype_class
from .._arrays.formats import layout
from .._tensor.tensor import Size, Tensor, make
from .allowance import Allowance
from .refusals import DamagedFile
from .storages import DIMENSIONS

TENSOR = 1024  # bytes of a tensor without its elements
DIMENSION = 64  # bytes of each dimension, which stands for time as well


def sparse(allowance: Allowance, args: tuple[Any, ...]) -> Tensor:
    """`_rebuild_sparse_tensor`: its components are tensors of this file; they are checked to match."""
    from .._ops.sparse.copies import MAKERS, put_together

    if len(args) != 2 or type(args[0]) is not layout or type(args[1]) is not tuple:
        raise DamagedFile("a sparse tensor in the file is not described")
    kind, parts = str(args[0]), args[1]
    count = 2 if kind == "torch.sparse_coo" else 3
    if kind not in MAKERS or not count + 1 <= len(parts) <= count + 2:
        raise DamagedFile(f"a sparse tensor in the file is of layout {kind} or lacks a part")
    *held, size = parts[: count + 1]
    if any(type(part) is not Tensor for part in held) or type(size) is not Size:
        raise DamagedFile("a sparse tensor in the file has a part that is no tensor")
    if any(type(n) is not int or not 0 <= n < 1 << 31 for n in size):
        raise DamagedFile("a sparse tensor in the file has a size that none can have")
    allowance.take(TENSOR + sum(part.nbytes for part in held))
    coalesced = len(parts) > count + 1 and parts[-1] is True
    try:
        return put_together(kind, tuple(held), size, coalesced)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise DamagedFile(f"a sparse tensor in the file does not fit together: {error}") from None


def shape_only(allowance: Allowance, args: tuple[Any, ...]) -> Tensor:
    """`_rebuild_meta_tensor_no_storage`: a dtype, a shape and strides, and no elements."""
    from .._arrays.meta.meta_array import new

    if len(args) != 4 or type(args[0]) is not dtype_class or type(args[3]) is not bool:
        raise DamagedFile("a tensor on the device meta is not described")
    kind, shape, strides, requires_grad = args
    for given in (shape, strides):
        if type(given) is not tuple or len(given) > DIMENSIONS or len(given) != len(shape):
            raise DamagedFile("a tensor on the device meta has no shape")
        if any(type(n) is not int or not 0 <= n < 1 << 40 for n in given):
            raise DamagedFile("a tensor on the device meta has a shape that none can have")
    allowance.take(TENSOR + DIMENSION * len(shape))
    reach = sum(max(n - 1, 0) * step for n, step in zip(shape, strides, strict=True)) + 1
    if reach >= 1 << 44:
        raise DamagedFile("a tensor on the device meta has a shape that none can have")
    width = kind.numpy.itemsize
    whole = new((reach,), kind.numpy)
    tensor = make(whole.strided(shape, [step * width for step in strides]))
    if requires_grad:
        tensor.requires_grad = True
    return tensor
