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

from ..._arrays.dtypes import HALF_CODES
from ..._autograd.apply import edge_of
from ..._autograd.modes import modes, shared
from ..._autograd.node import NO_PARAMETERS, Node, next_sequence, node_type
from ..._tensor.tensor import Tensor, current_node, make
from ..._user_code.owners import internal
from .record import REGISTRY

_ndarray = np.ndarray
_FLOAT32 = np.dtype(np.float32)
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


def _affine(x: Any, y: Any, z: Any) -> Any:
    product = np.matmul(x, y)
    product += z
    return product


def _in_half(name: str, *arrays: Any) -> Any:
    """A product of half precision by a kernel that takes it as it is; None where there is none."""
    kernel = REGISTRY[name].half_kernel
    return None if kernel is None else kernel(*arrays)


def fast_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """`input @ weight.T + bias` for matrices: `mm` or `addmm` of the transposed weight.

    The layer that every network is made of: all is written out here, for a call costs as much as
    ten of these lines.
    """
    if shared.ordinary:
        recording: bool | None = True
        quietly = shared.quietly
    else:
        recording, quietly = modes.way
        if recording is None:
            return None
    x, w = input._data, weight._data
    kind = type(x)
    if kind is not _ndarray and not hasattr(kind, "raw"):
        return None
    if type(w) is not kind:
        return None
    dtype = x.dtype
    half = False
    if w.dtype is not dtype or (dtype is not _FLOAT32 and dtype.char not in _FLOATS):
        half = kind is not _ndarray and dtype.char in HALF_CODES and w.dtype == dtype
        if not half:
            return None
    shape, weight_shape = x.shape, w.shape
    if len(shape) != 2 or len(weight_shape) != 2 or shape[1] != weight_shape[1]:
        return None
    y = w.T
    try:
        if bias is None:
            data = _in_half("mm", x, y) if half else quietly(np.matmul, x, y)
        else:
            z = bias._data
            if type(z) is not kind or (z.dtype != dtype if half else z.dtype is not dtype):
                return None
            if z.shape != weight_shape[:1] and z.shape != (shape[0], weight_shape[0]):
                return None
            if kind is _ndarray:
                data = quietly(_affine, x, y, z)
            elif half:
                data = _in_half("addmm", z, x, y)
            else:
                data = _types["addmm"].op.forward(z, x, y)
        if data is None:
            return None
    except RuntimeError:  # another thread is in there: see `shared`
        return None
    out = make(data)
    if not recording:
        return out

    first: Any = input._node if input._base is None else current_node(input)
    if first is None and input._requires_grad:
        first = input
    second: Any = weight._node if weight._base is None else current_node(weight)
    if second is None and weight._requires_grad:
        second = weight
    added: Any = None if bias is None else edge_of(bias)
    if first is None and second is None and added is None:
        return out
    if input._is_inference or weight._is_inference:
        return None
    frame = _getframe(1)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    instruction = frame.f_lasti
    steps = w.strides
    columns = steps[1] < steps[0]  # of the transposed weight
    versions = []
    if second is not None:
        turned: Node = _types["t"]()
        turned.edges = (second,)
        if weight._output_nr:
            turned.edge_nrs = (weight._output_nr,)
        turned.mark = 0
        turned.sequence = next_sequence()
        turned.shape = y.shape
        turned.dtype = dtype
        turned.code = code
        turned.instruction = instruction
        second = turned
    node: Node
    saved: list[Any]
    if bias is None:
        out._node = node = _types["mm"]()
        node.edges = (first, second)
        node.parameters = COLUMNS if columns else ROWS
        node.saved = saved = [None, None, None]
        at = 0
    else:
        out._node = node = _types["addmm"]()
        node.edges = (added, first, second)
        node.parameters = _ADDED_COLUMNS if columns else _ADDED_ROWS
        node.saved = saved = [None, None, None, None]
        at = 1
    if second is not None:
        saved[at] = x
        box = input._version_box
        versions.append((box, box[0], at))
    if first is not None:
        saved[at + 1] = y
        box = weight._version_box
        versions.append((box, box[0], at + 1))
    node.versions = versions
    if input._output_nr or (bias is not None and bias._output_nr):
        numbers = (input._output_nr, 0)
        node.edge_nrs = numbers if bias is None else (bias._output_nr, *numbers)
    node.mark = 0
    node.sequence = next_sequence()
    node.shape = data.shape
    node.dtype = dtype
    node.code = code
    node.instruction = instruction
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
