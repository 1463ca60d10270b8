"""A dense result is not written into a sparse tensor, whose layout would change."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd

CALLS = [
    *("randn(2, 2, out=o)", "rand(2, 2, out=o)", "randint(3, (2, 2), out=o)", "randperm(4, out=o)"),
    *(
        "normal(0.0, 1.0, (2, 2), out=o)",
        "bernoulli(x, out=o)",
        "eye(2, out=o)",
        "arange(4.0, out=o)",
    ),
    *("linspace(0, 1, 4, out=o)", "add(x, x, out=o)", "abs(x, out=o)", "matmul(x, x, out=o)"),
    *("sum(x, 0, out=o)", "cat([x, x], out=o)", "where(x > 0, x, x, out=o)", "tril(x, out=o)"),
]


@pytest.mark.filterwarnings("ignore:The number of elements in the out tensor")
@pytest.mark.parametrize("layout", ["sparse", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("columns", [0, 2, 3])
@pytest.mark.parametrize("call", CALLS)
def test_a_dense_result(call: str, columns: int, layout: str) -> None:
    out: Any = getattr(tautograd.ones(2, columns), f"to_{layout}")()
    before = out.layout, out.shape
    known = {"o": out, "x": tautograd.eye(2), **vars(tautograd)}
    with pytest.raises(NotImplementedError):
        eval(call, known)
    assert (out.layout, out.shape) == before
