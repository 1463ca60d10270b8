"""Rules on tensors whose arrays are batches: constants in them are batches as well."""

from __future__ import annotations

import numpy as np
import pytest

from tests.both import same

FUNCTIONS = {
    "nuclear": lambda torch: lambda m: torch.linalg.matrix_norm(m, "nuc"),
    "svdvals": lambda torch: torch.linalg.svdvals,
    "eigvalsh": lambda torch: torch.linalg.eigvalsh,
    "eigh": lambda torch: lambda m: torch.linalg.eigh(m)[1].abs(),
    "svd": lambda torch: lambda m: torch.linalg.svd(m)[0].abs(),
}
MATRIX = np.array([[1.0, 0.2, 0.3], [0.2, 2.0, 0.1], [0.3, 0.1, 4.0]])


@pytest.mark.parametrize("name", FUNCTIONS)
@same
def test_jacobians_of_decompositions(torch, name):
    function = FUNCTIONS[name](torch)
    matrix = torch.from_numpy(MATRIX)
    func = torch.func

    def total(m):
        return function(m).sum()

    found = [
        func.jacfwd(function)(matrix),
        func.jacrev(function)(matrix.clone().requires_grad_()),
        func.jacfwd(func.jacrev(function))(matrix),
        func.jacfwd(func.jacfwd(function))(matrix),
        func.vmap(func.hessian(total))(torch.stack([matrix, 2 * matrix])),
    ]
    return [x.detach() for x in found]
