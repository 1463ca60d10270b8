"""`lstm`, `gru`, `rnn_tanh`, `rnn_relu`: layers upon layers, in one or two directions; and their cells.

Each comes in two forms, as in PyTorch: of a padded sequence, and of the rows of a packed one with the
number of rows per step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...._arrays.formats import preserve_format
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.dims import wrap_dim
from ...declare.public import NN_FUNCTIONAL
from ...declare.record import Op, renamed
from ...linalg.products.product_checks import SPELLED, spoken
from ...shape.joining import cat, stack
from ...shape.permutations import transpose_op
from ...shape.rearranging import clone_op
from ..dropouts import dropout as dropped
from ..losses.reduction import function
from .elman import rnn_relu_layer_op, rnn_tanh_layer_op
from .gru import gru_layer_op
from .lstm import lstm_layer_op

_EXTRA: dict[str, dict[str, Any]] = {
    "rnn_tanh": {"rectified": False},
    "rnn_relu": {"rectified": True},
}
_OPS = {
    "lstm": lstm_layer_op,
    "gru": gru_layer_op,
    "rnn_tanh": rnn_tanh_layer_op,
    "rnn_relu": rnn_relu_layer_op,
}
_SWAPPED = {"dim0": 0, "dim1": 1}


@functools.cache
def _named(kind: str, node: str) -> Op:
    op = _OPS[kind]
    return op if op.node_name == node else renamed(op, node)


@functools.cache
def _transposing(kind: str) -> Op:
    """PyTorch transposes the results of an LSTM out of place, those of others in place."""
    return transpose_op if kind == "lstm" else renamed(transpose_op, "TransposeBackward1")


def _node(kind: str, input: Tensor, sizes: Any, projected: bool) -> str:
    """What PyTorch's last operation of a layer is called."""
    if sizes is not None:
        return "CatBackward0"
    fused = kind == "lstm" and not projected and input._data.size
    if fused and input.dtype.name in ("float32", "bfloat16"):
        return "MkldnnRnnLayerBackward0"
    return "StackBackward0"


def _run(kind: str, given: dict[str, Any]) -> tuple[Tensor, ...]:
    """All layers: the output, and the final states of all layers and directions stacked."""
    batch_sizes = given.get("batch_sizes")
    input = given["input" if batch_sizes is None else "data"]
    hx, params, biased = given["hx"], given["params"], given["has_biases"]
    num_layers, dropout = given["num_layers"], given["dropout"]
    directions = 2 if given["bidirectional"] else 1
    batch_first = given.get("batch_first", False)
    if kind == "lstm" and len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    states = list(hx) if kind == "lstm" else [hx]
    projected = kind == "lstm" and hx[0].size(2) != hx[1].size(2)
    each = (4 if biased else 2) + projected
    if len(params) % each:
        raise RuntimeError(
            "got an incorrect number of RNN parameters"
            if biased
            else f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {each}"
        )
    for place, weight in enumerate(params):
        wanted = 1 if biased and place % each in (2, 3) else 2
        if weight._data.ndim != wanted:
            raise RuntimeError(
                f"{kind}: params[{place}] must have {wanted} dimensions, but has {weight._data.ndim}"
            )
    if batch_first:
        input = input.transpose(0, 1)
    if input._data.dtype.kind in "biuc":
        _refuse_kind(kind, input, biased)
    if batch_sizes is None:
        steps, batch = input._data.shape[:2]
        sizes = (batch,) * steps
    else:
        sizes = tuple(batch_sizes.tolist())
    if not sizes:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    op = _named(kind, _node(kind, input, batch_sizes, projected))
    by_layer = [state.unbind(0) for state in states]
    finals: list[list[Any]] = [[] for _ in states]
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            at = layer * directions + direction
            initial = [state[at] for state in by_layer]
            own = params[at * each : (at + 1) * each]
            weights = _weights(own, biased, kind == "lstm")
            parameters = {"sizes": sizes, "reverse": direction == 1, **_EXTRA.get(kind, {})}
            results = apply(op, (input, *initial, *weights), parameters)
            outs.append(results[0])
            for final, result in zip(finals, results[1:], strict=False):
                final.append(result)
        input = outs[0] if directions == 1 else cat(outs, -1)
        if dropout and given["train"] and layer < num_layers - 1:
            input = dropped(input, dropout)
    if batch_first:
        input = _transposing(kind).apply((input,), _SWAPPED)
    return (input, *(stack(final) for final in finals))


def _refuse_kind(kind: str, input: Tensor, biased: bool) -> None:
    """PyTorch computes with integers until they meet the first gate, in the words of that."""
    name = spoken(input)
    if input.dtype.is_complex:
        if kind == "rnn_relu":
            raise NotImplementedError("clamp is not supported for complex types")
    elif name == "Bool":
        flags = getattr(input._data, "flags", None)
        in_order = biased and (flags is None or flags.c_contiguous)
        kernel = "addmm_impl_cpu_" if in_order or input._data.ndim == 2 else "bmm"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    elif kind == "rnn_tanh":
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got Float and {name}"
            if biased
            else f"expected m1 and m2 to have the same dtype, but got: float != {SPELLED[name]}"
        )
    elif kind != "rnn_relu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")


def _weights(own: Any, biased: bool, projectable: bool) -> list[Any]:
    """w_ih, w_hh, b_ih, b_hh and, for an LSTM, w_hr: with None for what there is not."""
    found = list(own[:2])
    found += list(own[2:4]) if biased else [None, None]
    rest = own[4:] if biased else own[2:]
    return [*found, rest[0] if rest else None] if projectable else found


_PADDED = (
    "input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional",
    "batch_first",
)  # fmt: skip
_PACKED = ("data", "batch_sizes", *_PADDED[1:-1])


def _declare(kind: str, doc: str) -> Callable[..., tuple[Tensor, ...]]:
    def recurrent(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        padded = "input" in kwargs or "batch_first" in kwargs or len(args) > 2
        if len(args) > 2:
            padded = not isinstance(args[2], Tensor) and not _is_packed(kind, args)
        names = _PADDED if padded else _PACKED
        given: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        return _run(kind, given)

    recurrent.__name__ = recurrent.__qualname__ = kind
    recurrent.__doc__ = doc
    return function(recurrent)


def _is_packed(kind: str, args: Any) -> bool:
    """Whether the second argument is the sizes of steps: states come third."""
    return kind == "lstm" and isinstance(args[1], Tensor)


lstm = _declare("lstm", "LSTM layers over a sequence: the output, and the final h and c.")
gru = _declare("gru", "GRU layers over a sequence: the output, and the final state.")
rnn_tanh = _declare("rnn_tanh", "Layers of h' = tanh(…) over a sequence, and the final state.")
rnn_relu = _declare("rnn_relu", "Layers of h' = relu(…) over a sequence, and the final state.")


# --- cells: one step ------------------------------------------------------------------------------


def _extent(tensor: Tensor, dim: int) -> int:
    shape: tuple[int, ...] = tensor._data.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[wrap_dim(dim, len(shape))]


def _check_cell(input: Tensor, states: Any, w_ih: Tensor, w_hh: Tensor) -> None:
    expected, width = _extent(w_ih, 1), _extent(input, 1)
    if width != expected:
        raise RuntimeError(f"input has inconsistent input_size: got {width} expected {expected}")
    hidden, batch = _extent(w_hh, 1), _extent(input, 0)
    for i, state in enumerate(states):
        if _extent(state, 0) != batch:
            raise RuntimeError(
                f"Input batch size {batch} doesn't match hidden{i} batch size {_extent(state, 0)}"
            )
        if _extent(state, 1) != hidden:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {_extent(state, 1)}, expected {hidden}"
            )


def _is_usual(states: Any, *given: Any) -> bool:
    """Whether a cell has floats, matrices, and biases with an element for each of their rows."""
    *matrices, w_ih, w_hh, b_ih, b_hh = given
    gates, hidden = w_hh._data.shape[0], w_hh._data.shape[-1]
    return (
        all(x._data.ndim == 2 for x in (*states, *matrices, w_ih, w_hh))
        and all(x is None or x.dtype.is_floating_point for x in (*states, *given))
        and w_ih._data.shape[0] == gates
        and gates in (hidden, 3 * hidden, 4 * hidden)
        and all(b is None or b._data.shape == (gates,) for b in (b_ih, b_hh))
    )


def _spelled_out(kind: str, input: Any, states: Any, weights: Any) -> Any:
    """A step in the operations of which it consists, for whatever these take."""
    linear = NN_FUNCTIONAL["linear"]
    w_ih, w_hh, b_ih, b_hh = weights
    hidden: Any = states[0]
    from_input, from_hidden = linear(input, w_ih, b_ih), linear(hidden, w_hh, b_hh)
    if kind == "gru":
        reset, update, new = from_input.chunk(3, 1)
        reset_, update_, new_ = from_hidden.chunk(3, 1)
        new = (new + new_ * (reset + reset_).sigmoid_()).tanh_()  # in place, as integers cannot be
        return ((hidden - new) * (update + update_).sigmoid_() + new,)
    gates = from_hidden + from_input
    if kind == "lstm":
        enter, forget, cell, leave = gates.unsafe_chunk(4, 1)
        c = forget.sigmoid_() * states[1] + enter.sigmoid_() * cell.tanh_()
        return leave.sigmoid_() * c.tanh(), None, c
    return (gates.relu() if kind == "rnn_relu" else gates.tanh(),)


def _step(
    kind: str, node: str, input: Any, states: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> Any:
    _check_cell(input, states, w_ih, w_hh)
    _check_gates(kind, states[0], w_ih, w_hh)
    if not _is_usual(states, input, w_ih, w_hh, b_ih, b_hh):
        return _spelled_out(kind, input, states, (w_ih, w_hh, b_ih, b_hh))
    for x, w in ((input, w_ih), (states[0], w_hh)):
        if x.dtype != w.dtype:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {spoken(x)} and {spoken(w)}"
            )
    if (b_ih is None) != (b_hh is None):  # a bias of zeros for the other
        some = b_ih if b_hh is None else b_hh
        b_ih, b_hh = (some.new_zeros(some.shape) if b is None else b for b in (b_ih, b_hh))
    given = [w_ih, w_hh, b_ih, b_hh] + ([None] if kind == "lstm" else [])
    parameters = {"sizes": (input._data.shape[0],), "reverse": False, **_EXTRA.get(kind, {})}
    return apply(_named(kind, node), (input, *states, *given), parameters)


def _check_gates(kind: str, hidden: Any, w_ih: Any, w_hh: Any) -> None:
    """Refuse weights that have not a row for each gate of each hidden unit."""
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    for label, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if not isinstance(weight, Tensor) or not isinstance(hidden, Tensor) or not hidden.dim():
            continue
        wanted = gates * hidden.shape[-1]
        if weight.dim() and weight.shape[0] != wanted:
            raise RuntimeError(
                f"{label} first dim must be {gates} * hidden_size = {wanted}, but got "
                f"{weight.shape[0]}"
            )


def _cell(kind: str, node: str) -> Any:
    """One step of a recurrence with one state, as a public function."""

    def cell(
        input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
    ) -> Tensor:
        found: Tensor = _step(kind, node, input, [hx], w_ih, w_hh, b_ih, b_hh)[0]
        return found

    cell.__name__ = cell.__qualname__ = f"{kind}_cell"
    cell.__doc__ = f"One step of `{kind}`."
    return function(cell)


rnn_tanh_cell = _cell("rnn_tanh", "TanhBackward0")
rnn_relu_cell = _cell("rnn_relu", "ReluBackward0")
gru_cell = _cell("gru", "AddBackward0")


@functools.cache
def _sum_of_cells() -> Op:
    return renamed(clone_op, "AddBackward0")


@function
def lstm_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> tuple[Tensor, Tensor]:
    """One step of `lstm`: h and c."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, _, c, *_ = _step("lstm", "MulBackward0", input, hx, w_ih, w_hh, b_ih, b_hh)
    return h, apply(_sum_of_cells(), (c,), {"memory_format": preserve_format})
