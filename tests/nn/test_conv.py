"""Convolution modules over their constructor options, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same
from tests.nn.layers import Case, attempt, compare, image

SIZES = {1: (9,), 2: (7, 6), 3: (5, 6, 5)}
pytestmark = [  # said once per process, to whichever test comes first
    pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel"),
    pytest.mark.filterwarnings("ignore:Complex modules are a new feature"),
]


def _options(rank: int) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = [
        {},
        {"bias": False},
        {"stride": 2},
        {"padding": 1},
        {"dilation": 2},
        {"groups": 2},
        {"stride": 2, "padding": 1, "dilation": 2, "groups": 2},
        {"padding": "same"},
        {"padding": "same", "dilation": 3 if rank < 3 else 1},
        {"padding": "valid"},
    ]
    for mode in ("reflect", "replicate", "circular"):
        options += [
            {"padding": 1, "padding_mode": mode},
            {"padding": "same", "padding_mode": mode},
        ]
    return options


def _transposed_options() -> list[dict[str, Any]]:
    return [
        {},
        {"bias": False},
        {"stride": 2},
        {"stride": 2, "output_padding": 1},
        {"padding": 1},
        {"dilation": 2},
        {"groups": 2},
        {"stride": 3, "padding": 1, "dilation": 2, "groups": 2, "output_padding": 1},
    ]


CASES = [
    Case(f"Conv{rank}d", (4, 6, kernel), options, (2, 4, *SIZES[rank]))
    for rank in (1, 2, 3)
    for kernel in (3, 2)
    for options in _options(rank)
]
CASES += [
    Case(f"ConvTranspose{rank}d", (4, 6, 3), options, (2, 4, *[n // 2 for n in SIZES[rank]]))
    for rank in (1, 2, 3)
    for options in _transposed_options()
]
CASES += [
    Case("Conv2d", (3, 4, (3, 2)), {"stride": (2, 1), "padding": (0, 2)}, (3, 6, 5)),
    Case("Conv2d", (3, 5, 1), {}, (2, 3, 4, 4)),
    Case("Conv2d", (3, 5, 1), {"stride": 2}, (2, 3, 4, 4)),
    Case("Conv2d", (4, 4, 3), {"groups": 4, "padding": 1}, (2, 4, 5, 5)),
    Case("Conv2d", (4, 8, 3), {"groups": 4}, (2, 4, 5, 5)),
    Case("ConvTranspose2d", (3, 4, 2), {}, (3, 4, 3)),
    *[
        Case(name, (2, 4, 3), {"padding": 1}, (2, 2, 5, 5), dtype)
        for name in ("Conv2d", "ConvTranspose2d")
        for dtype in ("float64", "float16", "bfloat16", "complex64", "complex128")
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution(case: Case) -> None:
    compare(case)


LAZY = [
    (f"Lazy{kind}{rank}d", options, rank)
    for kind in ("Conv", "ConvTranspose")
    for rank in (1, 2, 3)
    for options in ({}, {"bias": False, "padding": 1})
]


@pytest.mark.parametrize(("name", "options", "rank"), LAZY)
def test_lazy_convolution(name: str, options: dict[str, Any], rank: int) -> None:
    @same
    def run(torch: Any) -> Any:
        module = getattr(torch.nn, name)(4, 3, **options)
        before = repr(module)
        out = module(image(torch, (2, 3, *SIZES[rank]), "float32"))
        return [before, repr(module), type(module), out, dict(module.state_dict())]

    run()


@same
def test_output_size_of_a_transposed_convolution(torch: Any) -> Any:
    module = torch.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = image(torch, (1, 2, 3, 3), "float32")
    return [module(x, output_size=size) for size in ((5, 6), (6, 5), (1, 3, 6, 6))]


@same
def test_convolutions_can_be_differentiated_twice(torch: Any) -> Any:
    conv = torch.nn.Conv2d(2, 3, 3, padding=1).double()
    up = torch.nn.ConvTranspose2d(3, 2, 2, stride=2).double()
    x = image(torch, (1, 2, 4, 4), "float64").requires_grad_()
    loss = up(conv(x).tanh()).square().sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    first.square().sum().backward()
    parameters = [*conv.parameters(), *up.parameters()]
    return [first.detach(), x.grad, [p.grad for p in parameters]]


ERRORS = {
    "channels": lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.zeros(1, 2, 5, 5)),
    "dimensions": lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.zeros(5, 5)),
    "too small": lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.zeros(1, 3, 2, 5)),
    "dtype": lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.zeros(1, 3, 5, 5).double()),
    "groups of inputs": lambda torch: torch.nn.Conv2d(3, 4, 3, groups=2),
    "groups of outputs": lambda torch: torch.nn.Conv2d(4, 3, 3, groups=2),
    "no groups": lambda torch: torch.nn.Conv2d(4, 3, 3, groups=0),
    "same and stride": lambda torch: torch.nn.Conv2d(4, 3, 3, padding="same", stride=2),
    "transposed padding mode": lambda torch: torch.nn.ConvTranspose2d(
        4, 3, 3, padding_mode="reflect"
    ),
    "output size": lambda torch: torch.nn.ConvTranspose2d(2, 3, 3)(
        torch.zeros(1, 2, 3, 3), output_size=(9, 9)
    ),
    "output size of a few": lambda torch: torch.nn.ConvTranspose2d(2, 3, 3)(
        torch.zeros(1, 2, 3, 3), output_size=(9,)
    ),
    "transposed channels": lambda torch: torch.nn.ConvTranspose1d(2, 3, 3)(torch.zeros(1, 3, 3)),
    "output padding": lambda torch: torch.nn.ConvTranspose2d(2, 3, 3, output_padding=1)(
        torch.zeros(1, 2, 3, 3)
    ),
    "reflection": lambda torch: torch.nn.Conv1d(2, 3, 3, padding=4, padding_mode="reflect")(
        torch.zeros(1, 2, 3)
    ),
    "lazy": lambda torch: torch.nn.LazyConv2d(3, 3)(torch.zeros(3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same(_error)(name)


def _error(torch: Any, name: str) -> Any:
    return attempt(torch, ERRORS[name])


@same
def test_an_image_without_channels(torch: Any) -> list[Any]:
    x, weight, bias = (
        torch.ones(*shape, requires_grad=True) for shape in ((2, 0, 4), (3, 0, 2), (3,))
    )
    result = torch.nn.functional.conv1d(x, weight, bias)
    result.sum().backward()
    return [result, type(result.grad_fn).__name__, x.grad, weight.grad, bias.grad]
