"""Pooling modules over their constructor options, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same
from tests.nn.layers import Case, attempt, compare, image

SIZES = {1: (9,), 2: (7, 6), 3: (5, 4, 5)}


def _over(
    names: str, ranks: tuple[int, ...], *given: tuple[tuple[Any, ...], dict[str, Any]]
) -> Any:
    return [
        Case(f"{name}{rank}d", args, options, shape)
        for name in names.split()
        for rank in ranks
        for args, options in given
        for shape in ((2, 3, *SIZES[rank]), (3, *SIZES[rank]))
    ]


WINDOWS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((2,), {}),
    ((3,), {"stride": 1}),
    ((3, 2), {"padding": 1}),
    ((2, 3), {"ceil_mode": True}),
    ((3, 2, 1), {"ceil_mode": True}),
]
CASES = [
    *_over("MaxPool AvgPool", (1, 2, 3), *WINDOWS),
    *_over("MaxPool", (1, 2, 3), ((2,), {"dilation": 2}), ((2,), {"return_indices": True})),
    *_over("AvgPool", (1, 2, 3), ((3, 2, 1), {"count_include_pad": False})),
    *_over("AvgPool", (2, 3), ((2,), {"divisor_override": 3})),
    *_over(
        "LPPool", (1, 2, 3), ((2, 2), {}), ((3, 2), {"stride": 1}), ((2, 3), {"ceil_mode": True})
    ),
    *_over("AdaptiveAvgPool AdaptiveMaxPool", (1, 2, 3), ((1,), {}), ((3,), {}), ((4,), {})),
    *_over("AdaptiveMaxPool", (1, 2, 3), ((2,), {"return_indices": True})),
    *_over("AdaptiveAvgPool AdaptiveMaxPool", (2,), (((None, 2),), {}), (((3, 5),), {})),
    *_over("FractionalMaxPool", (2, 3), ((2,), {"output_size": 2}), ((2,), {"output_ratio": 0.5})),
    *_over("FractionalMaxPool", (2, 3), ((2, 2), {"return_indices": True})),
    Case("MaxPool2d", ((3, 2),), {"stride": (2, 1), "padding": (1, 0)}, (2, 3, 6, 5)),
    Case("AvgPool2d", ((3, 2),), {"stride": (2, 1), "padding": (1, 0)}, (2, 3, 6, 5)),
    *[
        Case(name, (2,), {}, (2, 2, 6, 4), dtype)
        for name in ("MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "AdaptiveMaxPool2d")
        for dtype in ("float64", "float16", "bfloat16")
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pool(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    ("args", "grown"), [((2,), 0), ((3, 2), 0), ((3, 2, 1), 0), ((2,), 1)], ids=str
)
def test_unpool(rank: int, args: tuple[int, ...], grown: int) -> None:
    @same
    def run(torch: Any) -> Any:
        pool = getattr(torch.nn, f"MaxPool{rank}d")(*args, return_indices=True)
        unpool = getattr(torch.nn, f"MaxUnpool{rank}d")(*args)
        size = {1: (8,), 2: (8, 6), 3: (4, 6, 4)}[rank]
        x = image(torch, (2, 2, *[n + grown for n in size]), "float64").requires_grad_()
        found, indices = pool(x)
        wanted = tuple(x.shape) if grown or len(args) > 1 else None
        out = unpool(found, indices, output_size=wanted)
        (out * image(torch, tuple(out.shape), "float64", 1)).sum().backward()
        return [repr(unpool), out, indices, x.grad, out.grad_fn]

    run()


@same
def test_winners_of_windows(torch: Any) -> Any:
    """The first of equal elements wins, the last NaN, and never the padding."""
    nan, inf = float("nan"), float("inf")
    x = torch.tensor(
        [
            [1.0, 1.0, 0.0, 0.0, nan, 1.0],
            [1.0, 1.0, 0.0, 2.0, 3.0, nan],
            [-inf, -inf, inf, 1.0, 0.0, -0.0],
            [-inf, -inf, inf, inf, -0.0, 0.0],
        ]
    )[None, None].requires_grad_()
    results = []
    functional = torch.nn.functional
    for options in ({}, {"stride": 1}, {"padding": 1}, {"padding": 1, "stride": 1}):
        out, indices = functional.max_pool2d(x, 2, return_indices=True, **options)
        out.backward(torch.arange(1.0, out.numel() + 1).reshape(out.shape))
        results += [out, indices, x.grad.clone()]
        x.grad = None
    out, indices = functional.adaptive_max_pool2d(x, 2, return_indices=True)
    out.sum().backward()
    return [*results, out, indices, x.grad]


ERRORS = {
    "too small": lambda torch: torch.nn.MaxPool2d(3)(torch.zeros(1, 1, 2, 2)),
    "padding": lambda torch: torch.nn.MaxPool2d(2, padding=2)(torch.zeros(1, 1, 4, 4)),
    "dimensions": lambda torch: torch.nn.MaxPool2d(2)(torch.zeros(4, 4)),
    "a line": lambda torch: torch.nn.MaxPool1d(2)(torch.zeros(4)),
    "line padding": lambda torch: torch.nn.MaxPool1d(2, padding=3)(torch.zeros(1, 4)),
    "complex": lambda torch: torch.nn.MaxPool2d(2)(torch.zeros(1, 1, 4, 4).to(torch.complex64)),
    "kernel": lambda torch: torch.nn.AvgPool2d((2, 2, 2))(torch.zeros(1, 1, 4, 4)),
    "divisor": lambda torch: torch.nn.AvgPool2d(2, divisor_override=0)(torch.zeros(1, 1, 4, 4)),
    "volume": lambda torch: torch.nn.AvgPool3d(2)(torch.zeros(4, 4)),
    "small volume": lambda torch: torch.nn.AvgPool3d(3)(torch.zeros(1, 2, 2, 2)),
    "adaptive": lambda torch: torch.nn.AdaptiveAvgPool2d(2)(torch.zeros(4, 4)),
    "adaptive size": lambda torch: torch.nn.AdaptiveAvgPool2d((2, 2, 2))(torch.zeros(1, 1, 4, 4)),
    "adaptive maximum": lambda torch: torch.nn.AdaptiveMaxPool2d(2)(torch.zeros(4, 4)),
    "no ratio": lambda torch: torch.nn.FractionalMaxPool2d(2),
    "ratio": lambda torch: torch.nn.FractionalMaxPool2d(2, output_ratio=1.5),
    "size and ratio": lambda torch: torch.nn.FractionalMaxPool2d(2, 2, 0.5),
    "fractional": lambda torch: torch.nn.FractionalMaxPool2d(3, 4)(torch.zeros(1, 1, 4, 4)),
    "unpool index": lambda torch: torch.nn.MaxUnpool2d(2)(
        torch.zeros(1, 1, 2, 2), torch.full((1, 1, 2, 2), 99)
    ),
    "unpool size": lambda torch: torch.nn.MaxUnpool2d(2)(
        torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, dtype=torch.int64), output_size=(9, 9)
    ),
}


def _error(torch: Any, name: str) -> Any:
    return attempt(torch, ERRORS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same(_error)(name)
