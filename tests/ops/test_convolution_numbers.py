"""Numbers of a convolution that are not Python's integers: taken or refused as PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.both import same

NUMBERS = {
    "int": lambda torch: 2,
    "NumPy's": lambda torch: np.int64(2),
    "unsigned": lambda torch: np.uint8(2),
    "tensor": lambda torch: torch.tensor(2),
    "one element": lambda torch: torch.tensor([2]),
    "float": lambda torch: 2.0,
    "NumPy's float": lambda torch: np.float32(2),
    "truth": lambda torch: True,
    "tensor of float": lambda torch: torch.tensor(2.0),
}


@pytest.mark.parametrize("kind", NUMBERS)
@same
def test_numbers(torch, kind):
    number = NUMBERS[kind](torch)
    x, weight = torch.ones(2, 4, 9, 9), torch.ones(6, 2, 3, 3)
    functional = torch.nn.functional
    found = []
    for options in (
        {"groups": number},
        {"groups": 2, "stride": number},
        {"groups": 2, "padding": (number, 1)},
        {"groups": 2, "dilation": number},
    ):
        for _ in range(2):
            try:
                found.append(functional.conv2d(x, weight, **options).sum().item())
            except TypeError as error:
                found.append(str(error).partition(" ")[0])
            # (2.0 equals 2: what was remembered for one would be found for the other)
            found.append(functional.conv2d(x, weight, groups=2, stride=2, dilation=2).sum().item())
    try:
        found.append(
            functional.conv_transpose2d(torch.ones(2, 6, 9, 9), weight, groups=number).sum().item()
        )
    except TypeError as error:
        found.append(str(error).partition(" ")[0])
    return found
