"""Views with the dimensions in another order: transpose, permute, movedim, `.T` and the like."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._arrays.strided import spelled_out
from ..._autograd.lifted import DIRECT, counterpart
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import public
from ..declare.record import LINEAR, Op, renamed
from ..declare.samples import Sample, T
from ..declare.shapes import ints


def inverse_order(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `dims`."""
    return tuple([dims.index(d) for d in range(len(dims))])


def _swapped(x: Any, dim0: int, dim1: int) -> Any:
    if type(x) is np.ndarray and x.size and x.ndim:
        return x.swapaxes(dim0, dim1)
    return np.swapaxes(spelled_out(x), dim0, dim1) if x.ndim else x[...]


def _in_order(x: Any, dims: tuple[int, ...]) -> Any:
    if type(x) is np.ndarray and x.size:
        return x.transpose(dims)
    return np.transpose(spelled_out(x), dims)


transpose_op: Op = Op(
    "transpose",
    _swapped,
    ("x",),
    vjp={"x": lambda g, dim0, dim1: transpose_op(g, dim0=dim0, dim1=dim1)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3), 0, 1),
        Sample(T(2, 3, 4), -1, 0),
        Sample(T(2, 0), 0, 1),
        Sample(T(2, 3), 1, 1),
        Sample(T(), 0, -1),
        Sample(T(2, 3, layout="transposed"), dim0=0, dim1=1),
    ],
)
t_op: Op = Op(
    "t",
    lambda x: x.T if type(x) is np.ndarray and x.size else np.transpose(spelled_out(x)),
    ("x",),
    vjp={"x": lambda g: t_op(g)},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [Sample(T(2, 3)), Sample(T(3)), Sample(T()), Sample(T(0, 2))],
)
permute_op: Op = Op(
    "permute",
    _in_order,
    ("x",),
    vjp={"x": lambda g, dims: permute_op(g, dims=inverse_order(dims))},
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(2, 3, 4), (2, 0, 1)),
        Sample(T(2, 3, 4), (-1, 0, -2)),
        Sample(T(), ()),
        Sample(T(0, 2), dims=(1, 0)),
    ],
)


# `movedim` where there is nothing to move.
alias_op = renamed(permute_op, "AliasBackward0")


@public(out=False, aliases=("swapdims",))
@marked
def transpose(input: Any, dim0: Any, dim1: Any) -> Tensor:
    """A view with two dimensions exchanged."""
    try:
        require_tensor("transpose", input)
        return exchange(input, dim0, dim1)
    except Exception as error:
        explain(error, "transpose", (input, dim0, dim1), {}, method=True)
        raise


def exchange(input: Tensor, dim0: Any, dim1: Any) -> Tensor:
    """`transpose` of what is known to be a tensor."""
    ndim = input._data.ndim
    dims = {"dim0": wrap_dim(dim0, ndim, "transpose"), "dim1": wrap_dim(dim1, ndim, "transpose")}
    result: Tensor = transpose_op.apply((input,), dims)
    return result


@public(out=False)
def swapaxes(input: Any, axis0: Any, axis1: Any) -> Tensor:
    """A view with two dimensions exchanged; NumPy's name for `transpose`."""
    return transpose(input, axis0, axis1)


@public(out=False)
@marked
def t(input: Any) -> Tensor:
    """A view of a matrix transposed; fewer than two dimensions stay as they are."""
    try:
        require_tensor("t", input)
        if input._data.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {input._data.ndim}D"
            )
        result: Tensor = t_op.apply((input,))
        return result
    except Exception as error:
        explain(error, "t", (input,), {}, method=True)
        raise


def permute_to(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """`permute` with dimensions that have been parsed."""
    ndim = input._data.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    for d in dims:
        if not 0 <= d < ndim:
            dims = tuple([wrap_dim(d, ndim, "permute", "dims") for d in dims])
            break
    if len(set(dims)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    result: Tensor = permute_op.apply((input,), {"dims": dims})
    return result


@public("permute", function=False, out=False)
@marked
def permute_method(self: Tensor, *dims: Any, **given: Any) -> Tensor:
    """A view with its dimensions in the given order."""
    try:
        return permute_to(self, ints("permute", "dims", dims, given))
    except Exception as error:
        explain(error, "permute", (self, *dims), given, method=True)
        raise


@public(method=False, out=False)
def permute(input: Any, dims: Any) -> Tensor:
    """A view with its dimensions in the given order."""
    require_tensor("permute", input)
    return permute_to(input, ints("permute", "dims", (dims,), {}))


@public(out=False, aliases=("moveaxis",))
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """A view with the dimensions `source` moved to the places `destination`."""
    require_tensor("movedim", input)
    ndim = input._data.ndim
    given = [list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain "
            f"the same number of dims as destination ({given[1]} dims)"
        )
    wrapped = []
    for what, dims in zip(("source", "destination"), given, strict=True):
        found = [wrap_dim(d, ndim, "movedim", what) for d in dims]
        if len(set(found)) != len(found):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
        wrapped.append(found)
    if not ndim:
        same: Tensor = alias_op.apply((input,), {"dims": ()})
        return same
    rest = iter([d for d in range(ndim) if d not in wrapped[0]])
    places = dict(zip(wrapped[1], wrapped[0], strict=True))
    return permute_to(input, tuple([places[d] if d in places else next(rest) for d in range(ndim)]))


_transpose_in_rule = transpose_op.function("apply_in_rule")


def _turned(input: Tensor, ndim: int) -> Tensor | None:
    """A view of matrices with their rows as columns; None of what has fewer than two dimensions."""
    if ndim < 2:
        return None
    found: Tensor = _transpose_in_rule((input,), {"dim0": ndim - 1, "dim1": ndim - 2})
    return found


DIRECT["turned"] = _turned


@counterpart(np.transpose)
def _np_transpose(x: Tensor, axes: Any = None) -> Tensor:
    return permute_to(x, tuple(range(x._data.ndim))[::-1] if axes is None else tuple(axes))


counterpart(np.swapaxes)(transpose)
counterpart(np.moveaxis)(movedim)


def _deprecated(what: str, instead: str) -> None:
    warnings.warn(
        f"{what} is deprecated on 0-D tensors. {instead}", UserWarning, stacklevel=warning_level()
    )


_IDENTITY = "This function is the identity in these cases."


def _reversed(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    ndim = self._data.ndim
    if ndim > 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=warning_level(),
        )
    elif not ndim:
        _deprecated("Tensor.T", _IDENTITY)
    dims = tuple(range(ndim - 1, -1, -1))
    result: Tensor = permute_op.apply((self,), {"dims": dims})
    return result


def _matrices(self: Tensor, what: str, instead: str) -> Tensor:
    if not self._data.ndim:
        _deprecated(what if "(" in what else f"Tensor.{what}", instead)
        return self
    if self._data.ndim == 1:
        raise RuntimeError(
            f"tensor.{what} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return exchange(self, -2, -1)


def _conjugate(x: Tensor) -> Tensor:
    conjugate: Any = x
    return conjugate.conj() if x._data.dtype.kind == "c" else x


def _transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    return _matrices(self, "mT", _IDENTITY)


def _adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and the conjugate taken."""
    return _conjugate(_matrices(self, "mH", "Consider using x.conj()."))


def _hermitian(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    ndim = self._data.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
        )
    return _conjugate(_matrices(self, "H", "Consider using x.conj()."))


@public(out=False)
def adjoint(input: Any) -> Tensor:
    """The last two dimensions exchanged, and the conjugate taken."""
    require_tensor("adjoint", input)
    return _conjugate(_matrices(input, "adjoint()", "Consider using x.conj()."))


_tensor: Any = Tensor
_tensor.T, _tensor.mT = property(_reversed), property(_transposed)
_tensor.H, _tensor.mH = property(_hermitian), property(_adjoint)
