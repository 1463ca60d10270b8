"""`grouped_mm`: a product for each group, where groups are parts of a dimension that `offs` delimits.

PyTorch wants rows of whole 16 bytes, which its kernels need; here any will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._arrays.dtypes import LEGACY_NAMES
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL, public


def _parts(offs: Tensor) -> Iterator[slice]:
    start = 0
    for end in offs.tolist():
        yield slice(start, end)
        start = end


def _check(mat_a: Any, mat_b: Any, offs: Any, bias: Any, out_dtype: Any) -> None:
    for name, given in (("mat_a", mat_a), ("mat_b", mat_b)):
        require_tensor("grouped_mm", given, name)
        if given.dtype.name not in ("float32", "bfloat16", "float16"):
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {LEGACY_NAMES[given.dtype]}"
            )
    for name, given in (("mat_a", mat_a), ("mat_b", mat_b)):
        if given.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    both = mat_a.dim() == 3 and mat_b.dim() == 3
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if both == (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None and (offs.dim() != 1 or offs.dtype.name != "int32"):
        raise RuntimeError("offs has to be 1D" if offs.dim() != 1 else "Offsets have to be int32")
    groups = [m.shape[0] for m in (mat_a, mat_b) if m.dim() == 3]
    groups += [] if offs is None else [offs.shape[0]]
    if len(set(groups)) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Tensor:
    """Products by groups: of rows of `mat_a`, of columns of `mat_b`, or of what both are summed over."""
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b  # type: ignore[no-any-return]
    parts = list(_parts(offs))
    if mat_a.dim() == mat_b.dim():
        products = [mat_a[:, part] @ mat_b[part] for part in parts]
        return FUNCTIONS["stack"](products)  # type: ignore[no-any-return]
    if mat_a.dim() == 2:
        rest = mat_a.new_zeros(mat_a.shape[0] - parts[-1].stop, mat_b.shape[-1])
        products = [mat_a[part] @ b for part, b in zip(parts, mat_b, strict=True)]
        return FUNCTIONS["cat"]([*products, rest])  # type: ignore[no-any-return]
    rest = mat_b.new_zeros(mat_a.shape[1], mat_b.shape[1] - parts[-1].stop)
    products = [a @ mat_b[:, part] for part, a in zip(parts, mat_a, strict=True)]
    return FUNCTIONS["cat"]([*products, rest], 1)  # type: ignore[no-any-return]
