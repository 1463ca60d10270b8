"""Resizing modules and functions over their options, on both engines."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tautograd
from tests.both import same
from tests.nn.layers import Case, attempt, compare, image

SIZES = {1: (5,), 2: (4, 5), 3: (3, 4, 2)}
MODES = {
    1: ("nearest", "nearest-exact", "linear", "area"),
    2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    3: ("nearest", "nearest-exact", "trilinear", "area"),
}
WANTED: list[dict[str, Any]] = [
    {"scale_factor": 2},
    {"scale_factor": 0.7},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
    {"size": 3},
    {"size": 7},
]
CASES = [
    Case("Upsample", (), {"mode": mode, **wanted}, (2, 2, *SIZES[rank]))
    for rank in (1, 2, 3)
    for mode in MODES[rank]
    for wanted in WANTED
]
CASES += [
    Case("Upsample", (), {"mode": mode, "align_corners": True, **wanted}, (2, 2, *SIZES[rank]))
    for rank in (1, 2, 3)
    for mode in MODES[rank]
    for wanted in WANTED
    if "linear" in mode or mode == "bicubic"
]
CASES += [
    Case("Upsample", (), {"scale_factor": (1.5, 2.0)}, (1, 2, 4, 4)),
    Case("Upsample", (), {"size": (3, 9), "mode": "bicubic"}, (1, 2, 4, 4)),
    Case("UpsamplingNearest2d", (), {"scale_factor": 3}, (1, 2, 4, 4)),
    Case("UpsamplingBilinear2d", (), {"size": (7, 3)}, (1, 2, 4, 4)),
    *[
        Case("Upsample", (), {"scale_factor": 2, "mode": mode}, (1, 2, 3, 4), dtype)
        for mode in ("nearest", "bilinear", "bicubic")
        for dtype in ("float64", "float16", "bfloat16")
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_upsample(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(3, 9), (2, 2), (8, 5)])
def test_antialias(mode: str, size: tuple[int, int]) -> None:
    @same
    def run(torch: Any) -> Any:
        x = image(torch, (2, 2, 7, 6), "float64").requires_grad_()
        out = torch.nn.functional.interpolate(x, size, mode=mode, antialias=True)
        (out * image(torch, tuple(out.shape), "float64", 1)).sum().backward()
        return [out, x.grad, out.grad_fn]

    run()


SAMPLED = [
    (rank, mode, padding, corners)
    for rank, padding, corners in itertools.product(
        (2, 3), ("zeros", "border", "reflection"), (False, True)
    )
    for mode in (("bilinear", "nearest", "bicubic") if rank == 2 else ("bilinear", "nearest"))
]


@pytest.mark.parametrize(("rank", "mode", "padding", "corners"), SAMPLED)
def test_grid_sample(rank: int, mode: str, padding: str, corners: bool) -> None:
    @same
    def run(torch: Any) -> Any:
        functional = torch.nn.functional
        x = image(torch, (2, 2, *SIZES[rank]), "float64").requires_grad_()
        theta = (image(torch, (2, rank, rank + 1), "float64", 3) * 0.83).requires_grad_()
        grid = functional.affine_grid(theta, (2, 2, *(3, 4, 3)[:rank]), align_corners=corners)
        out = functional.grid_sample(x, grid, mode, padding, corners)
        (out * image(torch, tuple(out.shape), "float64", 1)).sum().backward()
        return [grid, out, x.grad, theta.grad, out.grad_fn, grid.grad_fn]

    run()


@pytest.mark.parametrize(("rank", "mode", "padding", "corners"), SAMPLED)
def test_grid_sampler_takes_modes_as_numbers(
    rank: int, mode: str, padding: str, corners: bool
) -> None:
    numbers = (
        ("bilinear", "nearest", "bicubic").index(mode),
        ("zeros", "border", "reflection").index(padding),
    )

    @same
    def run(torch: Any) -> Any:
        x = image(torch, (2, 2, *SIZES[rank]), "float64").requires_grad_()
        grid = image(torch, (2, *(3, 4, 3)[:rank], rank), "float64", 3).requires_grad_()
        results = []
        for function in (torch.grid_sampler, getattr(torch, f"grid_sampler_{rank}d")):
            out = function(x, grid, *numbers, corners)
            results += [out, out.grad_fn, *torch.autograd.grad(out.sum(), (x, grid))]
        return results

    run()


@pytest.mark.parametrize("number", [-1, 3])
def test_grid_sampler_refuses_modes_that_there_are_not(number: int) -> None:
    """PyTorch reads memory that nobody has written there."""
    x, grid = tautograd.zeros(1, 1, 3, 3), tautograd.zeros(1, 2, 2, 2)
    for numbers in ((number, 0), (0, number)):
        with pytest.raises(RuntimeError, match=f"to be 0, 1 or 2, but got {number}"):
            tautograd.grid_sampler(x, grid, *numbers, False)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_at_the_edges(padding: str) -> None:
    @same
    def run(torch: Any) -> Any:
        x = image(torch, (1, 1, 3, 3), "float32").requires_grad_()
        line = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5])
        grid = torch.stack((line, line.flip(0)), -1)[None, None].requires_grad_()
        results = []
        for mode in ("bilinear", "nearest", "bicubic"):
            for corners in (False, True):
                out = torch.nn.functional.grid_sample(x, grid, mode, padding, corners)
                results += [out, *torch.autograd.grad(out.sum(), (x, grid))]
        return results

    run()


ERRORS = {
    "nothing": lambda torch: torch.nn.Upsample()(torch.zeros(1, 1, 4)),
    "both": lambda torch: torch.nn.Upsample(3, 2)(torch.zeros(1, 1, 4)),
    "corners": lambda torch: torch.nn.Upsample(3, align_corners=True)(torch.zeros(1, 1, 4)),
    "dimensions": lambda torch: torch.nn.Upsample(3, mode="bilinear")(torch.zeros(1, 1, 4)),
    "mode": lambda torch: torch.nn.Upsample(3, mode="best")(torch.zeros(1, 1, 4)),
    "sizes": lambda torch: torch.nn.Upsample((3, 3))(torch.zeros(1, 1, 4)),
    "factors": lambda torch: torch.nn.Upsample(scale_factor=(2, 2))(torch.zeros(1, 1, 4)),
    "too small": lambda torch: torch.nn.Upsample(scale_factor=0.1)(torch.zeros(1, 1, 4, 4)),
    "grid": lambda torch: torch.nn.functional.grid_sample(
        torch.zeros(1, 1, 3, 3), torch.zeros(1, 2, 2, 3), align_corners=False
    ),
    "grid mode": lambda torch: torch.nn.functional.grid_sample(
        torch.zeros(1, 1, 3, 3), torch.zeros(1, 2, 2, 2), "best", align_corners=False
    ),
    "grid padding": lambda torch: torch.nn.functional.grid_sample(
        torch.zeros(1, 1, 3, 3),
        torch.zeros(1, 2, 2, 2),
        padding_mode="none",
        align_corners=False,
    ),
    "theta": lambda torch: torch.nn.functional.affine_grid(
        torch.zeros(1, 3, 3), (1, 1, 2, 2), align_corners=False
    ),
}


def _error(torch: Any, name: str) -> Any:
    return attempt(torch, ERRORS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same(_error)(name)
