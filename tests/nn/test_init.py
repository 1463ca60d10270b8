"""Initialisers: the same numbers for the same seed, and the stream left at the same place."""

from __future__ import annotations

import warnings

import pytest

import tautograd
from tests.both import same

FILLED = [
    ("uniform_()", (5, 3)),
    ("uniform_(-2.0, 3.0)", (40,)),
    ("normal_()", (5, 3)),
    ("normal_(1.0, 0.2)", (40,)),
    ("trunc_normal_()", (50, 4)),
    ("trunc_normal_(std=3.0)", (50, 4)),
    ("trunc_normal_(0.5, 0.1, 0.4, 0.6)", (50, 4)),
    ("trunc_normal_(0.0, 1.0, 1.0, 2.0)", (50, 4)),
    ("trunc_normal_(0.0, 1.0, -0.05, 0.05)", (50, 4)),
    ("constant_(0.3)", (2, 3)),
    ("ones_()", (2, 3)),
    ("zeros_()", (2, 3)),
    ("eye_()", (3, 5)),
    ("eye_()", (5, 3)),
    ("dirac_()", (4, 3, 3)),
    ("dirac_()", (2, 3, 4, 3)),
    ("dirac_(2)", (4, 2, 3, 3, 3)),
    ("xavier_uniform_()", (5, 3)),
    ("xavier_uniform_(2.0)", (4, 3, 2, 2)),
    ("xavier_normal_()", (5, 3)),
    ("xavier_normal_(0.5)", (4, 3, 2)),
    ("kaiming_uniform_()", (5, 3)),
    ("kaiming_uniform_(0.3, 'fan_out')", (4, 3, 2, 2)),
    ("kaiming_uniform_(nonlinearity='relu')", (5, 3)),
    ("kaiming_normal_()", (5, 3)),
    ("kaiming_normal_(0.1, 'fan_out', 'tanh')", (4, 3, 2)),
    ("orthogonal_()", (4, 4)),
    ("orthogonal_()", (5, 3)),
    ("orthogonal_(2.0)", (3, 5)),
    ("orthogonal_()", (4, 2, 3)),
    ("orthogonal_()", (0, 3)),
    ("sparse_(0.3)", (10, 4)),
    ("sparse_(0.9, 2.0)", (5, 3)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("call", "shape"), FILLED)
@same
def test_values(torch, call, shape, dtype):
    param = torch.nn.Parameter(torch.empty(shape, dtype=getattr(torch, dtype)))
    name, arguments = call.split("(", 1)
    fill = getattr(torch.nn.init, name)
    returned = eval(f"fill(param, {arguments}", {"fill": fill, "param": param})
    generator = torch.Generator().manual_seed(3)
    again = param
    if "generator" in fill.__code__.co_varnames:
        again = eval(
            f"fill(other, {arguments[:-1]}{', ' if len(arguments) > 1 else ''}generator=generator)",
            {"fill": fill, "other": torch.empty(shape), "generator": generator},
        )
    return [param, returned is param, param.grad_fn, again, torch.rand(3)]


@same
def test_half_precision_and_layouts(torch):
    init = torch.nn.init
    return [
        init.uniform_(torch.empty(4, 5, dtype=torch.float16)),
        init.trunc_normal_(torch.empty(4, 5, dtype=torch.bfloat16)),
        init.normal_(torch.empty(5, 4).t()),
        init.kaiming_uniform_(torch.empty(5, 4).t()),
        init.xavier_normal_(torch.empty(20, 4).t()),
    ]


@same
def test_gains(torch):
    names = "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid"
    gain = torch.nn.init.calculate_gain
    return [
        [gain(name) for name in f"{names} tanh relu leaky_relu selu".split()],
        gain("leaky_relu", 0.3),
        gain("leaky_relu", 2),
    ]


REFUSED = [
    "calculate_gain('steps')",
    "calculate_gain('leaky_relu', 'a')",
    "calculate_gain('leaky_relu', True)",
    "eye_(torch.empty(3))",
    "dirac_(torch.empty(3, 3))",
    "dirac_(torch.empty(3, 3, 3), 2)",
    "xavier_uniform_(torch.empty(3))",
    "kaiming_uniform_(torch.empty(3))",
    "kaiming_uniform_(torch.empty(3, 3), mode='fan')",
    "kaiming_normal_(torch.empty(3, 3), nonlinearity='steps')",
    "orthogonal_(torch.empty(3))",
    "sparse_(torch.empty(3), 0.1)",
    "uniform_(torch.empty(3), 2.0, 1.0)",
    "normal_(torch.empty(3), 0.0, -1.0)",
]


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    try:
        eval("init." + expression, {"torch": torch, "init": torch.nn.init})
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")


@same
def test_warnings(torch):
    init = torch.nn.init
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        init.kaiming_uniform_(torch.empty(0, 3))
        init.kaiming_normal_(torch.empty(3, 0))
        init.trunc_normal_(torch.empty(4), 5.0, 1.0, -1.0, 1.0)
        for name in ("uniform", "normal", "eye", "xavier_uniform", "kaiming_normal", "orthogonal"):
            getattr(init, name)(torch.empty(3, 3))
        init.constant(torch.empty(2), 1.0)
        init.dirac(torch.empty(2, 2, 2))
        init.sparse(torch.empty(3, 3), 0.5)
    return [[w.category.__name__, str(w.message)] for w in said]


@same
def test_names(torch):
    return sorted(name for name in torch.nn.init.__all__ if hasattr(torch.nn.init, name))


def test_what_cannot_be_truncated_is_left_as_it_is():
    x = tautograd.ones(3, dtype=tautograd.complex64)
    with pytest.raises(NotImplementedError, match="lt_cpu"):
        tautograd.nn.init.trunc_normal_(x)
    assert x.tolist() == [1, 1, 1]
