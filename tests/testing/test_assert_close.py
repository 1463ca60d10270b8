"""`testing.assert_close` says what PyTorch's says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.both import same


def said(torch: Any, actual: Any, expected: Any, **options: Any) -> str:
    """The class and the message of the error, or that there is none."""
    try:
        torch.testing.assert_close(actual, expected, **options)
    except Exception as error:
        return re.sub(
            r"tautograd\b[\w.]*Tensor", "torch.Tensor", f"{type(error).__name__}: {error}"
        )
    return "close"


VALUES: dict[str, Any] = {
    "equal": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0])),
    "within": lambda t: (t.tensor([1.0]), t.tensor([1.0 + 1e-6])),
    "within-half": lambda t: (t.tensor([1.0]).half(), t.tensor([1.001]).half()),
    "not-within": lambda t: (t.tensor([[1.0, 2], [3, 4.5]]), t.tensor([[1, 2.5], [3.0, 4]])),
    "nan": lambda t: (t.tensor([float("nan")]), t.tensor([float("nan")])),
    "infinite": lambda t: (t.tensor([float("inf"), 1.0]), t.tensor([1.0, 1.0])),
    "integers": lambda t: (t.tensor([200, 3], dtype=t.uint8), t.tensor([3, 3], dtype=t.uint8)),
    "booleans": lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    "complex": lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    "scalar-tensors": lambda t: (t.tensor(1.0), t.tensor(1.5)),
    "shapes": lambda t: (t.zeros(2, 3), t.zeros(3, 2)),
    "dtypes": lambda t: (t.zeros(2), t.zeros(2).double()),
    "empty": lambda t: (t.zeros(0), t.zeros(0)),
    "numbers": lambda t: (1.0, 1.0 + 1e-9),
    "far-numbers": lambda t: (1.0, 3.0),
    "zero-expected": lambda t: (1, 0),
    "number-types": lambda t: (1, 1.0),
    "numpy-numbers": lambda t: (np.float64(1.0), 1.0),
    "arrays": lambda t: (np.array([1.0, 2.0]), np.array([1.0, 2.1])),
    "truths": lambda t: (True, False),
    "none": lambda t: (None, 1.0),
    "nones": lambda t: (None, None),
    "lengths": lambda t: ([1.0], [1.0, 2.0]),
    "nested": lambda t: ({"a": [t.ones(2), 1.0]}, {"a": [t.ones(2), 2.0]}),
    "keys": lambda t: ({"a": 1.0, "b": 2.0}, {"b": 2.0, "c": 3.0}),
    "unrelated": lambda t: (t.ones(1), 1.0),
    "text": lambda t: ("a", "a"),
    "wants-gradient": lambda t: (t.ones(2, requires_grad=True), t.zeros(2)),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "exact": {"rtol": 0, "atol": 0},
    "one-tolerance": {"rtol": 0.1},
    "nan": {"equal_nan": True},
    "any-dtype": {"check_dtype": False},
    "message": {"msg": "no"},
    "more": {"msg": lambda text: f"<{text}>"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("values", VALUES)
@same
def test_messages(torch: Any, values: str, options: str) -> str:
    return said(torch, *VALUES[values](torch), **OPTIONS[options])


@same
def test_strides_are_compared_when_asked(torch: Any) -> Any:
    x = torch.ones(2, 3)
    other = torch.ones(3, 2).t()
    return said(torch, x, other), said(torch, x, other, check_stride=True)


@same
def test_subclasses_may_be_refused(torch: Any) -> Any:
    class Named(torch.Tensor):
        pass

    x = torch.ones(2)
    y = x.as_subclass(Named) if hasattr(x, "as_subclass") else Named([1.0, 1.0])
    return said(torch, x, y), said(torch, x, y, allow_subclasses=False).partition(" of type")[0]


@same
def test_the_predecessor_is_wider(torch: Any) -> Any:
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose(torch.tensor([1.0]), [1.00005])
    with pytest.raises(AssertionError, match="not close"), pytest.warns(FutureWarning):
        torch.testing.assert_allclose(torch.tensor([1.0]), [1.1])
