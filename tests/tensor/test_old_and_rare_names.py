"""Names that older code and libraries use: old argument orders, copies of views, places as indices."""

from __future__ import annotations

import pytest

from tests.both import same


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "addbmm", "baddbmm"])
@same
def test_factors_may_come_first(torch, name):
    matrix, vector, batch = torch.ones(2, 2), torch.ones(2), torch.ones(2, 2, 2)
    a, b, c = {
        "addmm": (matrix, matrix, matrix),
        "addmv": (vector, matrix, vector),
        "addr": (matrix, vector, vector),
        "addbmm": (matrix, batch, batch),
        "baddbmm": (batch, batch, batch),
    }[name]
    function, method = getattr(torch, name), getattr(a.clone(), name + "_")
    return function(0.5, a, b, c), function(0.5, a, 2, b, c), method(0.5, 2, b, c)


@same
def test_copies_of_views(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    copies = (
        torch.diagonal_copy(x), torch.t_copy(x), torch.select_copy(x, 0, 1), torch.view_copy(x, (3, 2)),
        torch.slice_copy(x, 1, 0, 2), *torch.split_copy(x, 2, 1), *torch.unbind_copy(x),
        torch.permute_copy(x, (1, 0)), torch.expand_copy(x, (2, 2, 3)), torch.unfold_copy(x, 1, 2, 1),
    )  # fmt: skip
    sum(c.sum() for c in copies).backward()
    return [c.detach() for c in copies], [c.stride() for c in copies], x.grad


@same
def test_places_as_indices(torch):
    found = torch.unravel_index(torch.tensor([5, 7]), (3, 4))
    with pytest.raises(ValueError, match="negative values"):
        torch.unravel_index(torch.tensor(0), (2, -3))
    some = torch.nonzero_static(torch.tensor([[1.0, 0.0], [2.0, 3.0]]), size=4, fill_value=-9)
    return found, some


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@same
def test_a_product_with_reflections(torch, left, transpose):
    torch.manual_seed(0)
    packed, tau = torch.geqrf(torch.randn(4, 3, dtype=torch.float64))
    other = torch.randn(4, 4, dtype=torch.float64)
    return torch.ormqr(packed, tau, other, left, transpose)


@pytest.mark.parametrize("name", ["gather", "index_select", "take", "masked_select", "cross"])
@same
def test_out_may_not_be_what_is_read_at_chosen_places(torch, name):
    x = torch.ones(3, 3)
    arguments = {
        "gather": (x, 0, torch.zeros(3, 3, dtype=torch.long)),
        "index_select": (x, 0, torch.tensor([0, 1, 2])),
        "take": (x, torch.arange(9).view(3, 3)),
        "masked_select": (x, x > 0),
        "cross": (x, torch.rand(3, 3), 0),
    }[name]
    out = x.view(-1) if name == "masked_select" else x
    with pytest.raises(RuntimeError, match="single memory location"):
        getattr(torch, name)(*arguments, out=out)


@same
def test_modules_refuse_a_destination_that_is_none(torch):
    layer = torch.nn.Linear(2, 2)
    for wrong in (([],), (None, True), ("cpu", torch.tensor(3))):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            layer.to(*wrong)


@pytest.mark.parametrize("shape", [(8, 5), (5, 8)])
@same
def test_the_largest_singular_values_by_the_same_draws(torch, shape):
    torch.manual_seed(0)
    data = torch.randn(shape, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(data, q=3)
    _, components, _ = torch.pca_lowrank(data, q=2)
    return s, u @ torch.diag(s) @ v.T, components
