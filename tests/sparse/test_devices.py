"""Sparse tensors go to the device that is named: on `meta` they have places and elements of a shape, and no more."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tautograd

# PyTorch says once that it checks nothing of sparse tensors.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*beta state")

ENGINES = (tautograd, torch)


def _coo(engine: Any, **options: Any) -> Any:
    places, values = engine.tensor([[0, 1], [1, 0]]), engine.tensor([1.0, 2.0])
    return engine.sparse_coo_tensor(places, values, (2, 2), **options)


def _csr(engine: Any, **options: Any) -> Any:
    return engine.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), **options)


MADE = {
    "coo": lambda engine: _coo(engine, device="meta"),
    "coo with a gradient": lambda engine: _coo(engine, device="meta", requires_grad=True),
    "coo in double precision": lambda engine: _coo(
        engine, device="meta", dtype=engine.float64
    ),
    "csr": lambda engine: _csr(engine, device="meta"),
    "csc": lambda engine: engine.sparse_csc_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), device="meta"),
    "by its layout": lambda engine: engine.sparse_compressed_tensor(
        [0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), layout=engine.sparse_csr, device="meta"
    ),
    "of a size alone": lambda engine: engine.sparse_coo_tensor((2, 3), device="meta"),
    "of parts on meta": lambda engine: engine.sparse_coo_tensor(
        engine.empty(2, 3, dtype=engine.int64, device="meta"), engine.empty(3, device="meta"), (4, 4)
    ),
    "zeros": lambda engine: engine.zeros((2, 3), layout=engine.sparse_coo, device="meta"),
    "zeros like": lambda engine: engine.zeros_like(_coo(engine), device="meta"),
    "moved": lambda engine: _csr(engine).to("meta"),
}  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_made_on_meta(made: str) -> None:
    ours, theirs = (MADE[made](engine) for engine in ENGINES)
    if made in ("zeros like", "moved"):  # of which PyTorch does not keep how many elements are held
        assert str(ours.layout) == str(theirs.layout)
    else:
        assert repr(ours) == repr(theirs)
    assert ours.is_meta
    assert ours.device == tautograd.device("meta")


@pytest.mark.parametrize("made", MADE)
def test_nothing_is_computed_that_is_not_there(made: str) -> None:
    x = MADE[made](tautograd)
    for function in (x.cpu, x.sum, lambda: x * 2, lambda: x @ x.t()):
        with pytest.raises(NotImplementedError, match="meta"):
            function()
    assert x.to_dense().is_meta
    assert x.to_dense().shape == x.shape


def test_a_default_device_is_one_for_sparse_tensors_too() -> None:
    for engine in ENGINES:
        with engine.device("meta"):
            assert engine.sparse_coo_tensor((2, 2)).is_meta
            assert engine.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)).is_meta


def test_parts_on_two_devices_are_refused() -> None:
    for engine in ENGINES:
        places = engine.tensor([[0, 1], [1, 0]], device="meta")
        with pytest.raises(RuntimeError, match="backend of indices \\(Meta\\) must match backend"):
            engine.sparse_coo_tensor(places, engine.ones(2), (2, 2))
        with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
            engine.sparse_coo_tensor(places, engine.ones(2, device="meta"))
