"""Views with dimensions of size one dropped or inserted: squeeze, unsqueeze, atleast_1d, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.strided import spelled_out, strided
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim, wrap_dims
from ..declare.elementwise_calls import require_tensor
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import tensor_list
from .views import reshape_to, restore, view_to


def _drop(x: Any, dims: tuple[int, ...]) -> Any:
    if type(x) is np.ndarray and x.size:
        return x.squeeze(dims)
    x = spelled_out(x)
    return np.squeeze(x, dims) if dims else x[...]


def _ones(x: Any, dims: Any) -> tuple[int, ...]:
    return tuple([d for d in dims if d < x.ndim and x.shape[d] == 1])


squeeze_op = Op(
    "squeeze",
    lambda x: _drop(x, _ones(x, range(x.ndim))),
    ("x",),
    vjp={"x": restore},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(1, 3, 1)),
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(1)),
        Sample(T(1, 0)),
    ],
)
squeeze_dim_op = Op(
    "squeeze_dim",
    lambda x, dim: _drop(x, _ones(x, (dim,))),
    ("x",),
    vjp={"x": restore},
    jvp=LINEAR,
    is_view=True,
    node="SqueezeBackward1",
    public="squeeze",
    samples=lambda: [
        Sample(T(1, 3, 1), 0),
        Sample(T(1, 3, 1), dim=-1),
        Sample(T(2, 3), 0),
        Sample(T(), 0),
    ],
)
squeeze_dims_op = Op(
    "squeeze_dims",
    lambda x, dim: _drop(x, _ones(x, dim)),
    ("x",),
    vjp={"x": restore},
    jvp=LINEAR,
    is_view=True,
    node="SqueezeBackward2",
    public="squeeze",
    samples=lambda: [Sample(T(1, 3, 1), (0, -1)), Sample(T(1, 3, 1), (0, 1)), Sample(T(1, 2), ())],
)


def _insert(x: Any, dim: int) -> Any:
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    if type(x) is np.ndarray and x.size and x.flags.c_contiguous and 1 not in x.shape:
        return x.reshape(shape)
    x = spelled_out(x)
    if type(x) is np.ndarray:
        # The new dimension's stride is that of a step over all of the next one.
        step = x.strides[dim] * x.shape[dim] if dim < x.ndim else x.dtype.itemsize
        return strided(x, shape, (*x.strides[:dim], step, *x.strides[dim:]))
    return np.reshape(x, shape)


unsqueeze_op = Op(
    "unsqueeze",
    _insert,
    ("x",),
    vjp={"x": lambda g, dim: squeeze_dim_op(g, dim=dim)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3), 0),
        Sample(T(2, 3), -1),
        Sample(T(), 0),
        Sample(T(0, 2), dim=1),
        Sample(T(2, 3, layout="transposed"), 1),
    ],
)


@public(out=False)
def squeeze(input: Any, dim: Any = None) -> Tensor:
    """A view without the dimensions of size one: all of them, or those named that are."""
    require_tensor("squeeze", input)
    op, parameters = squeeze_call(input, dim)
    result: Tensor = op.apply((input,), parameters)
    return result


def squeeze_call(input: Tensor, dim: Any) -> tuple[Op, dict[str, Any]]:
    """Which of the three forms of `squeeze` is meant."""
    ndim = input._data.ndim
    if dim is None:
        return squeeze_op, {}
    if isinstance(dim, (tuple, list)):
        return squeeze_dims_op, {"dim": wrap_dims(tuple(dim), ndim, "squeeze")}
    return squeeze_dim_op, {"dim": wrap_dim(dim, ndim, "squeeze")}


@public(out=False)
def unsqueeze(input: Any, dim: Any) -> Tensor:
    """A view with a dimension of size one inserted before `dim`."""
    require_tensor("unsqueeze", input)
    dim = wrap_dim(dim, input._data.ndim + 1, "unsqueeze")
    result: Tensor = unsqueeze_op.apply((input,), {"dim": dim})
    return result


@counterpart(np.squeeze)
def _np_squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return squeeze(x, axis)


@counterpart(np.expand_dims)
def _np_expand_dims(x: Tensor, axis: Any) -> Tensor:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x._data.ndim + len(axes)
    places = {a % ndim for a in axes}
    rest = iter(x._data.shape)
    return reshape_to(x, tuple([1 if d in places else next(rest) for d in range(ndim)]))


# --- at least so many dimensions ------------------------------------------------------------------


def _at_least(name: str, grow: Any) -> Any:
    def widen(*tensors: Any) -> Any:
        if len(tensors) != 1:
            return tuple([grow(x) for x in tensor_list(name, tensors)])
        if isinstance(tensors[0], (tuple, list)):
            return tuple([grow(x) for x in tensor_list(name, tensors[0])])
        if not isinstance(tensors[0], Tensor):
            kind = type(tensors[0]).__name__
            wrong = (
                f"      didn't match because some of the arguments have invalid types: (!{kind}!)\n"
            )
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({kind}), but "
                f"expected one of:\n * (Tensor input)\n{wrong} * (tuple of Tensors "
                f"tensors)\n{wrong}"
            )
        return grow(tensors[0])

    widen.__name__ = widen.__qualname__ = name
    widen.__doc__ = (
        f"A view with at least {name[-2]} dimensions; a tuple of them for several tensors."
    )
    return public(name, method=False, out=False)(widen)


def _atleast_2d(x: Tensor) -> Tensor:
    return view_to(x, (1, 1)) if not x._data.ndim else unsqueeze(x, 0) if x._data.ndim == 1 else x


def _atleast_3d(x: Tensor) -> Tensor:
    ndim = x._data.ndim
    if not ndim:
        return view_to(x, (1, 1, 1))
    return unsqueeze(_atleast_2d(x), -1) if ndim < 3 else x


atleast_1d = _at_least("atleast_1d", lambda x: x if x._data.ndim else view_to(x, (1,)))
atleast_2d = _at_least("atleast_2d", _atleast_2d)
atleast_3d = _at_least("atleast_3d", _atleast_3d)
