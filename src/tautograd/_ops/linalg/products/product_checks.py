"""What products refuse, in PyTorch's words: shapes that do not fit, dtypes that differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.dtypes import LEGACY_NAMES
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from ...declare.promotion import plain_number
from ...shape.broadcasting import expand_to

# How PyTorch's mm spells dtypes in its error: the C++ names.
SPELLED = {
    "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16",
    "Byte": "unsigned char", "Char": "signed char", "Short": "short int", "Int": "int",
    "Long": "long int", "Bool": "bool", "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>", "ComplexHalf": "c10::complex<c10::Half>",
    "UInt16": "short unsigned int", "UInt32": "unsigned int", "UInt64": "long unsigned int",
    **{name: f"c10::{name}" for name in LEGACY_NAMES.values() if name.startswith("Float8")},
}  # fmt: skip


def spoken(tensor: Tensor) -> str:
    """The name of a tensor's dtype in PyTorch's errors: `Float`, `Long`, …"""
    return LEGACY_NAMES[tensor.dtype]


def check_not_bool(kernel: str, *tensors: Tensor) -> None:
    """There are no products of truth values, but empty ones do not ask for any."""
    if tensors[0]._data.dtype.kind == "b" and all(0 not in x._data.shape for x in tensors):
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def check_bool_sum(beta: Any, *tensors: Tensor) -> None:
    """Truth values added to an empty product would first be multiplied by `beta`."""
    if tensors[0]._data.dtype.kind == "b":
        check_not_bool("addmm_impl_cpu_", *tensors)
        kind = "Float" if isinstance(beta, float) else "Long"
        raise RuntimeError(f"result type {kind} can't be cast to the desired output type Bool")


def check_out_dtype(name: str, out_dtype: Any) -> None:
    if out_dtype is not None:
        raise NotImplementedError(
            f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend."
        )


def check_mm(mat1: Tensor, mat2: Tensor) -> None:
    a, b = mat1._data, mat2._data
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype.kind == "b":
        check_not_bool("addmm_impl_cpu_", mat1, mat2)


def check_bmm(name: str, batch1: Tensor, batch2: Tensor) -> None:
    for label, tensor in (("batch1", batch1), ("batch2", batch2)):
        if tensor._data.ndim != 3:
            raise RuntimeError(f"{label} must be a 3D tensor")
    a, b = batch1._data.shape, batch2._data.shape
    if (a[0], a[2]) != (b[0], b[1]):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but "
            f"got: [{b[0]}, {b[1]}]."
        )
    check_not_bool(name, batch1, batch2)


def check_mv(input: Any, mat: Tensor, vec: Tensor, first: Tensor) -> None:
    """The checks of `addmv`, which is what `mv` is: there the vector stands for the input."""
    if mat._data.ndim != 2 or vec._data.ndim != 1 or first._data.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {1 if input is None else first._data.ndim}, "
            f"{mat._data.ndim}, {vec._data.ndim}"
        )
    rows, inner = mat._data.shape
    extent = rows if input is None or not input._data.ndim else input._data.shape[0]
    if vec._data.shape[0] != inner or extent not in (rows, 1):
        raise RuntimeError(
            f"size mismatch, got input ({extent}), mat ({rows}x{inner}), vec ({vec._data.shape[0]})"
        )
    if not first._data.dtype == mat._data.dtype == vec._data.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {spoken(first)}, "
            f"{spoken(mat)}, and {spoken(vec)}"
        )
    check_not_bool("addmv_impl_cpu", mat, vec)


def check_vectors(first: Tensor, second: Tensor) -> None:
    a, b = first._data, second._data
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{spoken(first)} and {spoken(second)}"
        )
    if a.size != b.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the "
            f"same number of elements, but got {a.size} and {b.size} elements respectively"
        )
    if a.dtype.kind == "b":
        raise NotImplementedError("\"dot\" not implemented for 'Bool'")


def check_expandable(input: Tensor, shape: tuple[int, ...]) -> None:
    found = input._data.shape
    if found == shape:
        return
    pairs = zip(found[::-1], shape[::-1], strict=False)
    if len(found) > len(shape) or any(m not in (n, 1) for m, n in pairs):
        expand_to(input, shape)  # says what is wrong


def checked_factors(name: str, input: Tensor, beta: Any, alpha: Any) -> tuple[Any, Any]:
    """Both factors as Python's numbers: NumPy's would widen what they are multiplied with."""
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if not isinstance(factor, (int, float, complex, np.number)):
            raise TypeError(
                f"{name}(): argument '{label}' must be Number, not {type(factor).__name__}"
            )
        if isinstance(factor, complex) and input._data.dtype.kind != "c" and factor.imag:
            kind = SPELLED[spoken(input)]
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return plain_number(beta), plain_number(alpha)


def require(name: str, **tensors: Any) -> None:
    for position, (label, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, Tensor):
            require_tensor(name, value, label, position)
