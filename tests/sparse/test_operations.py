"""Sparse tensors print, compute, refuse and differentiate as PyTorch's do."""

from __future__ import annotations

import importlib
import re
import warnings

import pytest

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
