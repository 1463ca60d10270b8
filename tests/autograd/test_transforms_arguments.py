"""What transforms refuse, and that they say so: leaves without a gradient, sizes that are none."""

from __future__ import annotations

import math

import pytest

from tests.both import same

WRONG = {
    "number": lambda torch: 2.0,
    "list": lambda torch: [torch.ones(2), 3],
    "integers": lambda torch: torch.ones(2, dtype=torch.int64),
    "truth": lambda torch: torch.ones(2) > 0,
}


@pytest.mark.parametrize("kind", WRONG)
@same
def test_leaves_without_a_gradient(torch, kind):
    found = []
    for transform in (torch.func.grad, torch.func.grad_and_value, torch.func.jacrev):
        with pytest.raises((ValueError, RuntimeError)) as error:
            transform(lambda x: torch.ones(()))(WRONG[kind](torch))
        found += [type(error.value).__name__, str(error.value).partition(",")[0]]
    return found


@same
def test_sizes_of_chunks(torch):
    with pytest.raises(ValueError, match="chunk_size"):
        torch.func.vmap(lambda x: x * 2, chunk_size=math.nan)(torch.ones(3))
    with pytest.raises(TypeError):
        torch.func.vmap(lambda x: x * 2, out_dims=((0,),))(torch.ones(3, 2))
    return torch.func.jacrev(lambda x: x * 2, chunk_size=2)(torch.ones(3))
