"""Sparse tensors print, compute, refuse and differentiate as PyTorch's do."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest

from tests.both import same
from tests.sparse.programs import DIFFERENTIATED, PRINTED, REFUSED, names

ENGINES = ("torch", "tautograd")


def _run(engine, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = importlib.import_module(engine)
        torch.manual_seed(0)
        return eval(text, names(torch))


@pytest.mark.parametrize("text", PRINTED.strip().splitlines())
def test_prints_the_same(text):
    expected, found = (repr(_run(engine, text)) for engine in ENGINES)
    assert found == expected


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_the_same(text):
    with pytest.raises(Exception, match=re.escape(REFUSED[text])) as expected:
        _run("torch", text)
    with pytest.raises(type(expected.value), match=re.escape(REFUSED[text])):
        _run("tautograd", text)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients(name):
    inputs, expression = DIFFERENTIATED[name]
    texts = []
    for engine in ENGINES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch = importlib.import_module(engine)
            known = names(torch)
            given = eval(f"({inputs})", known)
            out = eval(expression, {**known, **dict(zip("abc", given, strict=False))})
            weights = torch.arange(1.0, 1 + out.numel()).reshape(out.shape)
            (out * weights).sum().backward()
            texts.append(
                [re.sub(" at 0x[0-9a-f]*", "", repr(out.grad_fn)), *(repr(x.grad) for x in given)]
            )
    assert texts[1] == texts[0]


def test_an_index_outside_is_refused_here():
    """PyTorch leaves it unchecked, and reads outside of memory later."""
    with pytest.raises(
        RuntimeError, match="size is inconsistent with indices: for dim 0, size is 2"
    ):
        _run("tautograd", "torch.sparse_coo_tensor([[5]], torch.ones(1), (2,))")


@pytest.mark.parametrize("text", ["S()", "C()", "H()", "R()", "R().t()"])
def test_files_go_both_ways(text, tmp_path):
    for writer, reader in (ENGINES, ENGINES[::-1]):
        path = tmp_path / f"{writer}.pt"
        importlib.import_module(writer).save({"x": _run(writer, text)}, path)
        assert repr(importlib.import_module(reader).load(path)["x"]) == repr(_run(reader, text))


@pytest.mark.parametrize("text", ["S(requires_grad=True)", "R()"])
def test_copies(text):
    import copy
    import pickle

    x = _run("tautograd", text)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert repr(made) == repr(x)
    twin = copy.deepcopy(x)
    twin.detach().mul_(2)
    assert repr(x) == repr(_run("tautograd", text))


def test_gradcheck_of_sparse_inputs():
    import tautograd as torch

    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    x = names(torch)["C"](dtype=torch.float64, requires_grad=True)
    y = names(torch)["D"].double().requires_grad_()
    assert check(torch.sparse.mm, (x, y))
    assert check(lambda a: torch.sparse.softmax(a, 1), (x,))


def test_a_large_product_is_scipys():
    import numpy as np

    import tautograd as torch

    rng = np.random.default_rng(0)
    places = torch.tensor(rng.integers(0, 3000, (2, 20000)))
    held = torch.tensor(rng.standard_normal(20000))
    x = torch.sparse_coo_tensor(places, held, (3000, 3000))
    y = torch.tensor(rng.standard_normal((3000, 5)))
    expected = np.zeros((3000, 5))
    np.add.at(expected, places.numpy()[0], held.numpy()[:, None] * y.numpy()[places.numpy()[1]])
    assert np.allclose(torch.sparse.mm(x, y).numpy(), expected, rtol=1e-12, atol=1e-12)


@same
@pytest.mark.filterwarnings("ignore:Sparse")
def test_places_that_fix_no_dimension(torch: Any) -> list[Any]:
    """All dimensions are those of the elements held: one of them is all of the tensor."""
    no_places = torch.zeros(0, 2, dtype=torch.int64)
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    x = torch.sparse_coo_tensor(no_places, values, (3,))
    dense = torch.ones(3)
    once = x.detach().coalesce()
    results = [dense + x, dense - x, (dense * once).to_dense(), dense.sparse_mask(once).to_dense()]
    (dense + x).sum().backward()
    number = torch.tensor(3.0).to_sparse()
    return [*results, values.grad, torch.tensor(2.0) + number, torch.tensor(2.0).add_(number)]


@same
@pytest.mark.filterwarnings("ignore:Sparse")
def test_one_element_is_a_tensor_like_any_other(torch: Any) -> list[Any]:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64).to_sparse()
    matrix = torch.eye(2, dtype=torch.float64).to_sparse(1)
    return [
        x[0],
        torch.zeros(2) + x[0],
        torch.zeros(2) + matrix[0, 1],
        matrix[0][1] + torch.ones(2),
    ]


@same
def test_sums_that_keep_dimensions(torch: Any) -> list[Any]:
    dense = torch.arange(24.0).reshape(2, 3, 4) % 5
    tensors = [dense.to_sparse(), dense.to_sparse(2), dense.to_sparse(1)]
    sums = [
        x.sum(dims, keepdim)
        for x in tensors
        for dims in (0, 1, -1, [0], [0, 1], [2, 0], [1, 2], [0, 1, 2])
        for keepdim in (False, True)
    ]
    described = [
        (x.shape, str(x.layout), x.sparse_dim(), x.is_coalesced()) for x in sums if x.is_sparse
    ]
    return [described, *[x.to_dense() if x.is_sparse else x for x in sums]]


@same
def test_one_element_as_a_number(torch: Any) -> list[Any]:
    numbers = [torch.tensor(x).to_sparse().item() for x in (0.0, 2.0, False, True, 0j, 3)]
    return [*numbers, [type(x).__name__ for x in numbers]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "bfloat16"])
def test_dtypes_of_sums(dtype: str) -> None:
    texts = []
    for engine in ENGINES:
        torch = importlib.import_module(engine)
        x = torch.tensor([[1, 0], [1, 1]], dtype=getattr(torch, dtype)).to_sparse()
        sums = (
            torch.sparse.sum(x),
            torch.sparse.sum(x, [0, 1]),
            torch.sparse.sum(x, dtype=torch.bool),
        )
        texts.append(repr([x.sum(), x.sum(0), torch.sparse.sum(x, 0), *sums]))
    assert texts[0] == texts[1]
