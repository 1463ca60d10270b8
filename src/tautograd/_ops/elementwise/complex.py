"""Complex numbers: their parts (as views), conjugates, angles, and how to make them.

PyTorch's convention: the gradient of a real loss is `dL/da + i dL/db` for `z = a + ib`, so the VJP
of a holomorphic f is `g * conj(f')`. Functions that are not holomorphic (|z|, the angle, z/|z|)
have a VJP and a JVP that are adjoint over pairs of real numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, from_numpy_dtype
from ..._arrays.result_layout import as_iterated
from ..._arrays.strided import has_memory, strides_of, with_steps_of
from ..._autograd.apply import apply
from ..._autograd.lifted import COUNTERPARTS, counterpart
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import (
    call_elementwise,
    check_broadcast,
    conj,
    contiguous,
    require_tensor,
    unary,
)
from ..declare.in_place_twins import inplace_twin
from ..declare.public import FUNCTIONS, METHODS, attach, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T, over
from ..declare.undefined_dtypes import no_kernel


def is_complex(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


# --- parts: views of the same memory -------------------------------------------------------------


def _as_real(x: Any) -> Any:
    if hasattr(x, "seen_through"):  # an array that is recorded
        return x.seen_through(_as_real)
    if x.dtype.kind == "b":  # truth values, on which a way through views is tried for its shapes
        return np.broadcast_to(np.expand_dims(x, -1), (*x.shape, 2))
    if has_memory(x):
        return np.expand_dims(x, -1).view(np.finfo(x.dtype).dtype)
    return np.stack((np.real(x), np.imag(x)), axis=-1)  # an array type without views of bytes


def _as_complex(x: Any) -> Any:
    if hasattr(x, "seen_through"):
        return x.seen_through(_as_complex)
    if x.dtype.kind == "b":
        return x[..., 0]
    if has_memory(x):
        return x.view(np.result_type(x.dtype, np.complex64))[..., 0]
    return x[..., 0] + 1j * x[..., 1]


def _complex_samples() -> list[Sample]:
    shapes: list[tuple[int, ...]] = [(2, 3), (), (1,), (0, 2)]
    return [Sample(T(*s, dtype=d)) for s in shapes for d in ("complex64", "complex128")]


view_as_real_op = Op(
    "view_as_real",
    _as_real,
    ("x",),
    vjp={"x": lambda g: complex_op(g[..., 0], g[..., 1])},
    jvp=LINEAR,
    is_view=True,
    samples=_complex_samples,
)
view_as_complex_op = Op(
    "view_as_complex",
    _as_complex,
    ("x",),
    vjp={"x": lambda g: view_as_real_op(g)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(*shape, dtype=d))
        for shape in ((3, 2), (2,), (0, 2), (2, 3, 2))
        for d in ("float32", "float64")
    ],
)
real_op = Op(
    "real",
    np.real,
    ("x",),
    parameters=(),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    is_view=True,
    node="SelectBackward0",
    samples=_complex_samples,
)
imag_op = Op(
    "imag",
    np.imag,
    ("x",),
    parameters=(),
    vjp={"x": lambda g: complex_op(np.zeros_like(g), g)},
    jvp=LINEAR,
    is_view=True,
    node="SelectBackward0",
    samples=_complex_samples,
)


@public(out=False, method=False)
def view_as_real(input: Any) -> Tensor:
    """Complex numbers as pairs of real ones in a last dimension, in the same memory."""
    require_tensor("view_as_real", input)
    if not is_complex(input._data):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return apply(view_as_real_op, (input,))  # type: ignore[no-any-return]


@public(out=False, method=False)
def view_as_complex(input: Any) -> Tensor:
    """Pairs of real numbers in the last dimension as complex ones, in the same memory."""
    require_tensor("view_as_complex", input)
    data = input._data
    name = from_numpy_dtype(data.dtype).name
    if name not in ("float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {LEGACY_NAMES[input.dtype]}"
        )
    if data.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if data.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = strides_of(data) if has_memory(data) else ()
    if strides and strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s, n in zip(strides[:-1], data.shape, strict=False) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return apply(view_as_complex_op, (input,))  # type: ignore[no-any-return]


@public(out=False, method=False)
def real(input: Any) -> Tensor:
    """The real part, in the same memory; a real tensor is its own."""
    require_tensor("real", input)
    return apply(real_op, (input,)) if is_complex(input._data) else input  # type: ignore[no-any-return]


@public(out=False, method=False)
def imag(input: Any) -> Tensor:
    """The imaginary part, in the same memory."""
    require_tensor("imag", input)
    if not is_complex(input._data):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return apply(imag_op, (input,))  # type: ignore[no-any-return]


def _write(part: Tensor, value: Any) -> None:
    part.copy_(value)


cls: Any = Tensor
# Functions of their own: a subclass is asked about `Tensor.real.__get__` here, about `torch.real` there.
cls.real = property(
    lambda self: real(self), lambda self, value: _write(real(self), value), doc=real.__doc__
)
cls.imag = property(
    lambda self: imag(self), lambda self, value: _write(imag(self), value), doc=imag.__doc__
)

# --- conjugates ----------------------------------------------------------------------------------

conj_op = Op(
    "conj",
    np.conjugate,
    ("x",),
    layout=lambda data, operands: with_steps_of(data, operands[0]),  # PyTorch's is a view
    vjp={"x": lambda g: conj(g)},
    jvp={"x": lambda t: conj(t)},
    samples=_complex_samples,
)
conj_physical_op = Op(
    "conj_physical",
    np.conjugate,
    ("x",),
    vjp={"x": lambda g: conj(g)},
    jvp={"x": lambda t: conj(t)},
    samples=_complex_samples,
)


@public("conj", out=False)
def conj_(input: Any) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    require_tensor("conj", input)
    return apply(conj_op, (input,)) if is_complex(input._data) else input  # type: ignore[no-any-return]


conj_in_place_op = Op(
    "conj_physical_",
    lambda x: np.conjugate(x) if x.dtype.kind == "c" else np.copy(x),  # NumPy's makes bools int8
    ("x",),
    vjp={"x": lambda g: conj(g)},
    jvp={"x": lambda t: conj(t)},
    node="ConjPhysicalBackward1",
    public="Tensor.conj_physical_",
    samples=over(),
)


@public()
def conj_physical(input: Any) -> Tensor:
    """The complex conjugate in memory of its own."""
    require_tensor("conj_physical", input)
    return apply(conj_physical_op, (input,)) if is_complex(input._data) else input  # type: ignore[no-any-return]


def _conjugated(input: Any) -> Any:
    return apply(conj_in_place_op, (input,))


attach("conj_physical_", inplace_twin("conj_physical", _conjugated))
FUNCTIONS["conj_physical_"] = METHODS["conj_physical_"]


for _name, _doc in (
    ("resolve_conj", "The tensor itself: conjugates are never pending here."),
    ("resolve_neg", "The tensor itself: negations are never pending here."),
):

    def _same(input: Any) -> Tensor:
        require_tensor("resolve", input)
        return input  # type: ignore[no-any-return]

    _same.__doc__ = _doc
    public(_name, out=False)(_same)

for _name in ("is_conj", "is_neg"):

    def _never(input: Any) -> bool:
        """Whether a conjugation or negation is pending: never, here."""
        require_tensor("is_conj", input)
        return False

    public(_name, out=False)(_never)

COUNTERPARTS[np.conjugate] = conj_
COUNTERPARTS[np.real] = real


@counterpart(np.imag)
def _imag_on_tensors(x: Any) -> Any:
    return imag(x) if is_complex(x._data) else x * 0


# --- direction and angle -------------------------------------------------------------------------


def _sgn(x: Any) -> Any:
    if is_complex(x):
        size = np.abs(x)
        return np.where(size == 0, 0, join(np.real(x) / size, np.imag(x) / size))
    if x.dtype.kind == "b":
        return np.copy(x)
    return np.astype(x > 0, x.dtype) - np.astype(x < 0, x.dtype)


def _sgn_adjoint(g: Any, x: Any) -> Any:
    # s = x/|x|;  ds = (dx - s Re(conj(s) dx)) / |x|, a symmetric map over pairs of reals
    if not is_complex(x):
        return np.zeros_like(g)
    size = np.abs(x)
    s = sgn_op(x)
    return np.where(size == 0, 0, (g - s * np.real(conj(s) * g)) / np.where(size == 0, 1, size))


sgn_op = unary(
    "sgn",
    _sgn,
    vjp=lambda g, x: _sgn_adjoint(g, x),
    jvp=lambda t, x: _sgn_adjoint(t, x),
    promotion="common",
    doc="The direction of each element: its sign, or `z / |z|`.",
    samples=over(0.3, 2),
)


def _angle(x: Any) -> Any:
    if is_complex(x):
        return np.angle(x)
    # Real numbers point along the positive or negative axis; NaN points nowhere.
    return np.where(np.isnan(x), x, np.astype(x < 0, x.dtype) * np.pi)


def _angle_vjp(g: Any, x: Any) -> Any:
    # angle = Im log z, so its gradient over (Re, Im) is i z / |z|²
    if not is_complex(x):
        return np.zeros_like(g)
    square = np.real(x) ** 2 + np.imag(x) ** 2
    return np.where(square == 0, 0, g * x / np.where(square == 0, 1, square) * 1j)


angle_op = unary(
    "angle",
    _angle,
    vjp=lambda g, x: _angle_vjp(g, x),
    jvp=lambda t, x: np.real(_angle_vjp(conj(t), x)),
    inplace=False,
    function=False,
    method=False,
    doc="The angle in the complex plane, between -π and π.",
    samples=over(0.3, 2),
)


@public()
def angle(input: Any) -> Tensor:
    """The angle in the complex plane, between -π and π."""
    require_tensor("angle", input)
    found = call_elementwise(angle_op, (input,), {})
    return contiguous(found) if is_complex(input._data) else found


# --- making complex numbers ----------------------------------------------------------------------


def join(re: Any, im: Any) -> Any:
    """Complex numbers from their parts (arrays)."""
    kind = np.result_type(re.dtype, np.complex64)
    if isinstance(re, np.ndarray) and isinstance(im, np.ndarray) and re.shape == im.shape:
        out = np.empty_like(re, dtype=kind)
    else:
        out = np.empty_like(re + im, dtype=kind)  # room for what either part may be
    np.copyto(np.real(out), re)
    np.copyto(np.imag(out), im)
    return out


def _float_pairs() -> list[Sample]:
    return [
        Sample(T(*a, dtype=d, low=0.3), T(*b, dtype=d, seed=1))
        for a, b in (((2, 3), (2, 3)), ((2, 1), (3,)), ((), ()), ((0, 2), (2,)))
        for d in ("float32", "float64")
    ]


complex_op: Op = Op(
    "complex",
    join,
    ("re", "im"),
    layout=as_iterated,
    vjp={"re": lambda g: np.real(g), "im": lambda g: np.imag(g)},
    jvp={"re": lambda t: t * (1 + 0j), "im": lambda t: t * 1j},
    samples=_float_pairs,
)
polar_op = Op(
    "polar",
    lambda size, angle: join(size * np.cos(angle), size * np.sin(angle)),
    ("size", "angle"),
    layout=as_iterated,
    # z = r e^(ia):  dz/dr = e^(ia), dz/da = i z
    vjp={
        "size": lambda g, angle: np.real(g) * np.cos(angle) + np.imag(g) * np.sin(angle),
        "angle": lambda g, out: np.real(g * conj(out * 1j)),
    },
    jvp={
        "size": lambda t, angle: complex_op(t * np.cos(angle), t * np.sin(angle)),
        "angle": lambda t, out: t * out * 1j,
    },
    refuses=no_kernel("polar_cpu", "h"),
    samples=_float_pairs,
)


def _from_two(op: Op, name: str, names: tuple[str, str], first: Any, second: Any) -> Tensor:
    require_tensor(name, first, names[0], 1)
    require_tensor(name, second, names[1], 2)
    kinds = first.dtype, second.dtype
    if any(k.name not in ("float16", "float32", "float64") for k in kinds):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{LEGACY_NAMES[kinds[0]]} and {LEGACY_NAMES[kinds[1]]}"
        )
    if kinds[0] is not kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {LEGACY_NAMES[kinds[0]]} but got scalar type "
            f"{LEGACY_NAMES[kinds[1]]} for second argument"
        )
    if kinds[0].name == "float16":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Half'")
    check_broadcast(first._data.shape, second._data.shape)
    return apply(op, (first, second))  # type: ignore[no-any-return]


def _complex_out(name: str, args: Any, kwargs: Any, out: Any) -> Any:
    """Pairs of numbers go into the complex dtype of their own precision."""
    first = args[0] if args else next(iter(kwargs.values()))
    if (
        isinstance(out, Tensor)
        and isinstance(first, Tensor)
        and out.dtype is not first.dtype.to_complex()
    ):
        wanted, got = LEGACY_NAMES[first.dtype.to_complex()], LEGACY_NAMES[out.dtype]
        raise RuntimeError(
            f"Expected object of scalar type {wanted} but got scalar type {got} for argument 'out'"
        )
    return args


@public("complex", method=False, out=_complex_out)
def complex_(real: Any, imag: Any) -> Tensor:
    """`real + i * imag`."""
    return _from_two(complex_op, "complex", ("real", "imag"), real, imag)


@public(method=False, out=_complex_out)
def polar(abs: Any, angle: Any) -> Tensor:
    """`abs * (cos(angle) + i * sin(angle))`."""
    return _from_two(polar_op, "polar", ("abs", "angle"), abs, angle)


@counterpart(np.angle)
def _angle_on_tensors(x: Any) -> Any:
    return call_elementwise(angle_op, (x,), {})
