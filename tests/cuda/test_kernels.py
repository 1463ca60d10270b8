"""Without a GPU: kernels made from optimizers' formulas, the arguments of cuBLAS, kernels run here, and views."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._arrays.cuda import cuda_array
from tautograd._arrays.cuda.cuda_array import new, wrap
from tautograd.optim._on_gpu import source_of
from tautograd.optim._program import _programs
from tests.cuda.emulated import needs_compiler
from tests.cuda.fake import installed
from tests.cuda.kernels_here import gemm_of

OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "RMSprop": {"centered": True, "momentum": 0.5},
}
KINDS = [
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "Rprop",
    "ASGD",
]


def optimizer_sources(kind: str) -> list[str]:
    """The kernels of an optimizer's steps, made from its formula."""
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, kind)([p], **OPTIONS.get(kind, {}))
    _programs.clear()
    for _ in range(2):
        p.grad = torch.ones(2)
        optimizer.step()
    return [source_of(program, "f", 8) for program in _programs.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_formula_becomes_a_kernel(kind: str) -> None:
    sources = optimizer_sources(kind)
    assert sources
    for source in sources:
        assert source.count("{") == source.count("}")
        assert "p[i] = v0;" in source
        used = {int(n) for n in re.findall(r"\bv(\d+)\b", source)}
        given = {int(n) for n in re.findall(r"(?:T|bool) v(\d+)\b", source)} | {1}
        assert used <= given  # every value that is read was declared


# --- cuBLAS ---------------------------------------------------------------------------------------


def _made(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (_made(3, 4), _made(4, 5)),
        (_made(4, 3).T, _made(5, 4).T),
        (_made(6, 8)[::2, ::2], _made(4, 5)),
        (_made(6, 8)[:, 2:6], _made(4, 5)),
        (_made(1, 4), _made(1, 4).T),
        (_made(3, 1), _made(1, 5)),
        (_made(2, 3, 4), _made(2, 4, 5)),
        (_made(2, 3, 4), _made(2, 5, 4).transpose(0, 2, 1)),
        (_made(2, 5, 3, 4).transpose(0, 2, 1, 3), _made(2, 5, 3, 4).transpose(0, 2, 3, 1)),
        (_made(2, 3, 4), _made(4, 5)),
        (_made(1, 3, 4), _made(6, 1, 4, 5)),
        (_made(2, 3, 4), _made(6, 2, 4, 5)),
        (_made(3, 4), _made(2, 4, 5)),
    ],
)
def test_products_however_the_factors_lie(x: Any, y: Any) -> None:
    with installed():
        found = gemm_of(cuda_array.backend)(wrap(x), wrap(y))
        assert found is not None
        np.testing.assert_allclose(found.host(), x @ y, 1e-5, 1e-5)
        assert found.source is not None or found.raw.flags.c_contiguous


class _Copying:
    """What a product asks of a GPU to copy rows by, done by NumPy."""

    capture = None

    def __init__(self) -> None:
        self.copies = 0

    def compile(self, source: str, name: str) -> str:
        return name

    def launch(
        self, function: Any, blocks: int, threads: int, shared: int, pack: Any, values: Any
    ) -> None:
        address, target, rows, columns, lead, high, wide = values
        assert blocks * threads >= high * -(-wide // 8)
        pack(bytearray(8 * len(values)), 0, *values)
        given = _flat(address, (rows - 1) * lead + columns)
        found = np.zeros((high, wide), np.uint16)
        both = min(rows, high), min(columns, wide)
        seen = np.lib.stride_tricks.as_strided(given, both, (2 * lead, 2))
        found[: both[0], : both[1]] = seen
        _flat(target, high * wide)[:] = found.reshape(-1)
        self.copies += 1


def _flat(address: int, count: int) -> Any:
    return np.ctypeslib.as_array((ctypes.c_uint16 * count).from_address(address))


@pytest.mark.parametrize("turned", ["neither", "first", "second"])
@pytest.mark.parametrize(("m", "n", "k"), [(8, 11, 16), (9, 16, 8), (16, 8, 13), (7, 5, 3)])
def test_odd_sizes_in_half_precision_are_made_even(m: int, n: int, k: int, turned: str) -> None:
    """Tensor cores want sixteen bytes: rows that begin elsewhere are copied, with zeros of which nothing is seen.

    Where rows begin at even places, and only their number is odd, what is left over is a product of its own.
    """
    x, y = (_made(*shape).astype(np.float16) for shape in ((m, k), (k, n)))
    if turned == "first":
        x = np.ascontiguousarray(x.T).T
    if turned == "second":
        y = np.ascontiguousarray(y.T).T
    with installed():
        gemm = gemm_of(_Copying())
        gemm.pads_from = 1
        sizes, leads = [], []
        plain = gemm.calls["e"][0]

        def call(*given: Any) -> None:
            sizes.append(given[3:6])
            leads.extend((given[8], given[10], given[13]))
            plain(*given)

        gemm.calls["e"] = call, gemm.calls["e"][1]
        found = gemm(wrap(x), wrap(y))
        np.testing.assert_allclose(found.host(), x.astype(np.float32) @ y, 2e-3, 2e-3)
        assert not any(number % 8 for number in leads)
        assert not any(number % 8 for number in max(sizes, key=np.prod))
        assert len(sizes) == (1 if gemm.backend.copies else 2)


# --- kernels --------------------------------------------------------------------------------------

RECORDS = """relu gelu silu sigmoid tanh softmax log_softmax layer_norm add sub mul div add_scaled sub_scaled mm
addmm bmm nll_loss mse_loss embedding embedding_dense_backward scaled_dot_product_attention view unsafe_view
batch_norm lstm_layer to_copy
unbind permute t transpose sum mean select expand"""
HALVES = """relu gelu silu sigmoid tanh softmax log_softmax layer_norm batch_norm mm addmm bmm to_copy
scaled_dot_product_attention"""


@needs_compiler
@pytest.mark.parametrize(
    ("dtype", "records", "launches"),
    [
        ("float32", RECORDS.split(), 300),
        ("bfloat16", HALVES.split(), 100),
        pytest.param("float16", HALVES.split(), 100, marks=pytest.mark.slow),
        pytest.param("bfloat16", [], 3000, marks=pytest.mark.slow, id="all-bfloat16"),
        pytest.param("float32", [], 8000, marks=pytest.mark.slow, id="all"),
        pytest.param("float64", [], 8000, marks=pytest.mark.slow, id="all-float64"),
    ],
)
def test_kernels_compute_what_records_do(dtype: str, records: list[str], launches: int) -> None:
    """Their text, compiled here and run thread by thread, on the samples of what they stand for."""
    command = [sys.executable, "-m", "tests.cuda.kernels_here", dtype, *records]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(said.stdout)
    assert found["problems"] == []
    assert found["launches"] > launches


# --- views ----------------------------------------------------------------------------------------

STEPS: list[tuple[str, Any]] = [
    ("reshape", lambda x: np.reshape(x, (4, -1, 5))),
    ("flat", lambda x: np.reshape(x, -1)),
    ("permuted", lambda x: np.transpose(x, (1, 2, 0))),
    ("turned", np.transpose),
    ("swapped", lambda x: np.swapaxes(x, 0, -1)),
    ("more", lambda x: np.expand_dims(x, -2)),
    ("first", lambda x: x[1]),
    ("inner", lambda x: x[:, -1]),
    ("last", lambda x: x[..., 2] if x.ndim > 1 else x[2]),
]


@pytest.mark.parametrize("second", STEPS, ids=lambda s: s[0])
@pytest.mark.parametrize("first", STEPS, ids=lambda s: s[0])
def test_views_are_where_numpy_has_them(first: Any, second: Any) -> None:
    """Two steps in a row: shape, strides, address, values, and the memory they write to."""
    base = whole = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
    with installed():
        there = wrap(np.array(whole))
        for _, step in (first, second):
            try:
                whole = step(whole)
            except (ValueError, IndexError) as error:
                with pytest.raises(type(error)):
                    step(there)
                return
            there = step(there)
        view = np.shares_memory(whole, base)
        assert (there.shape, there.dense) == (whole.shape, whole.flags.c_contiguous)
        assert there.flags.f_contiguous == whole.flags.f_contiguous
        if view:
            assert there.strides == whole.strides
            assert there.ptr == there.raw.ctypes.data
            assert there.storage().size == 60
        assert (there.host() == whole).all()


def test_views_of_views_of_views() -> None:
    """So many that a call for each would be too deep."""
    with installed():
        x = base = new((2, 3), np.dtype(np.float32))
        for _ in range(3000):
            x = np.expand_dims(x, 0)[0]
        assert x.storage() is base
        x[...] = 7
        assert (base.host() == 7).all()


def test_two_threads_ask_for_an_array_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first one's is made: both are of the memory that there is."""
    with installed():
        x = new((3,), np.dtype(np.float32))
        where, plain = x.ptr, cuda_array.backend.array
        found = []

        def slow(*given: Any) -> Any:
            if not found:
                found.append(None)
                found.append(x.raw)
            return plain(*given)

        monkeypatch.setattr(type(cuda_array.backend), "array", staticmethod(slow))
        found.append(x.raw)
        assert [a.ctypes.data for a in found[1:]] == [where, where]
        assert x.memory is None
