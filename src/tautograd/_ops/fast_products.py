"""The short way for the products people type: `a @ b`, `mm`, `linear`.

Two plain float tensors whose shapes fit need no checks but the ones made here, so the product is
one call of BLAS and its nodes are written down by hand. Where something is out of the ordinary the
answer is None, and the caller takes the general way, which gives the same result. A product of
batches has the nodes that a user meets (`UnsafeViewBackward0` over `BmmBackward0`); the views that
PyTorch puts below them, which change nothing, are left out.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

import numpy as np

from .._autograd.modes import modes
from .._autograd.node import Node, next_sequence, node_type
from .._autograd.sites import internal
from .._tensor.tensor import Tensor, current_node, make
from .added_products import addmm_op
from .permutations import t_op
from .products import COLUMNS, ROWS, bmm_op, mm_op
from .views import unsafe_view_op

_ndarray = np.ndarray
_FLOATS = frozenset("fdFD")
_LINEAR = {columns: {"beta": 1, "alpha": 1, "columns": columns} for columns in (False, True)}


def _edge(x: Tensor) -> Any:
    """What produced a tensor; see `edge_of` in _autograd/apply.py."""
    if x._base is not None:
        current_node(x)
    node: Any = x._node
    return x if node is None and x._requires_grad else node


def _place(node: Node, data: Any) -> Node:
    """Where, when and what a node stands for."""
    node.sequence = next_sequence()
    node.shape = data.shape
    node.dtype = data.dtype
    frame = _getframe(3)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    node.code = code
    node.instruction = frame.f_lasti
    return node


def _product_node(op: Any, a: Tensor, b: Tensor, x: Any, y: Any, parameters: Any) -> Any:
    """A node for a product of two; None where neither wants a gradient."""
    first, second = _edge(a), _edge(b)
    if first is None and second is None:
        return None
    node = node_type(op)()
    node.edges = (first, second)
    if a._output_nr or b._output_nr:
        node.edge_nrs = (a._output_nr, b._output_nr)
    saved: list[Any] = [None, None, None]
    versions: list[Any] = []
    if second is not None:
        saved[0] = x
        box = a._version_box
        versions.append((box, box[0], 0))
    if first is not None:
        saved[1] = y
        box = b._version_box
        versions.append((box, box[0], 1))
    node.saved, node.versions, node.shapes = saved, versions, None
    node.parameters = parameters
    return node


def fast_matmul(a: Tensor, b: Tensor) -> Tensor | None:
    """The product of two matrices, or of two batches of matrices with the same batch shape."""
    recording, quietly = modes.way
    if recording is None:
        return None
    x, y = a._data, b._data
    if type(x) is not _ndarray or type(y) is not _ndarray:
        return None
    if x.dtype is not y.dtype or x.dtype.char not in _FLOATS:
        return None
    rank = x.ndim
    if rank < 2 or y.ndim != rank:
        return None
    if x.shape[-1] != y.shape[-2] or (rank > 2 and x.shape[:-2] != y.shape[:-2]):
        return None
    out = make(quietly(np.matmul, x, y))
    if recording:
        data = out._data
        if rank == 2:
            strides = y.strides
            parameters = COLUMNS if strides[0] < strides[1] else ROWS
            node = _product_node(mm_op, a, b, x, y, parameters)
            out._node = None if node is None else _place(node, data)
            return out
        inner = _product_node(bmm_op, a, b, x, y, {})
        if inner is not None:
            node = node_type(unsafe_view_op)()
            node.edges = (_place(inner, data),)
            node.shapes = (data.shape,)
            node.parameters = {"size": data.shape}
            out._node = _place(node, data)
    return out


def fast_linear(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """`input @ weight.T + bias` for matrices, as one `addmm` of the transposed weight."""
    recording, quietly = modes.way
    if recording is None:
        return None
    x, w, b = input._data, weight._data, bias._data
    if type(x) is not _ndarray or type(w) is not _ndarray or type(b) is not _ndarray:
        return None
    dtype = x.dtype
    if w.dtype is not dtype or b.dtype is not dtype or dtype.char not in _FLOATS:
        return None
    if x.ndim != 2 or w.ndim != 2 or b.ndim != 1:
        return None
    if x.shape[1] != w.shape[1] or b.shape[0] != w.shape[0]:
        return None
    turned = w.T
    out = make(quietly(_affine, x, turned, b))
    if not recording:
        return out
    first, second, third = _edge(bias), _edge(input), _edge(weight)
    if first is None and second is None and third is None:
        return out
    saved: list[Any] = [None, None, None, None]
    versions: list[Any] = []
    if third is not None:
        turning = node_type(t_op)()
        turning.edges = (third,)
        turning.shapes = None
        if weight._output_nr:
            turning.edge_nrs = (weight._output_nr,)
        third = _place(turning, turned)
        saved[1] = x
        box = input._version_box
        versions.append((box, box[0], 1))
    if second is not None:
        saved[2] = turned
        box = weight._version_box
        versions.append((box, box[0], 2))
    node = node_type(addmm_op)()
    node.edges = (first, second, third)
    if input._output_nr or bias._output_nr:
        node.edge_nrs = (bias._output_nr, input._output_nr, 0)
    node.saved, node.versions, node.shapes = saved, versions, None
    strides = turned.strides
    node.parameters = _LINEAR[strides[0] < strides[1]]
    out._node = _place(node, out._data)
    return out


def _affine(x: Any, y: Any, b: Any) -> Any:
    product = np.matmul(x, y)
    product += b
    return product
