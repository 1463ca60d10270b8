"""`Variable` takes what programs of before PyTorch 0.4 give it, and says what has no effect now."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch as theirs
from torch.autograd import Variable as TheirVariable

import tautograd as ours
from tautograd.autograd import Variable

ENGINES = [(ours, Variable), (theirs, TheirVariable)]


def outcome(engine: Any, variable: Any, *arguments: Any, **named: Any) -> Any:
    """What a call gives: its numbers and whether it asks for a gradient, the error's type, and what was warned of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = variable(*arguments, **named)
        except Exception as error:
            return type(error)
    said = [str(w.message) for w in warned]
    return found.tolist(), found.requires_grad, found.name, said


@pytest.mark.parametrize(
    ("after", "named"),
    [
        ((), {}),
        ((True,), {}),
        ((False, True), {}),
        ((), {"volatile": True}),
        ((), {"volatile": False, "requires_grad": 1}),
        ((True, False, None, "weight"), {}),
        ((), {"name": "weight"}),
        ((), {"name": 1}),
        ((None,), {}),
        ((), {"volatile": None}),
        ((), {"volatile": "yes"}),
        ((), {"requires_grad": 2.5}),
        ((), {"_grad_fn": 3}),
        ((), {"_grad_fn": None}),
        ((), {"vol": True}),
        ((True, False, None, None, None), {}),
    ],
)
def test_a_variable_of_a_tensor(after: tuple[Any, ...], named: dict[str, Any]) -> None:
    found = [outcome(e, v, e.tensor([1.0, 2.0]), *after, **named) for e, v in ENGINES]
    assert found[0] == found[1]


@pytest.mark.parametrize("data", [None, 1, [1.0], "a"])
def test_a_variable_of_something_else(data: Any) -> None:
    assert outcome(ours, Variable, data) == outcome(theirs, TheirVariable, data)


def test_a_variable_is_a_leaf_that_shares_its_memory() -> None:
    for engine, variable in ENGINES:
        x = engine.ones(2, requires_grad=True)
        v = variable(x * 1, volatile=False)
        assert v.is_leaf
        assert not v.requires_grad
        w = variable(x)
        w.add_(1)
        assert x.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("argument", ["requires_grad", "volatile"])
def test_an_error_names_the_argument(argument: str) -> None:
    with pytest.raises(TypeError, match=f"{argument} must be True or False: 'str' object cannot"):
        Variable(ours.ones(1), **{argument: "yes"})


def test_an_old_program_evaluates_with_volatile() -> None:
    with pytest.warns(UserWarning, match=r"volatile was removed and now has no effect"):
        x = Variable(ours.ones(2), volatile=True)
    assert (x * 2).tolist() == [2.0, 2.0]
