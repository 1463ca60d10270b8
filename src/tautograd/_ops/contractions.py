"""Products that sum over chosen dimensions, or over none: tensordot, inner, kron, cross, chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .dims import wrap_dim
from .elementwise import check_broadcast, conj, require_tensor
from .permutations import permute_to
from .products import dot, matmul, mm, spoken, vdot
from .public import LINALG, public
from .record import MULTILINEAR, Op
from .samples import Sample, T
from .shapes import tensor_list
from .views import reshape_to, unsafe_view_op, unsqueeze, view_to


def _require(name: str, *named: tuple[str, Any]) -> None:
    for position, (label, value) in enumerate(named, 1):
        require_tensor(name, value, label, position)


# --- over chosen dimensions -------------------------------------------------------------------------


@public(method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """The sum of products over `dims` dimensions: the last of `a` with the first of `b`, or a pair
    of lists that says which."""
    _require("tensordot", ("a", a), ("b", b))
    if isinstance(dims, Tensor):
        dims = dims.tolist()  # type: ignore[attr-defined]
    if isinstance(dims, (tuple, list)):
        of_a, of_b = dims
        for chosen in (of_a, of_b):
            if not isinstance(chosen, Sequence):
                raise TypeError(
                    "tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not "
                    f"{type(chosen).__name__}"
                )
        return _tensordot(a, b, list(of_a), list(of_b))
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a._data.ndim, b._data.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return _tensordot(a, b, list(range(-dims, 0)), list(range(dims)))


def _tensordot(a: Any, b: Any, of_a: list[int], of_b: list[int]) -> Tensor:
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._data.dtype != b._data.dtype:
        raise RuntimeError("both inputs should have same dtype")
    first = [wrap_dim(d, a._data.ndim) for d in of_a]
    second = [wrap_dim(d, b._data.ndim) for d in of_b]
    for dims in (first, second):
        for i, d in enumerate(dims):
            if d in dims[:i]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for i, (m, n) in enumerate(zip(first, second, strict=True)):
        p, q = a._data.shape[m], b._data.shape[n]
        if q == 1 and p != 1:
            a = a.sum(m, keepdim=True)
        elif p == 1 and q != 1:
            b = b.sum(n, keepdim=True)
        elif p != q:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {p} in dim {of_a[i]} and "
                f"second has size {q} in dim {of_b[i]}"
            )
    rest_a = [d for d in range(a._data.ndim) if d not in first]
    rest_b = [d for d in range(b._data.ndim) if d not in second]
    shape = tuple([a._data.shape[d] for d in rest_a] + [b._data.shape[d] for d in rest_b])
    inner, rows, columns = 1, 1, 1
    for d in first:
        inner *= a._data.shape[d]
    for d in rest_a:
        rows *= a._data.shape[d]
    for d in rest_b:
        columns *= b._data.shape[d]
    x, y = permute_to(a, (*rest_a, *first)), permute_to(b, (*second, *rest_b))
    if x._data.ndim == y._data.ndim == len(first) == 1:
        product = dot(x, y)
    else:
        product = mm(reshape_to(x, (rows, inner)), reshape_to(y, (inner, columns)))
    return reshape_to(product, shape)


@public()
def inner(input: Any, other: Any) -> Tensor:
    """The sum of products over the last dimension of both."""
    _require("inner", ("input", input), ("other", other))
    a, b = input._data.shape, other._data.shape
    if not a or not b:
        result: Tensor = input * other
        return result
    if a[-1] != b[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a)} and {list(b)}"
        )
    return _tensordot(input, other, [-1], [-1])


@public(method=False, namespace=LINALG)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Tensor:
    """The inner product along a dimension, the first operand conjugated."""
    _require("linalg_vecdot", ("x", x), ("y", y))
    if x._data.dtype.kind not in "fcV":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {spoken(x)}"
        )
    if x._data.dtype != y._data.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{spoken(x)} and y of type {spoken(y)} instead"
        )
    if x._data.ndim == y._data.ndim == 1 and x._data.shape == y._data.shape:
        wrap_dim(dim, 1)
        return vdot(x, y) if x._data.dtype.kind == "c" else (x * y).sum(dim)
    result: Tensor = ((x.conj() if x._data.dtype.kind == "c" else x) * y).sum(dim)
    return result


# --- over none ----------------------------------------------------------------------------------------


@public()
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: `other`, scaled by each element of `input` in turn."""
    _require("kron", ("input", input), ("other", other))
    rank = max(input._data.ndim, other._data.ndim)
    a = (1,) * (rank - input._data.ndim) + input._data.shape
    b = (1,) * (rank - other._data.ndim) + other._data.shape
    left = tuple([n for extent in a for n in (extent, 1)])
    right = tuple([n for extent in b for n in (1, extent)])
    x: Any = apply(unsafe_view_op, (input,), {"size": left})
    product = x * apply(unsafe_view_op, (other,), {"size": right})
    size = tuple([m * n for m, n in zip(a, b, strict=True)])
    result: Tensor = apply(unsafe_view_op, (product,), {"size": size})
    return result


def _cross(x: Any, y: Any, dim: int) -> Any:
    """The i-th component is x[i+1] y[i+2] - x[i+2] y[i+1], indices modulo three."""
    return np.roll(x, -1, dim) * np.roll(y, -2, dim) - np.roll(x, -2, dim) * np.roll(y, -1, dim)


cross_op = Op(
    "linalg_cross",
    _cross,
    ("x", "y"),
    vjp={
        "x": lambda g, y, dim: cross_op(conj(y), g, dim=dim),
        "y": lambda g, x, dim: cross_op(g, conj(x), dim=dim),
    },
    jvp=MULTILINEAR,
    public="linalg.cross",
    samples=lambda: [
        Sample(T(3), T(3)),
        Sample(T(2, 3), T(2, 3)),
        Sample(T(3, 4), T(3, 1), dim=0),
        Sample(T(0, 3), T(1, 3), dim=-1),
        Sample(T(3, 3, layout="transposed"), T(3, 3), dim=1),
    ],
)


@public("cross", method=False, namespace=LINALG)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Tensor:
    """The vector product of three-dimensional vectors along `dim`."""
    _require("linalg_cross", ("input", input), ("other", other))
    a, b = input._data, other._data
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, a.ndim)
    if not a.ndim or a.shape[axis] != 3 or b.shape[axis] != 3:
        found = (a.shape[axis], b.shape[axis]) if a.ndim else (1, 1)
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {found[0]} and {found[1]}"
        )
    check_broadcast(a.shape, b.shape)
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {spoken(input)} but found {spoken(other)}")
    result: Tensor = apply(cross_op, (input, other), {"dim": axis})
    return result


@public()
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """The vector product along `dim`, or along the first dimension of size three."""
    _require("cross", ("input", input), ("other", other))
    if dim is None:
        threes = [d for d, extent in enumerate(input._data.shape) if extent == 3]
        if not threes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = threes[0]
    return linalg_cross(input, other, dim=dim)


# --- chains -------------------------------------------------------------------------------------------


def _cheapest(sizes: list[int]) -> Any:
    """Where to split a chain of matrices so that it takes the fewest multiplications."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i][j] = min(options)
            split[i][j] = i + options.index(cost[i][j])
    return split


@public(method=False, namespace=LINALG)
def multi_dot(tensors: Any) -> Tensor:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""
    chain: list[Any] = list(tensor_list("linalg_multi_dot", tensors))
    count = len(chain)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    shape: list[int] = []
    for end, which, dim in ((0, "first", 0), (count - 1, "last", 1)):
        ndim = chain[end]._data.ndim
        if ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 2:
            shape.append(chain[end]._data.shape[dim])
    for i, x in enumerate(chain[1:-1], 1):
        if x._data.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x._data.ndim}D")
    for i, x in enumerate(chain):
        if x._data.dtype != chain[0]._data.dtype:
            from .products import _SPELLED

            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{_SPELLED[spoken(chain[0])]} and tensor {i} {_SPELLED[spoken(x)]}"
            )
    if chain[0]._data.ndim == 1:
        chain[0] = unsqueeze(chain[0], 0)
    if chain[-1]._data.ndim == 1:
        chain[-1] = unsqueeze(chain[-1], -1)
    for i, (x, y) in enumerate(zip(chain, chain[1:], strict=False)):
        if x._data.shape[1] != y._data.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x._data.shape)} and "
                f"{list(y._data.shape)} cannot be multiplied"
            )
    if count == 2:
        return view_to(mm(chain[0], chain[1]), tuple(shape))
    split = _cheapest([x._data.shape[0] for x in chain] + [chain[-1]._data.shape[1]])

    def product(i: int, j: int) -> Any:
        if i == j:
            return chain[i]
        return mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    return view_to(product(0, count - 1), tuple(shape))


@public(method=False)
def chain_matmul(*matrices: Any) -> Tensor:
    """`linalg.multi_dot` by its old name, for matrices given one by one."""
    tensor_list("chain_matmul", matrices)
    for x in matrices:
        if x._data.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x._data.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        result: Tensor = matrices[0]
        return result
    return multi_dot(list(matrices))


# --- bilinear forms -----------------------------------------------------------------------------------


def _trilinear(x: Any, w: Any, y: Any) -> Any:
    """out[b, o] = sum over i and j of x[b, i] w[o, i, j] y[b, j]."""
    half = np.tensordot(x, w, axes=((1,), (1,)))
    return np.matmul(half, np.expand_dims(y, -1))[..., 0]


trilinear_op = Op(
    "trilinear",
    _trilinear,
    ("x", "w", "y"),
    vjp={
        "x": lambda g, w, y: np.einsum("bo,oij,bj->bi", g, conj(w), conj(y), optimize=True),
        "w": lambda g, x, y: np.einsum("bo,bi,bj->oij", g, conj(x), conj(y), optimize=True),
        "y": lambda g, x, w: np.einsum("bo,bi,oij->bj", g, conj(x), conj(w), optimize=True),
    },
    jvp=MULTILINEAR,
    public="bilinear",
    samples=lambda: [
        Sample(T(2, 3), T(2, 4), T(5, 3, 4), T(5)),
        Sample(T(3), T(4), T(2, 3, 4)),
        Sample(T(2, 2, 3), T(2, 2, 4), T(1, 3, 4)),
    ],
)


@public(method=False, out=False)
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """`input1 @ weight[o] @ input2` for each output `o`, over the last dimensions, plus a bias."""
    _require("bilinear", ("input1", input1), ("input2", input2), ("weight", weight))
    a, b, w = input1._data.shape, input2._data.shape, weight._data.shape
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for d in range(len(a) - 1):
        if a[d] != b[d]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {a[d]} and {b[d]}"
            )
    for label, found, wanted in (("input1", a[-1], w[1]), ("input2", b[-1], w[2])):
        if found != wanted:
            raise RuntimeError(
                f"bilinear(): {label} size does not match weight size: got {found} but expected {wanted}"
            )
    if bias is not None and bias._data.shape[0] != w[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._data.shape[0]} but expected "
            f"{w[0]}"
        )
    rows = 1
    for extent in a[:-1]:
        rows *= extent
    x, y = reshape_to(input1, (rows, a[-1])), reshape_to(input2, (rows, b[-1]))
    out: Any = view_to(apply(trilinear_op, (x, weight, y)), (*a[:-1], w[0]))
    result: Tensor = out if bias is None else out + bias
    return result


LINALG["matmul"] = matmul
