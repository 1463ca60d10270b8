"""View operations that change the tensor itself: `t_`, `transpose_`, `squeeze_`, `unsqueeze_`, …

Memory stays as it is; the tensor becomes the view of what it was, and its history with it.
"""

from __future__ import annotations

from typing import Any

from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._autograd.views import bump, check_writable
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.public import FUNCTIONS, attach
from ..declare.record import Op, renamed
from .permutations import t_op, transpose_op
from .squeeze import squeeze_call, squeeze_dim_op, squeeze_dims_op, squeeze_op, unsqueeze_op
from .strided_views import as_strided_call, as_strided_op

# In-place forms have node names of their own.
_TWINS = {
    op: renamed(op, node)
    for op, node in (
        (t_op, "TBackward1"),
        (transpose_op, "TransposeBackward1"),
        (squeeze_op, "SqueezeBackward3"),
        (squeeze_dim_op, "SqueezeBackward4"),
        (squeeze_dims_op, "SqueezeBackward5"),
        (unsqueeze_op, "UnsqueezeBackward1"),
        (as_strided_op, "AsStridedBackward1"),
    )
}


_COMPRESSED = {"torch.sparse_csr": "SparseCsr", "torch.sparse_csc": "SparseCsc"}


def become(self: Tensor, op: Op, parameters: dict[str, Any]) -> Tensor:
    """Turn a tensor into a view of itself."""
    check_writable(self)
    view = apply(_TWINS[op], (self,), parameters)
    self._data = view._data
    bump(self)
    if self._base is None:
        self._became_view = True
    else:
        self._view = view._view
        if modes.grad:
            self._seen_version = self._version_box[0]
    if modes.grad:
        self._node = view._node
        self._output_nr = 0
    return self


def t_(self: Tensor) -> Tensor:
    """Transpose this matrix."""
    check_writable(self)
    if self._data.ndim > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._data.ndim}D"
        )
    return become(self, t_op, {})


def transpose_(self: Tensor, dim0: Any, dim1: Any) -> Tensor:
    """Exchange two dimensions of this tensor."""
    ndim = self._data.ndim
    layout = str(self.layout)
    if layout in _COMPRESSED:  # which would become one of another layout
        raise RuntimeError(
            f"torch.transpose_: in-place transposition is not supported for {_COMPRESSED[layout]} layout"
        )
    dims = {"dim0": wrap_dim(dim0, ndim, "transpose_"), "dim1": wrap_dim(dim1, ndim, "transpose_")}
    return become(self, transpose_op, dims)


def swapaxes_(self: Tensor, axis0: Any, axis1: Any) -> Tensor:
    """Exchange two dimensions of this tensor."""
    return transpose_(self, axis0, axis1)


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Drop this tensor's dimensions of size one: all of them, or those named that are."""
    return become(self, *squeeze_call(self, dim))


def unsqueeze_(self: Tensor, dim: Any) -> Tensor:
    """Give this tensor a dimension of size one before `dim`."""
    return become(self, unsqueeze_op, {"dim": wrap_dim(dim, self._data.ndim + 1, "unsqueeze_")})


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """Let this tensor show its storage with other sizes and strides."""
    return become(input, as_strided_op, as_strided_call(input, size, stride, storage_offset))


FUNCTIONS["as_strided_"] = as_strided_
for _method in (t_, transpose_, swapaxes_, squeeze_, unsqueeze_, as_strided_):
    attach(_method.__name__, _method)
attach("swapdims_", transpose_)
