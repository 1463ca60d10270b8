"""What `out=` may be, views as another dtype, and arguments in the old order, on both engines."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from tests.both import same

CASES = {
    "neg into double": lambda t: t.neg(t.ones(1), out=t.empty(1, dtype=t.float64)),
    "floor into complex": lambda t: t.floor(t.ones(1), out=t.empty(1, dtype=t.complex64)),
    "yes or no into floats": lambda t: t.isposinf(t.ones(1), out=t.empty(1)),
    "places into floats": lambda t: t.nonzero(t.ones(1), out=t.empty(0)),
    "places into one of several": lambda t: t.nonzero(
        t.ones(1), as_tuple=True, out=t.empty(0, dtype=t.int64)
    ),
    "joined floats into bytes": lambda t: t.cat([t.ones(2)], out=t.empty(2, dtype=t.uint8)),
    "numbers into a matrix": lambda t: t.arange(0, 4, out=t.zeros(2, 3).narrow(1, 1, 2)),
    "steps into a matrix": lambda t: t.linspace(0, 3, 4, out=t.zeros(2, 3).narrow(1, 1, 2)),
    "bins the wrong way round": lambda t: t.histc(t.ones(2, dtype=t.int32), 4, min=2, max=1),
    "odd number of halves": lambda t: t.ones(4, 3, dtype=t.bfloat16).view(t.float32),
    "halves from an odd place": lambda t: t.ones(4, 3, dtype=t.bfloat16)[:, 1:].view(t.float32),
    "rows of odd length": lambda t: t.ones(4, 5, dtype=t.int16)[:, :4].view(t.float32),
    "columns as bytes": lambda t: t.ones(4, 6).t().view(t.int16),
}


@pytest.mark.parametrize("case", CASES)
@same
def test_outcome(torch: Any, case: str) -> Any:
    try:
        return CASES[case](torch)
    except (RuntimeError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore:This overload")
@same
def test_the_number_may_come_first(torch: Any) -> Any:
    x, a, b = torch.ones(2), torch.full((2,), 3.0), torch.full((2,), 2.0)
    return torch.addcmul(x, 5, a, b), x.addcdiv(5, a, b), x.addcmul_(2, a, b)


@same
def test_sizes_join_tuples_only(torch: Any) -> Any:
    class Other:
        def __radd__(self, other: Any) -> int:
            return 42

    size, three = torch.Size([1, 2]), (3,)
    found = [size + three, three + size, size + size, size + Other()]
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\) to torch.Size"):
        operator.add(size, [3])
    return found, [type(v).__name__ for v in found]
