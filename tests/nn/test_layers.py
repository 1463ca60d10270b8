"""Layers without much state: linear maps, activations, flattening, distances, in a table.

Each row is a constructor and the shapes of its inputs. Both engines build it from the same seed and
must agree in how it prints, its output, and the gradients of inputs and parameters, while training
and in evaluation.
"""

from __future__ import annotations

import warnings

import pytest

from tests.both import same
from tests.nn.models import gradients

_INPLACE = (
    "CELU", "ELU", "SELU", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "Mish", "RReLU",
    "ReLU", "ReLU6", "SiLU",
)  # fmt: skip
CASES = [
    ("Identity(3, a=4)", (2, 3)),
    ("Linear(3, 4)", (2, 3)),
    ("Linear(3, 4)", (3,)),
    ("Linear(3, 4)", (2, 5, 3)),
    ("Linear(3, 4)", (0, 3)),
    ("Linear(3, 4, bias=False)", (2, 3)),
    ("Linear(3, 4, False, dtype=torch.float64)", (2, 3)),
    ("Bilinear(3, 2, 4)", (5, 3), (5, 2)),
    ("Bilinear(3, 2, 4, bias=False)", (2, 5, 3), (2, 5, 2)),
    ("LazyLinear(4)", (2, 3)),
    ("LazyLinear(4, bias=False)", (3,)),
    ("Flatten()", (2, 3, 4)),
    ("Flatten(0, 1)", (2, 3, 4)),
    ("Unflatten(1, (2, 3))", (2, 6)),
    ("Unflatten(-1, [3, 2])", (2, 6)),
    ("CosineSimilarity()", (3, 4), (3, 4)),
    ("CosineSimilarity(dim=0, eps=1e-3)", (3, 4), (3, 4)),
    ("PairwiseDistance()", (3, 4), (3, 4)),
    ("PairwiseDistance(1, 1e-3, True)", (3, 4), (3, 4)),
    ("CELU()", (2, 6)),
    ("CELU(0.3)", (2, 6)),
    ("ELU()", (2, 6)),
    ("ELU(alpha=0.3)", (2, 6)),
    ("GELU()", (2, 6)),
    ("GELU('tanh')", (2, 6)),
    ("GLU()", (2, 6)),
    ("GLU(0)", (2, 6)),
    ("SELU()", (2, 6)),
    ("Hardshrink()", (2, 6)),
    ("Hardshrink(0.2)", (2, 6)),
    ("Hardsigmoid()", (2, 6)),
    ("Hardswish()", (2, 6)),
    ("Hardtanh()", (2, 6)),
    ("Hardtanh(-0.3, 0.5)", (2, 6)),
    ("LeakyReLU()", (2, 6)),
    ("LeakyReLU(0.3)", (2, 6)),
    ("LogSigmoid()", (2, 6)),
    ("Mish()", (2, 6)),
    ("PReLU()", (2, 6)),
    ("PReLU(6, 0.4)", (2, 6)),
    ("RReLU()", (2, 6)),
    ("RReLU(0.2, 0.9)", (2, 6)),
    ("ReLU()", (2, 6)),
    ("ReLU6()", (2, 6)),
    ("SiLU()", (2, 6)),
    ("Sigmoid()", (2, 6)),
    ("Softmax(dim=1)", (2, 6)),
    ("Softmax()", (2, 6)),
    ("LogSoftmax(dim=0)", (2, 6)),
    ("Softmin(dim=1)", (2, 6)),
    ("Softmax2d()", (2, 3, 2, 2)),
    ("Softplus()", (2, 6)),
    ("Softplus(2.0, 0.5)", (2, 6)),
    ("Softshrink()", (2, 6)),
    ("Softshrink(0.2)", (2, 6)),
    ("Softsign()", (2, 6)),
    ("Tanh()", (2, 6)),
    ("Tanhshrink()", (2, 6)),
    ("Threshold(0.1, 20)", (2, 6)),
    *((f"{name}(inplace=True)", (2, 6)) for name in _INPLACE),
    ("Threshold(0.1, 20, True)", (2, 6)),
]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0] + "".join(map(str, case[1:])))
@same
def test_layers(torch, case, training):
    constructor, *shapes = case
    module = eval("torch.nn." + constructor, {"torch": torch}).train(training)
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    leaves = [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]
    text = repr(module)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Implicit dimension choice")
        out = module(*(leaf * 1 for leaf in leaves))  # not leaves: these may change in place
    (out * torch.randn(out.shape, dtype=out.dtype)).sum().backward()
    return [
        text,
        repr(module),
        type(module).__name__,
        out,
        out.grad_fn,
        [leaf.grad for leaf in leaves],
        gradients(module),
    ]


REFUSED = [
    "Dropout(-1)",
    "Hardtanh(1, 1)",
    "Unflatten(0, 3)",
    "Unflatten(0, (1, 'a'))",
    "Softmax2d()(torch.ones(2, 2))",
    "Linear(3, 4)(torch.ones(2, 4))",
    "Linear(3, 4)(torch.ones(()))",
    "Linear(3, 4)('text')",
    "Linear(-3, 4)",
    "GLU()(torch.ones(3))",
    "GELU('none at all')(torch.ones(3))",
    "PReLU(3)(torch.ones(2, 4))",
    "Bilinear(3, 4, 5)(torch.ones(2, 3), torch.ones(2, 3))",
    "Bilinear(0, 4, 5)",
    "Threshold(1)",
]


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    try:
        eval("torch.nn." + expression, {"torch": torch})
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0].split(" - got")[0]]
    raise AssertionError("nothing was refused")


@same
def test_renamed_arguments_warn(torch):
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        low = torch.nn.Hardtanh(min_value=-3.0)
    with pytest.warns(FutureWarning, match="`max_value` is deprecated and renamed to `max_val`"):
        high = torch.nn.Hardtanh(max_value=3.0)
    return [repr(low), repr(high)]


@same
def test_second_order_through_layers(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh())
    x = torch.randn(4, 3, requires_grad=True)
    (grad,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
    grad.square().sum().backward()
    return [x.grad, gradients(model)]
