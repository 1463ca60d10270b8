"""What asks a tensor inside `vmap` for its memory gets an error in words: it has one per example."""

from __future__ import annotations

import copy

import pytest

from tests.both import same

ASKS = {
    "numpy": lambda x: x.numpy(),
    "address": lambda x: x.data_ptr(),
    "copy": copy.deepcopy,
    "pickle": lambda x: x.__reduce_ex__(2),
    "function": lambda x: x.apply_(lambda v: v),
    "two": lambda x: x.map_(x, lambda a, b: a),
    "contains": lambda x: 0.5 in x,
}


@pytest.mark.parametrize("name", ASKS)
@same
def test_it_has_none(torch, name):
    with pytest.raises(RuntimeError):
        torch.func.vmap(ASKS[name])(torch.ones(3, 2))
    return torch.func.vmap(lambda x: x * 2)(torch.ones(3, 2))


@same
def test_no_examples(torch):
    """What goes over examples one by one has the shapes also where there are none."""
    empty = torch.ones(0, 2, 1)
    func = torch.func
    return [
        func.vmap(lambda x: x.sort(0)[1])(empty),
        func.vmap(lambda x: torch.linalg.det(x @ x.mT + torch.eye(2)))(empty),
    ]


@same
def test_tangents_of_drawn_numbers(torch):
    x = torch.zeros(1, 1, dtype=torch.float64).mT
    return torch.func.jacfwd(lambda x: x.bernoulli(), randomness="different")(x)
