"""Products of matrices shared out among threads, against float64 with a derived bound, over layouts and sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tautograd as torch
from tautograd._ops.linalg.products import shared_products
from tests.eager_kernels.ways import numbers

SIZES = [(64, 784, 256), (1, 1024, 512), (600, 33, 31), (31, 40, 700), (257, 65, 129)]
LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "a part": lambda x: np.pad(x, ((0, 3), (2, 5)))[: x.shape[0], 2 : 2 + x.shape[1]],
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backward": lambda x: x[::-1].copy()[::-1],
}


def bound(a, b, dtype):
    """The error of a sum of k products is at most k + 1 roundings of the sum of their sizes."""
    k = a.shape[-1] + 1
    return k * np.finfo(dtype).eps * np.matmul(np.abs(a), np.abs(b)) + np.finfo(dtype).tiny


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_as_exact_as_a_sum_can_be(size, layout, dtype, monkeypatch):
    monkeypatch.setattr(shared_products, "LARGE", 1)
    monkeypatch.setattr(shared_products, "WORTH_SHARING", 1)
    rng = np.random.default_rng(0)
    m, k, n = size
    exact_a, exact_b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a = LAYOUTS[layout](exact_a.astype(dtype))
    b = LAYOUTS[layout](exact_b.astype(dtype))
    row = rng.standard_normal(n).astype(dtype)
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    true = np.matmul(wide_a, wide_b)
    allowed = bound(wide_a, wide_b, dtype)
    for first, second, expected in ((a, b, true), (b.T, a.T, true.T)):
        found = shared_products.matmul(first, second)
        assert found.dtype == dtype
        assert found.flags.c_contiguous
        limit = allowed if expected is true else allowed.T
        assert (np.abs(found - expected) <= limit).all()
    summed = shared_products.affine(a, b, row)
    if layout in ("rows", "columns", "a part"):
        assert summed is not None
    if summed is not None:
        extra = np.finfo(dtype).eps * (np.abs(true) + np.abs(row))
        assert (np.abs(summed - (true + row)) <= allowed + extra).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_a_small_product_is_that_of_matmul_bit_for_bit(first, second, dtype):
    """Which of NumPy's two functions hands it to BLAS makes no difference: compiled programs rely on it."""
    rng = np.random.default_rng(0)
    for m, k, n in itertools.product((0, 1, 2, 5, 16, 33), repeat=3):
        a = LAYOUTS[first](rng.standard_normal((m, k)).astype(dtype))
        b = LAYOUTS[second](rng.standard_normal((k, n)).astype(dtype))
        for x, y in ((a, b), (b.T, a.T), (a, a.T), (a.T, a)):
            found, expected = shared_products.product(x, y), np.matmul(x, y)
            assert (found.shape, found.strides) == (expected.shape, expected.strides)
            assert found.tobytes() == expected.tobytes()


def test_stacks_as_attention_has_them(monkeypatch):
    monkeypatch.setattr(shared_products, "LARGE", 1)
    monkeypatch.setattr(shared_products, "WORTH_SHARING", 1)
    packed = numbers((3, 20, 3, 4, 8), "float32")
    q, k, v = packed.transpose(2, 0, 3, 1, 4)
    scores = shared_products.matmul(q, k.swapaxes(-1, -2))
    wide = [x.astype("float64") for x in (q, k, v)]
    true = np.matmul(wide[0], wide[1].swapaxes(-1, -2))
    allowed = bound(wide[0], wide[1].swapaxes(-1, -2), "float32")
    assert (np.abs(scores - true) <= allowed).all()
    out = np.zeros((3, 20, 4, 8), "float32").transpose(0, 2, 1, 3)
    given = shared_products.matmul(scores, v, out)
    assert given is out
    exact = np.matmul(scores.astype("float64"), wide[2])
    assert (np.abs(out - exact) <= bound(scores.astype("float64"), wide[2], "float32")).all()


@pytest.mark.parametrize("count", [2, 3, 9])
def test_stacks(count, monkeypatch):
    monkeypatch.setattr(shared_products, "LARGE", 1)
    monkeypatch.setattr(shared_products, "WORTH_SHARING", 1)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((count, 70, 33)).astype("float32")
    b = rng.standard_normal((count, 40, 33)).astype("float32")
    wide = np.matmul(a.astype("float64"), b.astype("float64").swapaxes(1, 2))
    found = shared_products.matmul(a, b.swapaxes(1, 2))
    allowed = 34 * np.finfo("float32").eps * np.matmul(np.abs(a), np.abs(b).swapaxes(1, 2))
    assert (np.abs(found - wide) <= allowed).all()


def test_not_a_number_and_infinity_go_where_they_belong():
    a, b = np.ones((128, 128), "float32"), np.ones((128, 128), "float32")
    a[3, 5], a[100, 0] = np.nan, np.inf
    found = shared_products.matmul(a, b)
    assert np.isnan(found[3]).all()
    assert np.isposinf(found[100]).all()
    assert np.isfinite(np.delete(found, (3, 100), axis=0)).all()


def test_one_thread_gives_what_two_give():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 512, 512)).astype("float32")
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(shared_products.matmul(a, b))
    finally:
        torch.set_num_threads(before)
    wide = np.matmul(a.astype("float64"), b.astype("float64"))
    allowed = bound(a.astype("float64"), b.astype("float64"), "float32")
    for one in found:
        assert (np.abs(one - wide) <= allowed).all()


@pytest.mark.parametrize("shapes", [((3, 4), (5, 6)), ((400, 400), (500, 400))])
def test_shapes_that_do_not_fit_are_an_error(shapes):
    a, b = (np.ones(shape, "float32") for shape in shapes)
    with pytest.raises(ValueError, match="matmul"):
        shared_products.matmul(a, b)
