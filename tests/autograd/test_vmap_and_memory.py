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
