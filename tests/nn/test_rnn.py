"""Recurrent layers and cells on both engines, over their options.

Each row is a constructor. Made from the same seed, a module must have the same parameters, print the same, and
give the same outputs, states and gradients, while training (with dropout) and in evaluation.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

from tests.both import same
from tests.nn.models import gradients

warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
pytestmark = pytest.mark.filterwarnings(
    "ignore:LSTM with projections is not supported with oneDNN",
    "ignore:dropout option adds dropout after all but last",
)

OPTIONS = [
    "",
    "bias=False",
    "batch_first=True",
    "num_layers=2",
    "bidirectional=True",
    "num_layers=2, dropout=0.4",
    "num_layers=3, bidirectional=True, dropout=0.3, batch_first=True",
    "dtype=torch.float64",
    "num_layers=2, bias=False, bidirectional=True, dtype=torch.float64",
]
PROJECTED = ["proj_size=2", "num_layers=2, bidirectional=True, proj_size=3, dropout=0.5"]
LAYERS = [
    *(f"{kind}(3, 4, {options})" for kind in ("RNN", "LSTM", "GRU") for options in OPTIONS),
    *(f"LSTM(3, 4, {options})" for options in PROJECTED),
    "RNN(3, 4, 2, 'relu', True)",
    "RNN(3, 4, nonlinearity='relu', bias=False)",
]


def made(torch: Any, constructor: str) -> Any:
    return eval("torch.nn." + constructor, {"torch": torch})


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def pull(torch: Any, *outs: Any) -> None:
    """Backward from a weighted sum of everything."""
    total = sum((out * torch.randn(out.shape, dtype=out.dtype)).sum() for out in outs)
    total.backward()


def states_for(torch: Any, module: Any, batch: int) -> Any:
    count = module.num_layers * (2 if module.bidirectional else 1)
    dtype = next(module.parameters()).dtype
    widths = [module.proj_size or module.hidden_size]
    if module.mode == "LSTM":
        widths.append(module.hidden_size)
    made = tuple(torch.randn(count, batch, w, dtype=dtype, requires_grad=True) for w in widths)
    return made if module.mode == "LSTM" else made[0]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("given", [True, False], ids=["state", "no state"])
@pytest.mark.parametrize("constructor", LAYERS)
@same
def test_layers(torch, constructor, given, training):
    module = made(torch, constructor).train(training)
    x = torch.randn(5, 2, 3, dtype=next(module.parameters()).dtype, requires_grad=True)
    state = states_for(torch, module, 5 if module.batch_first else 2) if given else None
    out, hidden = module(x, state)
    pull(torch, out, *several(hidden))
    return [
        repr(module),
        out,
        out.grad_fn,
        out.stride(),
        several(hidden),
        x.grad,
        [s.grad for s in several(state)] if given else None,
        gradients(module),
        dict(module.state_dict()),
        torch.rand(2),
    ]


@pytest.mark.parametrize("constructor", LAYERS)
@same
def test_unbatched(torch, constructor):
    module = made(torch, constructor).eval()
    dtype = next(module.parameters()).dtype
    x = torch.randn(5, 3, dtype=dtype, requires_grad=True)
    out, hidden = module(x)
    state = states_for(torch, module, 1)
    flat = tuple(s.squeeze(1) for s in several(state))
    again, final = module(x, flat if module.mode == "LSTM" else flat[0])
    pull(torch, out, again, *several(hidden), *several(final))
    return [out, again, several(hidden), several(final), x.grad, gradients(module)]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("in_order", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("constructor", LAYERS)
@same
def test_packed(torch, constructor, in_order, training):
    module = made(torch, constructor).train(training)
    dtype = next(module.parameters()).dtype
    x = torch.randn(5, 4, 3, dtype=dtype, requires_grad=True)
    lengths = [5, 3, 3, 1] if in_order else [3, 1, 5, 3]
    rnn = torch.nn.utils.rnn
    state = states_for(torch, module, 4)
    seen = []
    for hx in (None, state):
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=in_order)
        out, hidden = module(packed, hx)
        padded, counts = rnn.pad_packed_sequence(out)
        pull(torch, padded, *several(hidden))
        seen += [out.data, out.batch_sizes, padded, counts, several(hidden)]
    return [*seen, x.grad, [s.grad for s in several(state)], gradients(module)]


@pytest.mark.parametrize("constructor", ["RNN(2, 3, 2)", "LSTM(2, 3)", "GRU(2, 3)"])
@same
def test_second_order(torch, constructor):
    module = made(torch, constructor).double()
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    out, _ = module(x)
    (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    grad.square().sum().backward()
    return [x.grad, gradients(module)]


@pytest.mark.parametrize("constructor", ["RNN(2, 3)", "LSTM(2, 3, proj_size=2)", "GRU(2, 3)"])
@same
def test_forward_mode(torch, constructor):
    module = made(torch, constructor).double()
    x, t = (torch.randn(3, 2, 2, dtype=torch.float64) for _ in range(2))
    return torch.func.jvp(lambda x: module(x)[0], (x,), (t,))


@same
def test_functional_call_and_replaced_weights(torch):
    module = torch.nn.LSTM(2, 3)
    x = torch.randn(4, 1, 2)
    doubled = {name: p.detach() * 2 for name, p in module.named_parameters()}
    called = torch.func.functional_call(module, doubled, (x,))[0]
    module.weight_hh_l0 = torch.nn.Parameter(torch.zeros(12, 3))
    return [called, module(x)[0]]


@same
def test_names(torch):
    module = torch.nn.LSTM(2, 4, 2, bidirectional=True, proj_size=3)
    module.flatten_parameters()
    flat = [w for weights in module.all_weights for w in weights]
    return [
        [name for name, _ in module.named_parameters()],
        [tuple(w.shape) for w in flat],
        [a is b for a, b in zip(flat, module.parameters(), strict=True)],
        repr(torch.nn.GRU(2, 3, 2, False, True, 0.5, True)),
    ]


# --- cells ---------------------------------------------------------------------------------------

CELLS = [
    "RNNCell(3, 4)", "RNNCell(3, 4, bias=False)", "RNNCell(3, 4, nonlinearity='relu')",
    "LSTMCell(3, 4)", "LSTMCell(3, 4, bias=False)", "LSTMCell(3, 4, dtype=torch.float64)",
    "GRUCell(3, 4)", "GRUCell(3, 4, False)", "GRUCell(3, 4, dtype=torch.float64)",
]  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 3), (3,), (0, 3)], ids=str)
@pytest.mark.parametrize("constructor", CELLS)
@same
def test_cells(torch, constructor, shape):
    module = made(torch, constructor)
    dtype = next(module.parameters()).dtype
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    first = module(x)
    second = module(x, first)
    pull(torch, *several(second))
    return [
        repr(module),
        several(first),
        [out.grad_fn for out in several(first)],
        several(second),
        x.grad,
        gradients(module),
    ]


# --- refused -------------------------------------------------------------------------------------

REFUSED = [
    *(
        f"{kind}(3, 4)({given})"
        for kind, given in itertools.product(
            ("RNN", "GRU", "LSTM"),
            (
                "r(0, 2, 3)", "r(2, 2, 4)", "r(2, 2, 3, 3)", "r(3)", "r(2, 2, 3).double()",
                "torch.ones(2, 2, 3).long()",
            ),
        )
    ),
    *(
        f"{kind}(3, 4)({given})"
        for kind, given in itertools.product(
            ("RNN", "GRU"), (
                "r(2, 3, 3), r(1, 2, 4)", "r(2, 2, 3), r(2, 4)", "r(2, 3), r(1, 1, 4)",
                "packed(r(5, 2, 4), [5, 2])",
            ),
        )
    ),
    "LSTM(3, 4)(r(2, 2, 3), (r(1, 2, 4), r(1, 2, 5)))",
    "LSTM(3, 4)(r(2, 2, 3), (r(1, 2, 5), r(1, 2, 4)))",
    "LSTM(3, 4)(r(2, 2, 3), (r(2, 4), r(2, 4)))",
    "LSTM(3, 4)(r(2, 3), (r(1, 1, 4), r(1, 4)))",
    "RNN(3, 4, nonlinearity='x')", "RNN(3, 4, proj_size=2)", "GRU(3, 4, proj_size=2)",
    "LSTM(3, 4, proj_size=4)", "LSTM(3, 4, proj_size=-1)", "LSTM(3, 4, 0)", "LSTM(3, -4)",
    "LSTM(0, 4)", "LSTM(3.0, 4)", "LSTM(3, 4, dropout=2)", "LSTM(3, 4, dropout=True)",
    "LSTM(3, 4, bias=1)", "LSTM(3, 4, batch_first=1)", "RNN(3)", "RNNBase('X', 3, 4)",
    *(
        f"{kind}(3, 4)({given})"
        for kind, given in itertools.product(
            ("RNNCell", "GRUCell"),
            (
                "r(2, 4)", "r(2, 3), r(3, 4)", "r(2, 3), r(2, 5)", "r(2, 3).double()",
                "r(2, 3), r(2, 4).double()", "r(2, 3), r(4)", "r(1, 2, 3)", "r(2, 3), r(1, 1, 4)",
            ),
        )
    ),
    "RNNCell(3, 4, nonlinearity='x')(r(2, 3))",
    "LSTMCell(3, 4)(r(2, 4))", "LSTMCell(3, 4)(r(2, 3), (r(3, 4), r(2, 4)))",
    "LSTMCell(3, 4)(r(2, 3), (r(2, 4), r(3, 4)))", "LSTMCell(3, 4)(r(2, 3), (r(2, 4),))",
    "LSTMCell(3, 4)(r(2, 3), (r(2, 4), r(1, 2, 4)))", "LSTMCell(3, 4)(r(1, 1, 3))",
]  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    names = {
        "torch": torch,
        "r": torch.randn,
        "packed": torch.nn.utils.rnn.pack_padded_sequence,
    }
    try:
        eval("torch.nn." + expression, names)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")


@same
def test_dropout_of_one_layer_warns(torch):
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1"):
        return repr(torch.nn.GRU(2, 3, dropout=0.5))
