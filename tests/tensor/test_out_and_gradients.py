"""`out=` beside gradients: refused where a gradient would be lost, taken where there is none to lose."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

CONSTANT = {
    "comparison": lambda torch, x: torch.ge(x, 1, out=torch.zeros(2, dtype=torch.bool)),
    "logic": lambda torch, x: torch.logical_or(x, x, out=torch.zeros(2, dtype=torch.bool)),
    "place": lambda torch, x: torch.argmax(x, 0, out=torch.zeros((), dtype=torch.int64)),
    "places": lambda torch, x: torch.bucketize(
        x, torch.ones(2), out=torch.zeros(2, dtype=torch.int64)
    ),
    "counts": lambda torch, x: torch.histc(x, 2, out=torch.zeros(2)),
    "no gradient": lambda torch, x: torch.special.bessel_j0(x, out=torch.zeros(2)),
    "into a leaf": lambda torch, x: torch.eq(torch.ones(2), 1, out=x),
}
DIFFERENTIATED = {
    "sum": lambda torch, x: torch.add(x, 1, out=torch.zeros(2)),
    "steps": lambda torch, x: torch.floor(x, out=torch.zeros(2)),
    "into a leaf": lambda torch, x: torch.add(torch.ones(2), 1, out=x),
    "values and places": lambda torch, x: torch.max(
        x, 0, out=(torch.zeros(()), torch.zeros((), dtype=torch.int64))
    ),
}


@same
@pytest.mark.parametrize("kind", CONSTANT)
def test_what_has_no_gradient_is_written(torch: Any, kind: str) -> Any:
    return CONSTANT[kind](torch, torch.tensor([1.0, 2.0], requires_grad=True)).tolist()


@same
@pytest.mark.parametrize("kind", DIFFERENTIATED)
def test_a_gradient_is_not_lost(torch: Any, kind: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        DIFFERENTIATED[kind](torch, x)
    assert x.tolist() == [1.0, 2.0]
    with torch.no_grad():
        DIFFERENTIATED[kind](torch, x)


@same
def test_a_tensor_as_a_dimension_of_an_extreme(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    return [
        x.min(torch.tensor(1), False),
        torch.max(x, torch.tensor(0), keepdim=True),
        x.max(torch.tensor(2)),
    ]


@same
@pytest.mark.parametrize(("size", "target"), [((2,), (2, 2)), ((2, 1), (2,)), ((1,), (3,))])
def test_a_target_of_more_elements_is_refused(torch: Any, size: Any, target: Any) -> None:
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.nn.functional.soft_margin_loss(torch.ones(size), torch.ones(target))
