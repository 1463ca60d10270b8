"""Pseudo-inverses, least squares and ranks: what singular values decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import holds_throughout
from ...._arrays.result_layout import by_place, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import check_broadcast, conj, require_tensor
from ...declare.public import LINALG, public
from ...declare.record import Op
from ...declare.return_types import RETURN_TYPES
from ...declare.samples import Sample, T
from ..matrices import adjoint, by_columns, product, scale_rows
from ..matrix_checks import LinAlgError
from ..products.product_checks import spoken


def epsilon_of(x: Any, m: int, n: int) -> float:
    """Singular values below this part of the largest count as zero."""
    return float(np.finfo(x.dtype).eps) * max(m, n)


def _svd(x: Any, hermitian: bool = False) -> tuple[Any, Any, Any]:
    """U, S and V^H, by eigenvalues for a Hermitian matrix (of which the lower half is read)."""
    try:
        if not hermitian:
            u, s, vh = np.linalg.svd(x, full_matrices=False)
            return u, s, vh
        values, vectors = np.linalg.eigh(x)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        ) from None
    signs = 1 - 2 * np.astype(values < 0, values.dtype)
    return vectors * np.expand_dims(signs, -2), np.abs(values), adjoint(vectors)


def _threshold(s: Any, atol: Any, rtol: Any) -> Any:
    """Below this a singular value counts as zero."""
    largest = np.max(s, axis=-1, keepdims=True, initial=0)
    return np.maximum(_column(atol), _column(rtol) * largest)


def _column(x: Any) -> Any:
    return np.expand_dims(x, -1) if getattr(x, "ndim", 0) else x


def _inverted(s: Any, threshold: Any) -> Any:
    kept = s > threshold
    return np.where(kept, 1 / np.where(kept, s, 1), 0)


# --- the pseudo-inverse --------------------------------------------------------------------------


def _pinv(x: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if not x.size:
        return np.zeros_like(adjoint(x))  # whatever the tolerances' shape
    u, s, vh = _svd(x, hermitian)
    return np.matmul(adjoint(vh), scale_rows(adjoint(u), _inverted(s, _threshold(s, atol, rtol))))


def _pinv_gradient(g: Any, x: Any, p: Any) -> Any:
    """gA = -P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), at constant rank."""
    ph, gh = adjoint(p), adjoint(g)
    near, far = product(gh, p, ph), product(ph, p, gh)
    return -product(ph, g, ph) + (near - product(x, p, near)) + (far - product(far, p, x))


def _pinv_tangent(t: Any, x: Any, p: Any) -> Any:
    """dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P."""
    ph, th = adjoint(p), adjoint(t)
    near, far = product(p, ph, th), product(th, ph, p)
    return -product(p, t, p) + (near - product(near, x, p)) + (far - product(p, x, far))


pinv_op: Op = Op(
    "linalg_pinv",
    _pinv,
    ("x",),
    layout=in_c_order,
    vjp={"x": lambda g, x, out: _pinv_gradient(g, x, out)},
    jvp={"x": lambda t, x, out: _pinv_tangent(t, x, out)},
    public="linalg.pinv",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(4, 2)),
        Sample(T(2, 2, 3, layout="transposed"), rtol=1e-3),
        Sample(T(3, 3, kind="symmetric"), hermitian=True),
        Sample(T(2, 3), atol=1e-3),
        Sample(T(0, 2)),
        Sample(T(2, 0)),
        Sample(T(0, 2, 3)),
    ],
)


def _tolerances(A: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """`atol` and `rtol` as PyTorch fills them in: the relative one only if no other is given."""
    m, n = A._data.shape[-2:]
    if rtol is None:
        positive = atol is not None and not isinstance(atol, Tensor) and atol > 0
        rtol = 0.0 if positive else epsilon_of(A._data, m, n)
        if isinstance(atol, Tensor):
            rtol = np.where(atol._data > 0, 0.0, rtol)
    return (
        0.0 if atol is None else atol._data if isinstance(atol, Tensor) else atol,
        rtol._data if isinstance(rtol, Tensor) else rtol,
    )


@public(method=False, namespace=LINALG)
def pinv(
    input: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudo-inverse: of A's singular values only those above a threshold are inverted."""
    require_tensor("linalg_pinv", input, "input")
    if input._data.ndim < 2 or input._data.dtype.char not in "fdFD":
        raise RuntimeError(
            f"linalg.pinv({spoken(input)}{{{list(input._data.shape)}}}): expected a tensor with 2 "
            "or more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian and input._data.shape[-1] != input._data.shape[-2]:
        from ..matrix_checks import check_square

        check_square("linalg.eigh", input)
    if rcond is not None:
        rtol = rcond
    floor, part = _tolerances(input, atol, rtol)
    parameters = {"atol": floor, "rtol": part, "hermitian": hermitian}
    result: Tensor = apply(pinv_op, (input,), parameters)
    return result


@public(out=False)
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """`linalg.pinv` by its old name."""
    require_tensor("pinverse", input)
    return pinv(input, rcond)


# --- least squares -------------------------------------------------------------------------------


def _lstsq(a: Any, b: Any, rcond: float, driver: str, vector: bool) -> Any:
    m, n = a.shape[-2:]
    if vector:
        b = np.expand_dims(b, -1)
    u, s, vh = _svd(a)
    threshold = _threshold(s, 0.0, 0.0 if driver == "gels" else rcond)
    x = np.matmul(adjoint(vh), scale_rows(np.matmul(adjoint(u), b), _inverted(s, threshold)))
    rank = np.sum(s > threshold, axis=-1, dtype=np.int64)
    real = np.real(b) if b.dtype.kind == "c" else b
    residuals = np.zeros_like(real, shape=(0,))
    if m > n and driver != "gelsy" and _full(rank, n, driver):
        residuals = np.sum(np.abs(b - np.matmul(a, x)) ** 2, axis=-2)
    nothing = np.zeros_like(rank, shape=(0,))
    values = s if driver in ("gelsd", "gelss") else np.zeros_like(s, shape=(0,))
    x = _in_place_of(b, x)
    return x[..., 0] if vector else x, residuals, nothing if driver == "gels" else rank, values


def _in_place_of(b: Any, x: Any) -> Any:
    """The solution laid out as LAPACK leaves it: at the head of the columns that held `b`."""
    n, more = x.shape[-2], b.shape[-2] - x.shape[-2]
    if more > 0:
        rest = np.zeros_like(x, shape=(*x.shape[:-2], more, x.shape[-1]))
        x = np.concatenate([x, rest], axis=-2)
    return by_columns(x)[..., :n, :]


def _full(rank: Any, n: int, driver: str) -> bool:
    """Whether residuals are reported: not for matrices that turn out to lack full rank."""
    return driver == "gels" or holds_throughout(rank, lambda x: x == n)


def _lstsq_gradients(g: Any, a: Any, b: Any, out: Any, vector: bool) -> Any:
    """X = A^+ B, so gB = A^+H gX and A^+ gets gX B^H; and |B - A X|^2 passes on 2 (A X - B)."""
    gx, g_rest = g[0], g[1]
    x = out[0]
    if vector:
        b, gx, x = (np.expand_dims(v, -1) for v in (b, gx, x))
    p = _pseudo_inverse(a)
    gb = np.matmul(adjoint(p), gx)
    ga = _pinv_gradient(np.matmul(gx, adjoint(b)), a, p)
    if g_rest.shape[-1:] != (0,) or b.shape[-1] == 0:
        away = 2 * (np.matmul(a, x) - b) * np.expand_dims(g_rest, -2)
        gb = gb - away
        ga = ga + np.matmul(away, adjoint(x))
    return ga, (gb[..., 0] if vector else gb)


def _pseudo_inverse(a: Any) -> Any:
    epsilon = epsilon_of(a, *a.shape[-2:])
    return pinv_op(a, atol=0.0, rtol=epsilon, hermitian=False)


def _lstsq_tangent(a: Any, b: Any, out: Any, vector: bool, da: Any, db: Any) -> Any:
    if vector:
        b = np.expand_dims(b, -1)
        db = None if db is None else np.expand_dims(db, -1)
    p = _pseudo_inverse(a)
    dx = np.matmul(p, db) if da is None else np.matmul(_pinv_tangent(da, a, p), b)
    rest = np.zeros_like(out[1])
    if out[1].shape[-1:] != (0,) or b.shape[-1] == 0:
        left = b - product(a, p, b)
        change = db if da is None else -product(da, p, b)
        change = change - np.matmul(a, dx)
        both = conj(left) * change
        rest = 2 * np.sum(np.real(both) if both.dtype.kind == "c" else both, axis=-2)
    return (dx[..., 0] if vector else dx), rest, None, None


lstsq_op: Op = Op(
    "linalg_lstsq",
    _lstsq,
    ("a", "b"),
    layout=by_place(None, in_c_order, in_c_order, in_c_order),
    vjp=_lstsq_gradients,
    jvp={
        "a": lambda t, a, b, out, vector: _lstsq_tangent(a, b, out, vector, t, None),
        "b": lambda t, a, b, out, vector: _lstsq_tangent(a, b, out, vector, None, t),
    },
    outputs=4,
    differentiable_outputs=(0, 1),
    public="linalg.lstsq",
    samples=lambda: [
        Sample(T(3, 3, kind="well_conditioned"), T(3, 2)),
        Sample(T(4, 2), T(4)),
        Sample(T(4, 2), T(4, 3), driver="gelsd"),
        Sample(T(2, 4, 2), T(2, 4), driver="gels"),
        Sample(T(2, 2, 3), T(2, 2, 1), rcond=1e-3, driver="gelss"),
        Sample(T(2, 4, 2), T(1, 4, 2)),
        Sample(T(0, 3), T(0, 2)),
        Sample(T(3, 0), T(3, 2)),
    ],
)


@public(method=False, namespace=LINALG)
def lstsq(input: Any, b: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The X that makes `|A @ X - B|` least, the shortest if there are several."""
    require_tensor("linalg_lstsq", input)
    require_tensor("linalg_lstsq", b, "b", 2)
    x, y = input._data, b._data
    name = "torch.linalg.lstsq"
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if y.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{spoken(input)} and other's dtype {spoken(b)}"
        )
    if x.ndim - y.ndim not in (0, 1):
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1"
        )
    vector = y.ndim == 1 or tuple(y.shape) == tuple(x.shape[:-1])
    if (y.shape[-1] if vector else y.shape[-2]) != x.shape[-2]:
        end = "-1" if vector else "-2"
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({end})")
    # Of a matrix without a batch PyTorch compares the rows with A's batch, and repeats it.
    check_broadcast(x.shape[:-2], y.shape[: x.ndim - 2])
    if not vector and y.ndim < x.ndim:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[: x.ndim - 2])
        b = b.expand(*batch, *y.shape[-2:])
    if driver is None:
        driver = "gelsy"
    elif driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if x.dtype.char not in "fdFD":
        if rcond is None:  # whose default is an epsilon
            raise RuntimeError("This function doesn't handle types other than float and double")
        raise NotImplementedError(f"\"linalg_lstsq_cpu\" not implemented for '{spoken(input)}'")
    limit = epsilon_of(x, *x.shape[-2:]) if rcond is None else float(rcond)
    parameters = {"rcond": limit, "driver": driver, "vector": vector}
    return RETURN_TYPES["linalg_lstsq"](apply(lstsq_op, (input, b), parameters))
