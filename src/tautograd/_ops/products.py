"""Products of matrices and vectors, each one call of BLAS; `matmul` and `linear` are made of them.

Rules hand BLAS transposed views, never copies. A gradient takes the layout of its operand: where
`mat2` lay in memory by columns (`weight.t()`), so does its gradient, and transposing it back gives a
contiguous gradient of `weight` at no cost (`columns` in the parameters says so).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES
from .._autograd.apply import apply
from .._autograd.lifted import COUNTERPARTS, counterpart
from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from .broadcasting import expand_to
from .elementwise import call_elementwise, check_broadcast, conj, require_tensor
from .permutations import t, transpose
from .promotion import number_as
from .public import LINALG, public
from .record import MULTILINEAR, Op
from .samples import Sample, T
from .views import reshape_to, squeeze, unsafe_view_op, unsqueeze

# How PyTorch's mm spells dtypes in its error: the C++ names.
_SPELLED = {
    "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16",
    "Byte": "unsigned char", "Char": "signed char", "Short": "short int", "Int": "int",
    "Long": "long int", "Bool": "bool", "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
}  # fmt: skip


def turn(x: Any) -> Any:
    """The last two dimensions exchanged (a view)."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices; for real ones a view."""
    return np.swapaxes(conj(x), -1, -2)


def times(x: Any, factor: Any) -> Any:
    """`x * factor`, nothing done for one."""
    return x if factor == 1 else x * factor


def cousin(factor: Any) -> Any:
    """The conjugate of a Python number."""
    return factor.conjugate() if isinstance(factor, complex) else factor


# --- the records ------------------------------------------------------------------------------------


def _mat2_gradient(g: Any, mat1: Any, columns: bool) -> Any:
    if columns:
        return turn(np.matmul(turn(g), conj(mat1)))
    return np.matmul(adjoint(mat1), g)


mm_op = Op(
    "mm",
    lambda mat1, mat2, columns=False: np.matmul(mat1, mat2),
    ("mat1", "mat2"),
    vjp={"mat1": lambda g, mat2: np.matmul(g, adjoint(mat2)), "mat2": _mat2_gradient},
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3), T(3, 4)),
        Sample(T(2, 3, layout="transposed"), T(3, 4, layout="transposed")),
        Sample(T(1, 1), T(1, 1)),
        Sample(T(0, 3), T(3, 2)),
        Sample(T(2, 0), T(0, 3)),
        Sample(T(2, 3), mat2=T(3, 1)),
    ],
)
bmm_op = Op(
    "bmm",
    lambda x, y: np.matmul(x, y),
    ("x", "y"),
    vjp={
        "x": lambda g, y: np.matmul(g, adjoint(y)),
        "y": lambda g, x: np.matmul(adjoint(x), g),
    },
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3, 4), T(2, 4, 2)),
        Sample(T(2, 3, 4, layout="transposed"), mat2=T(2, 4, 2, layout="transposed")),
        Sample(T(0, 3, 2), T(0, 2, 3)),
        Sample(T(2, 3, 0), T(2, 0, 2)),
    ],
)
mv_op = Op(
    "mv",
    lambda mat, vec: np.matmul(mat, vec),
    ("mat", "vec"),
    vjp={
        "mat": lambda g, vec: np.expand_dims(g, -1) * conj(vec),
        "vec": lambda g, mat: np.matmul(adjoint(mat), g),
    },
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3), T(3)),
        Sample(T(3, 2, layout="transposed"), vec=T(2)),
        Sample(T(0, 2), T(2)),
        Sample(T(2, 0), T(0)),
    ],
)
dot_op = Op(
    "dot",
    lambda x, y: np.dot(x, y),
    ("x", "y"),
    vjp={"x": lambda g, y: g * conj(y), "y": lambda g, x: g * conj(x)},
    jvp=MULTILINEAR,
    samples=lambda: [Sample(T(3), T(3)), Sample(T(1), tensor=T(1)), Sample(T(0), T(0))],
)
vdot_op = Op(
    "vdot",
    lambda x, y: np.vdot(x, y),
    ("x", "y"),
    vjp={"x": lambda g, y: conj(g) * y, "y": lambda g, x: g * x},
    jvp=MULTILINEAR,
    samples=lambda: [Sample(T(3), T(3)), Sample(T(1), other=T(1)), Sample(T(0), T(0))],
)


def _plus(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`; a beta of zero ignores the input, NaN and all."""
    if alpha != 1:
        product = product * _as_number(alpha, product.dtype)
    if beta != 0:
        product += times(input, _as_number(beta, product.dtype))
    return product


def _as_number(factor: Any, dtype: Any) -> Any:
    """An integer product takes an integer factor: PyTorch cuts the fraction off."""
    return number_as(int(factor), dtype) if dtype.kind in "iu" else factor


def _sum_of_products(x: Any, y: Any) -> Any:
    return np.tensordot(x, y, axes=((0, 2), (0, 1)))


addmm_op = Op(
    "addmm",
    lambda input, mat1, mat2, beta=1, alpha=1, columns=False: _plus(
        input, np.matmul(mat1, mat2), beta, alpha
    ),
    ("input", "mat1", "mat2"),
    vjp={
        "input": lambda g, beta: times(g, cousin(beta)),
        "mat1": lambda g, mat2, alpha: times(np.matmul(g, adjoint(mat2)), cousin(alpha)),
        "mat2": lambda g, mat1, alpha, columns: times(
            _mat2_gradient(g, mat1, columns), cousin(alpha)
        ),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "mat1": lambda t, mat2, alpha: times(np.matmul(t, mat2), alpha),
        "mat2": lambda t, mat1, alpha: times(np.matmul(mat1, t), alpha),
    },
    samples=lambda: [
        Sample(T(2, 4), T(2, 3), T(3, 4)),
        Sample(T(4), T(2, 3), T(3, 4), beta=2, alpha=3),
        Sample(T(2, 1), T(2, 3, layout="transposed"), T(3, 4, layout="transposed"), alpha=-1),
        Sample(T(), T(2, 3), T(3, 2), beta=0),
        Sample(T(2, 2), T(2, 0), T(0, 2)),
    ],
)
addmv_op = Op(
    "addmv",
    lambda input, mat, vec, beta=1, alpha=1: _plus(input, np.matmul(mat, vec), beta, alpha),
    ("input", "mat", "vec"),
    vjp={
        "input": lambda g, beta: times(g, cousin(beta)),
        "mat": lambda g, vec, alpha: times(np.expand_dims(g, -1) * conj(vec), cousin(alpha)),
        "vec": lambda g, mat, alpha: times(np.matmul(adjoint(mat), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "mat": lambda t, vec, alpha: times(np.matmul(t, vec), alpha),
        "vec": lambda t, mat, alpha: times(np.matmul(mat, t), alpha),
    },
    samples=lambda: [
        Sample(T(2), T(2, 3), T(3)),
        Sample(T(1), T(2, 3), T(3), beta=2, alpha=3),
        Sample(T(), T(2, 3), T(3), beta=0),
        Sample(T(2), T(2, 0), T(0)),
    ],
)
addbmm_op = Op(
    "addbmm",
    lambda input, batch1, batch2, beta=1, alpha=1: _plus(
        input, _sum_of_products(batch1, batch2), beta, alpha
    ),
    ("input", "batch1", "batch2"),
    vjp={
        "input": lambda g, beta: times(g, cousin(beta)),
        "batch1": lambda g, batch2, alpha: times(np.matmul(g, adjoint(batch2)), cousin(alpha)),
        "batch2": lambda g, batch1, alpha: times(np.matmul(adjoint(batch1), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "batch1": lambda t, batch2, alpha: times(_sum_of_products(t, batch2), alpha),
        "batch2": lambda t, batch1, alpha: times(_sum_of_products(batch1, t), alpha),
    },
    samples=lambda: [
        Sample(T(2, 4), T(3, 2, 3), T(3, 3, 4)),
        Sample(T(4), T(3, 2, 3), T(3, 3, 4), beta=2, alpha=3),
        Sample(T(2, 2), T(0, 2, 3), T(0, 3, 2)),
        Sample(T(), T(1, 2, 3), T(1, 3, 2), beta=0),
    ],
)
baddbmm_op = Op(
    "baddbmm",
    lambda input, batch1, batch2, beta=1, alpha=1: _plus(
        input, np.matmul(batch1, batch2), beta, alpha
    ),
    ("input", "batch1", "batch2"),
    vjp={
        "input": lambda g, beta: times(g, cousin(beta)),
        "batch1": lambda g, batch2, alpha: times(np.matmul(g, adjoint(batch2)), cousin(alpha)),
        "batch2": lambda g, batch1, alpha: times(np.matmul(adjoint(batch1), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "batch1": lambda t, batch2, alpha: times(np.matmul(t, batch2), alpha),
        "batch2": lambda t, batch1, alpha: times(np.matmul(batch1, t), alpha),
    },
    samples=lambda: [
        Sample(T(3, 2, 4), T(3, 2, 3), T(3, 3, 4)),
        Sample(T(4), T(3, 2, 3), T(3, 3, 4), beta=2, alpha=3),
        Sample(T(2, 1), T(2, 2, 3, layout="transposed"), T(2, 3, 2)),
        Sample(T(2, 2), T(0, 2, 3), T(0, 3, 2)),
    ],
)


def _addr(input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    if input.dtype.kind == "b":
        product = np.expand_dims(vec1, -1) & vec2 & bool(alpha)
        return product if not beta else product | input
    product = times(np.expand_dims(vec1, -1) * vec2, _as_number(alpha, input.dtype))
    return product if beta == 0 else product + times(input, _as_number(beta, input.dtype))


addr_op = Op(
    "addr",
    _addr,
    ("input", "vec1", "vec2"),
    vjp={
        "input": lambda g, beta: times(g, cousin(beta)),
        "vec1": lambda g, vec2, alpha: times(np.matmul(g, conj(vec2)), cousin(alpha)),
        "vec2": lambda g, vec1, alpha: times(np.matmul(turn(g), conj(vec1)), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "vec1": lambda t, vec2, alpha: times(np.expand_dims(t, -1) * vec2, alpha),
        "vec2": lambda t, vec1, alpha: times(np.expand_dims(vec1, -1) * t, alpha),
    },
    promotion="common",
    samples=lambda: [
        Sample(T(2, 3), T(2), T(3)),
        Sample(T(3), T(2), T(3), beta=2, alpha=3),
        Sample(T(), T(2), T(3), beta=0),
        Sample(T(0, 3), T(0), T(3)),
    ],
)

# --- what PyTorch refuses ---------------------------------------------------------------------------


def spoken(tensor: Tensor) -> str:
    """The name of a tensor's dtype in PyTorch's errors: `Float`, `Long`, …"""
    return LEGACY_NAMES[tensor.dtype]


def _no_bool(tensor: Tensor, kernel: str) -> None:
    if tensor._data.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _check_mm(mat1: Tensor, mat2: Tensor) -> None:
    a, b = mat1._data, mat2._data
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype.kind == "b":
        _no_bool(mat1, "addmm_impl_cpu_")


def _check_bmm(name: str, batch1: Tensor, batch2: Tensor) -> None:
    for label, tensor in (("batch1", batch1), ("batch2", batch2)):
        if tensor._data.ndim != 3:
            raise RuntimeError(f"{label} must be a 3D tensor")
    a, b = batch1._data.shape, batch2._data.shape
    if (a[0], a[2]) != (b[0], b[1]):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but "
            f"got: [{b[0]}, {b[1]}]."
        )
    _no_bool(batch1, name)


def _check_mv(input: Any, mat: Tensor, vec: Tensor, first: Tensor) -> None:
    """The checks of `addmv`, which is what `mv` is: there the vector stands for the input."""
    if mat._data.ndim != 2 or vec._data.ndim != 1 or first._data.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {first._data.ndim}, {mat._data.ndim}, "
            f"{vec._data.ndim}"
        )
    rows, inner = mat._data.shape
    extent = rows if input is None or not input._data.ndim else input._data.shape[0]
    if vec._data.shape[0] != inner or extent not in (rows, 1):
        raise RuntimeError(
            f"size mismatch, got input ({extent}), mat ({rows}x{inner}), vec ({vec._data.shape[0]})"
        )
    if not first._data.dtype == mat._data.dtype == vec._data.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {spoken(first)}, {spoken(mat)}, "
            f"and {spoken(vec)}"
        )
    _no_bool(mat, "addmv_impl_cpu")


def _check_vectors(first: Tensor, second: Tensor) -> None:
    a, b = first._data, second._data
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{spoken(first)} and {spoken(second)}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the "
            f"same number of elements, but got {a.size} and {b.size} elements respectively"
        )
    _no_bool(first, "dot")


def _check_expandable(input: Tensor, shape: tuple[int, ...]) -> None:
    found = input._data.shape
    if found == shape:
        return
    pairs = zip(found[::-1], shape[::-1], strict=False)
    if len(found) > len(shape) or any(m not in (n, 1) for m, n in pairs):
        expand_to(input, shape)  # says what is wrong


def _check_factors(name: str, input: Tensor, beta: Any, alpha: Any) -> None:
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if not isinstance(factor, (int, float, complex, np.number)):
            raise TypeError(
                f"{name}(): argument '{label}' must be Number, not {type(factor).__name__}"
            )
        if isinstance(factor, complex) and input._data.dtype.kind != "c" and factor.imag:
            kind = _SPELLED[spoken(input)]
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")


def _require(name: str, **tensors: Any) -> None:
    for position, (label, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, Tensor):
            require_tensor(name, value, label, position)


# --- the functions ----------------------------------------------------------------------------------

_ROWS = {"columns": False}
_COLUMNS = {"columns": True}


def _by_columns(array: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    strides = getattr(array, "strides", None)
    return strides is not None and strides[0] < strides[1]


@public()
def mm(input: Any, mat2: Any) -> Tensor:
    """The product of two matrices."""
    _require("mm", input=input, mat2=mat2)
    a, b = input._data, mat2._data
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{_SPELLED[spoken(input)]} != {_SPELLED[spoken(mat2)]}"
        )
    _check_mm(input, mat2)
    result: Tensor = apply(mm_op, (input, mat2), _COLUMNS if _by_columns(b) else _ROWS)
    return result


@public()
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of two batches of matrices, pair by pair."""
    _require("bmm", input=input, mat2=mat2)
    _check_bmm("bmm", input, mat2)
    if input._data.dtype != mat2._data.dtype:
        raise RuntimeError(f"expected scalar type {spoken(input)} but found {spoken(mat2)}")
    result: Tensor = apply(bmm_op, (input, mat2))
    return result


@public()
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a matrix and a vector."""
    _require("mv", input=input, vec=vec)
    _check_mv(None, input, vec, vec)
    result: Tensor = apply(mv_op, (input, vec))
    return result


@public()
def dot(input: Any, tensor: Any) -> Tensor:
    """The sum of the products of two vectors' elements (neither is conjugated)."""
    _require("dot", input=input, tensor=tensor)
    _check_vectors(input, tensor)
    result: Tensor = apply(dot_op, (input, tensor))
    return result


@public()
def vdot(input: Any, other: Any) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
    _require("vdot", input=input, other=other)
    _check_vectors(input, other)
    result: Tensor = apply(vdot_op, (input, other))
    return result


@public(inplace=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    _require("addmm", input=input, mat1=mat1, mat2=mat2)
    a, b = mat1._data, mat2._data
    for label, array in (("mat1", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{label} must be a matrix, got {array.ndim}-D tensor")
    for label, tensor in (("self", input), ("mat1", mat1)):
        if tensor._data.dtype != b.dtype:
            raise RuntimeError(
                f"{label} and mat2 must have the same dtype, but got {spoken(tensor)} and "
                f"{spoken(mat2)}"
            )
    _check_mm(mat1, mat2)
    _check_factors("addmm", input, beta, alpha)
    _check_expandable(input, (a.shape[0], b.shape[1]))
    return _addmm(input, mat1, mat2, beta, alpha)


def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    parameters = {"beta": beta, "alpha": alpha, "columns": _by_columns(mat2._data)}
    result: Tensor = apply(addmm_op, (input, mat1, mat2), parameters)
    return result


@public(inplace=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    _require("addmv", input=input, mat=mat, vec=vec)
    _check_mv(input, mat, vec, input)
    _check_factors("addmv", input, beta, alpha)
    result: Tensor = apply(addmv_op, (input, mat, vec), {"beta": beta, "alpha": alpha})
    return result


@public(inplace=True)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * sum of the products batch1[i] @ batch2[i]`."""
    _require("addbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._data.shape, batch2._data.shape
    if len(b) == 3:
        _check_expandable(input, (a[1], b[2]))
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError(f"batch{1 if len(a) != 3 else 2} must be a 3D tensor")
    if a[0] != b[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}"
        )
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    for label, tensor in (("self", input), ("mat1", batch1)):
        if tensor._data.dtype != batch2._data.dtype:
            raise RuntimeError(
                f"{label} and mat2 must have the same dtype, but got {spoken(tensor)} and "
                f"{spoken(batch2)}"
            )
    _no_bool(batch1, "addmm_impl_cpu_")
    _check_factors("addbmm", input, beta, alpha)
    result: Tensor = apply(addbmm_op, (input, batch1, batch2), {"beta": beta, "alpha": alpha})
    return result


@public(inplace=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, batch by batch."""
    _require("baddbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._data.shape, batch2._data.shape
    if len(b) == 3 and len(a) > 1:
        _check_expandable(input, (a[0], a[1], b[2]))
    if not input._data.dtype == batch1._data.dtype == batch2._data.dtype:
        kinds = [_SPELLED[spoken(x)] for x in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: "
            f"{kinds[2]}"
        )
    _check_bmm("baddbmm", batch1, batch2)
    _check_factors("baddbmm", input, beta, alpha)
    result: Tensor = apply(baddbmm_op, (input, batch1, batch2), {"beta": beta, "alpha": alpha})
    return result


@public(inplace=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    _require("addr", input=input, vec1=vec1, vec2=vec2)
    for label, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector._data.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {label}, but got {vector._data.ndim}-D"
            )
    _check_expandable(input, (vec1._data.size, vec2._data.size))
    if all(x._data.dtype.kind in "iu" for x in (input, vec1, vec2)):
        for label, factor in (("beta", beta), ("alpha", alpha)):
            if isinstance(factor, float):
                raise RuntimeError(
                    f"For integral input tensors, argument {label} must not be a floating point number."
                )
    _check_factors("addr", input, beta, alpha)
    return call_elementwise(addr_op, (input, vec1, vec2), {"beta": beta, "alpha": alpha})


@public(aliases=("ger",))
def outer(input: Any, vec2: Any) -> Tensor:
    """The matrix of all products of two vectors' elements."""
    _require("outer", input=input, vec2=vec2)
    for label, vector in (("self", input), ("vec2", vec2)):
        if vector._data.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {label}, but got {vector._data.ndim}-D"
            )
    column: Any = reshape_to(input, (input._data.size, 1))
    result: Tensor = column * vec2
    return result


# --- matmul -----------------------------------------------------------------------------------------


@public()
def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product: of vectors, matrices, or batches of matrices broadcast together."""
    _require("matmul", input=input, other=other)
    m, n = input._data.ndim, other._data.ndim
    if m == 2 and n == 2:
        return mm(input, other)
    if not m or not n:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D"
        )
    if n == 1 and m <= 2:
        return dot(input, other) if m == 1 else mv(input, other)
    if m == 1 and n == 2:
        return squeeze(mm(unsqueeze(input, 0), other), 0)
    if _folds(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _unsafe_view(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    result: Tensor = apply(unsafe_view_op, (x,), {"size": shape})
    return result


def _folds(input: Tensor, other: Tensor) -> bool:
    """Whether a batch times one matrix (or vector) is best done as one tall matrix times it."""
    larger = input._data.ndim >= other._data.ndim
    batch, small = (input._data, other) if larger else (turn(other._data), input)
    if batch.ndim < 3 or small._data.ndim > 2:
        return False
    if modes.grad and small.requires_grad:
        return True  # else its gradient would be a whole batch of matrices, summed
    if input._data.ndim == 2:
        return False
    if not batch.size:
        return True
    strides = getattr(batch, "strides", None)
    return strides is None or all(
        strides[i] == strides[i + 1] * batch.shape[i + 1] for i in range(batch.ndim - 2)
    )


def _folded(input: Tensor, other: Tensor) -> Tensor:
    flipped = other._data.ndim > input._data.ndim
    from .rearranging import contiguous

    batch, small = (transpose(other, -2, -1), input) if flipped else (input, other)
    if flipped and small._data.ndim == 2:
        small = t(small)
    shape = batch._data.shape
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    tall = reshape_to(batch, (rows, shape[-1]))
    if small._data.ndim == 1:
        return _unsafe_view(mv(tall, small), shape[:-1])
    result = _unsafe_view(mm(tall, small), (*shape[:-1], small._data.shape[1]))
    return contiguous(transpose(result, -2, -1)) if flipped else result


def _batched(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._data.shape, other._data.shape
    if len(a) == len(b) == 3 and a[0] != b[0] and modes.grad:
        # A batch of one that wants a gradient is a plain matrix.
        if a[0] == 1 and input.requires_grad:
            return matmul(squeeze(input, 0), other)
        if b[0] == 1 and other.requires_grad:
            return matmul(input, squeeze(other, 0))
    n = a[-2] if len(a) > 1 else 1
    p = b[-1] if len(b) > 1 else 1
    check_broadcast(a[:-2], b[:-2])
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    count = 1
    for extent in batch:
        count *= extent
    inner = b[-2] if len(b) > 1 else b[0]
    x = reshape_to(expand_to(input, (*batch, n, a[-1])), (count, n, a[-1]))
    if len(b) == 1:
        other = unsqueeze(other, 1)
    y = reshape_to(expand_to(other, (*batch, inner, p)), (count, inner, p))
    product = bmm(x, y)
    shape = (*batch, *((n,) if len(a) > 1 else ()), *((p,) if len(b) > 1 else ()))
    if len(b) == 1:
        product = squeeze(product, -1)
    return _unsafe_view(product, shape)


# --- linear -----------------------------------------------------------------------------------------


@public(method=False)
def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """`input @ weight.T + bias`, over the last dimension of the input."""
    _require("linear", input=input, weight=weight)
    x, w = input._data, weight._data
    if not x.ndim or not w.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if bias is None:
        return matmul(input, t(weight))
    if not isinstance(bias, Tensor):
        require_tensor("linear", bias, "bias", 3)
    if x.ndim == 2:
        return addmm(bias, input, t(weight))
    flags = getattr(x, "flags", None)
    if flags is None or flags.c_contiguous:
        rows = x.size // x.shape[-1] if x.shape[-1] else 1
        if not x.shape[-1]:
            for extent in x.shape[:-1]:
                rows *= extent
        flat = addmm(bias, reshape_to(input, (rows, x.shape[-1])), t(weight))
        return reshape_to(flat, (*x.shape[:-1], flat._data.shape[1]))
    product: Any = matmul(input, t(weight))
    result: Tensor = product + bias
    return result


# --- operators and NumPy's names --------------------------------------------------------------------


def _matmul_operator(self: Any, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _reflected(self: Any, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


_tensor: Any = Tensor
_tensor.__matmul__, _tensor.__rmatmul__ = _matmul_operator, _reflected
COUNTERPARTS[np.matmul] = matmul
COUNTERPARTS[np.dot] = matmul
COUNTERPARTS[np.vdot] = vdot
COUNTERPARTS[np.outer] = outer
LINALG["matmul"] = matmul


@counterpart(np.tensordot)
def _np_tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    from .contractions import tensordot

    return tensordot(a, b, axes)
