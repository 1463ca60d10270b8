"""The short way for the products people type: `a @ b`, `mm`, `addmm`, `linear`.

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

from .._autograd.apply import edge_of
from .._autograd.modes import modes
from .._autograd.node import NO_PARAMETERS, Node, next_sequence, node_type
from .._autograd.sites import internal
from .._tensor.tensor import Tensor, make
from .record import REGISTRY

_ndarray = np.ndarray
_FLOATS = frozenset("fdFD")
# Whether the second matrix lies in memory by columns: its gradient will, too.
ROWS = {"columns": False}
COLUMNS = {"columns": True}
_ADDED_ROWS = {"beta": 1, "alpha": 1, "columns": False}
_ADDED_COLUMNS = {"beta": 1, "alpha": 1, "columns": True}


class _NodeTypes(dict[str, Any]):
    """The classes of nodes, by the names of their records, found when first needed."""

    def __missing__(self, name: str) -> Any:
        found = self[name] = node_type(REGISTRY[name])
        return found


_types = _NodeTypes()


def _by_column(array: Any) -> bool:
    strides = array.strides
    return bool(strides[0] < strides[1])


def _placed(node: Node, data: Any) -> Node:
    """A node with what it stands for, when and where."""
    node.shapes = None
    node.mark = 0
    node.sequence = next_sequence()
    node.shape = data.shape
    node.dtype = data.dtype
    frame = _getframe(2)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    node.code = code
    node.instruction = frame.f_lasti
    return node


def _noted(
    name: str, edges: tuple[Any, ...], numbers: Any, x: Any, xs: Any, y: Any, ys: Any, data: Any
) -> Node:
    """A node for the product of x and y, its last two inputs, each with its box of versions; either
    is saved where the other wants a gradient."""
    node: Node = _types[name]()
    node.edges = edges
    if any(numbers):
        node.edge_nrs = numbers
    count = len(edges)
    node.saved = saved = [None] * (count + 1)
    node.versions = versions = []
    if edges[-1] is not None:
        saved[count - 2] = x
        versions.append((xs, xs[0], count - 2))
    if edges[-2] is not None:
        saved[count - 1] = y
        versions.append((ys, ys[0], count - 1))
    return _placed(node, data)


def _turned(weight: Tensor, edge: Any, data: Any) -> Any:
    """A node for `weight.t()`."""
    if edge is None:
        return None
    node: Node = _types["t"]()
    node.edges = (edge,)
    if weight._output_nr:
        node.edge_nrs = (weight._output_nr,)
    return _placed(node, data)


def fast_matmul(a: Tensor, b: Tensor) -> Tensor | None:
    """The product of two vectors or matrices, or of two batches of them of the same shape."""
    recording, quietly = modes.way
    x, y = a._data, b._data
    if recording is None or type(x) is not _ndarray or type(y) is not _ndarray:
        return None
    if x.dtype is not y.dtype or x.dtype.char not in _FLOATS:
        return None
    if a._is_inference or b._is_inference:
        return None
    rank, other = x.ndim, y.ndim
    if rank == 2 and other:
        if other > 2 or x.shape[1] != y.shape[0]:
            return None
        name = "mm" if other == 2 else "mv"
    elif rank == 1 and other == 1 and x.shape == y.shape:
        name = "dot"
    elif rank < 3 or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        return None
    else:
        name = "bmm"
    parameters = NO_PARAMETERS if name != "mm" else COLUMNS if _by_column(y) else ROWS
    out = make(quietly(_types[name].op.forward, x, y, **parameters))
    if not recording:
        return out
    edges = (edge_of(a), edge_of(b))
    if edges == (None, None):
        return out
    data = out._data
    numbers = (a._output_nr, b._output_nr)
    node = _noted(name, edges, numbers, x, a._version_box, y, b._version_box, data)
    node.parameters = parameters
    if name == "bmm":
        view: Node = _types["unsafe_view"]()
        view.edges = (node,)
        view.parameters = {"size": data.shape}
        node = _placed(view, data)
        node.shapes = (data.shape,)
    out._node = node
    return out


def _fit(x: Any, y: Any, z: Any) -> bool:
    """Whether these are float matrices of one dtype, and a vector or matrix to add."""
    if type(x) is not _ndarray or type(y) is not _ndarray or type(z) is not _ndarray:
        return False
    dtype = x.dtype
    if y.dtype is not dtype or z.dtype is not dtype or dtype.char not in _FLOATS:
        return False
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        return False
    return bool(z.shape == (y.shape[1],) or z.shape == (x.shape[0], y.shape[1]))


def fast_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor | None:
    """`input + mat1 @ mat2`, the input a row or of the shape of the result."""
    recording, quietly = modes.way
    x, y, z = mat1._data, mat2._data, input._data
    if recording is None or mat1._is_inference or mat2._is_inference or not _fit(x, y, z):
        return None
    parameters = _ADDED_COLUMNS if _by_column(y) else _ADDED_ROWS
    out = make(quietly(_types["addmm"].op.forward, z, x, y, **parameters))
    if recording:
        edge, box = edge_of(mat2), mat2._version_box
        _note_sum(out, input, mat1, y, edge, mat2._output_nr, box, parameters)
    return out


def fast_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """`input @ weight.T + bias` for matrices: `mm` or `addmm` of the transposed weight."""
    recording, quietly = modes.way
    x, w = input._data, weight._data
    if recording is None or type(w) is not _ndarray or w.ndim != 2:
        return None
    if input._is_inference or weight._is_inference:
        return None
    y = w.T
    if bias is not None:
        z = bias._data
        if not _fit(x, y, z):
            return None
        parameters = _ADDED_COLUMNS if _by_column(y) else _ADDED_ROWS
        out = make(quietly(_types["addmm"].op.forward, z, x, y, **parameters))
        if recording:
            edge = _turned(weight, edge_of(weight), y)
            _note_sum(out, bias, input, y, edge, 0, weight._version_box, parameters)
        return out
    if type(x) is not _ndarray or x.ndim != 2 or x.shape[1] != w.shape[1]:
        return None
    if x.dtype is not w.dtype or x.dtype.char not in _FLOATS:
        return None
    layout = COLUMNS if _by_column(y) else ROWS
    out = make(quietly(_types["mm"].op.forward, x, y, **layout))
    if recording:
        edges = (edge_of(input), _turned(weight, edge_of(weight), y))
        if edges != (None, None):
            data, numbers, boxes = out._data, (input._output_nr, 0), weight._version_box
            node = _noted("mm", edges, numbers, x, input._version_box, y, boxes, data)
            node.parameters = layout
            out._node = node
    return out


def _note_sum(
    out: Tensor,
    input: Tensor,
    mat1: Tensor,
    y: Any,
    edge: Any,
    number: int,
    box: Any,
    parameters: dict[str, Any],
) -> None:
    """The node of an `addmm`, where one of its inputs wants a gradient."""
    edges = (edge_of(input), edge_of(mat1), edge)
    if edges == (None, None, None):
        return
    numbers = (input._output_nr, mat1._output_nr, number)
    x, data = mat1._data, out._data
    node = _noted("addmm", edges, numbers, x, mat1._version_box, y, box, data)
    node.parameters = parameters
    out._node = node
