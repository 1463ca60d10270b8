"""Padding, folding and shuffling modules over their constructor options, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same
from tests.nn.layers import Case, attempt, compare, image

SIZES = {1: (5,), 2: (4, 5), 3: (3, 4, 3)}
pytestmark = pytest.mark.filterwarnings("ignore:Complex modules are a new feature")
PADS = {1: [2, (1, 2), (-1, 1)], 2: [1, (1, 2, 0, 1), (0, -1, 2, 0)], 3: [1, (1, 2, 0, 1, 2, 0)]}
CASES = [
    Case(f"{kind}{rank}d", (padding, *more), {}, shape)
    for kind, more in (
        ("ZeroPad", ()),
        ("ConstantPad", (1.5,)),
        ("ReflectionPad", ()),
        ("ReplicationPad", ()),
        ("CircularPad", ()),
    )
    for rank in (1, 2, 3)
    for padding in PADS[rank]
    for shape in ((2, 2, *SIZES[rank]), (2, *SIZES[rank]))
]
CASES += [
    Case("Unfold", (2,), {}, (2, 3, 4, 5)),
    Case("Unfold", ((2, 3),), {"dilation": 2, "padding": 1, "stride": (1, 2)}, (3, 6, 7)),
    Case("Fold", ((4, 5), 2), {}, (2, 12, 12)),
    Case("Fold", ((5, 6), (2, 3)), {"padding": 1, "stride": (2, 1)}, (12, 18)),
    Case("PixelShuffle", (2,), {}, (2, 8, 3, 2)),
    Case("PixelUnshuffle", (2,), {}, (2, 2, 4, 6)),
    Case("ChannelShuffle", (2,), {}, (2, 6, 3)),
    Case("ReflectionPad2d", (1,), {}, (1, 2, 3, 3), "bfloat16"),
    Case("ZeroPad2d", (1,), {}, (1, 2, 3, 3), "complex64"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_padding(case: Case) -> None:
    compare(case)


ERRORS = {
    "reflection": lambda torch: torch.nn.ReflectionPad1d(4)(torch.zeros(1, 2, 3)),
    "reflection of an image": lambda torch: torch.nn.ReflectionPad2d((0, 0, 3, 0))(
        torch.zeros(1, 2, 3, 3)
    ),
    "circular": lambda torch: torch.nn.CircularPad1d(4)(torch.zeros(1, 2, 3)),
    "circular dimensions": lambda torch: torch.nn.CircularPad1d(1)(torch.zeros(3)),
    "dimensions": lambda torch: torch.nn.ReplicationPad2d(1)(torch.zeros(3, 3)),
    "negative": lambda torch: torch.nn.ReplicationPad1d(-2)(torch.zeros(1, 2, 3)),
    "cut away": lambda torch: torch.nn.ZeroPad1d(-2)(torch.zeros(1, 2, 3)),
    "mode": lambda torch: torch.nn.functional.pad(torch.zeros(3), (1, 1), "mirror"),
    "odd": lambda torch: torch.nn.functional.pad(torch.zeros(3), (1,)),
    "too many": lambda torch: torch.nn.functional.pad(torch.zeros(3), (1, 1, 1, 1)),
    "value": lambda torch: torch.nn.functional.pad(torch.zeros(1, 3), (1, 1), "reflect", 1.0),
    "bytes": lambda torch: torch.nn.functional.pad(
        torch.zeros(3, dtype=torch.uint8), (1, 1), value=-1
    ),
    "fold": lambda torch: torch.nn.Fold((4, 4), 2)(torch.zeros(1, 8, 8)),
    "fold channels": lambda torch: torch.nn.Fold((4, 4), 3)(torch.zeros(1, 8, 8)),
    "unfold": lambda torch: torch.nn.Unfold(5)(torch.zeros(1, 1, 4, 4)),
    "shuffle": lambda torch: torch.nn.PixelShuffle(2)(torch.zeros(1, 3, 4, 4)),
    "groups": lambda torch: torch.nn.ChannelShuffle(2)(torch.zeros(1, 3, 4)),
}


def _error(torch: Any, name: str) -> Any:
    return attempt(torch, ERRORS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same(_error)(name)


@same
def test_padding_of_other_dtypes(torch: Any) -> Any:
    x = torch.arange(6).reshape(1, 2, 3)
    pad = torch.nn.functional.pad
    return [
        *[pad(x, (1, 2), mode) for mode in ("constant", "reflect", "replicate", "circular")],
        pad(x > 2, (1, 1), value=1),
        pad(x, (1, 1), value=2.9),
        pad(x.to(torch.uint8), (1, 1), value=255),
        torch.constant_pad_nd(image(torch, (2, 3), "float32"), (1, 0, 0, 2), 7),
    ]
