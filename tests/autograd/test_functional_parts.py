"""The parts of `autograd.functional` and of L-BFGS that libraries import, though their names are private."""

from __future__ import annotations

import importlib

import pytest

from tests.both import same


@same
def test_tuples(torch):
    f = torch.autograd.functional
    x, y = torch.ones(2), torch.zeros(3)
    rows = ((x, y), (y, x))
    return [
        f._as_tuple(x), f._as_tuple((x, y)), f._as_tuple([x, y]), f._as_tuple(x, "inputs", "jacobian"),
        [f._tuple_postprocess(rows, (a, b)) for a in (True, False) for b in (True, False)],
        [f._tuple_postprocess((x, y), a) for a in (True, False)],
    ]  # fmt: skip


@same
def test_a_list_is_no_tuple(torch):
    with pytest.raises(TypeError) as error:
        torch.autograd.functional._as_tuple([torch.ones(2)], "inputs", "jacobian")
    return str(error.value)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("need_graph", [False, True])
@same
def test_before_and_after(torch, create_graph, need_graph):
    f = torch.autograd.functional
    x, y = torch.ones(2, requires_grad=True), torch.zeros(3)
    before = f._grad_preprocess((x, y), create_graph, need_graph)
    after = f._grad_postprocess(((x * 2, y), (y, x.exp())), create_graph)
    flat = [*before, *after[0], *after[1]]
    return [[(t.requires_grad, t.grad_fn is not None, t is x) for t in flat], flat]


@same
def test_line_search(torch):
    lbfgs = importlib.import_module(f"{torch.__name__}.optim.lbfgs")

    def loss(x, t, d):
        point = (x + t * d).detach().requires_grad_()
        value = (point**4 - 3 * point**2 + point).sum()
        (gradient,) = torch.autograd.grad(value, point)
        return float(value.detach()), gradient

    x = torch.tensor([2.0, -1.5], dtype=torch.float64)
    f, g = loss(x, 0, torch.zeros_like(x))
    found = [
        lbfgs._strong_wolfe(loss, x, t, -g, f, g, g.dot(-g), **options)
        for t in (1.0, 0.01, 10.0)
        for options in ({}, {"c2": 0.1, "max_ls": 4})
    ]
    one = torch.tensor(1.0)
    fits = [
        lbfgs._cubic_interpolate(0.0, 1.0, -one, 2.0, 1.5, one),
        lbfgs._cubic_interpolate(2.0, 1.5, one, 0.0, 1.0, -one, bounds=(0.5, 0.9)),
        lbfgs._cubic_interpolate(0.0, 1.0, one, 2.0, 9.0, one),
    ]
    return [found, fits]
