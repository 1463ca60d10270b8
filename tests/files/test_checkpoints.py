"""Files go both ways between the engines, and reading one runs nothing."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import threading
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tautograd.serialization import UnsafeFile

ENGINES = {"tautograd": tautograd, "torch": torch}
PAIRS = [("tautograd", "tautograd"), ("tautograd", "torch"), ("torch", "tautograd")]
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "bool"),
)


def passed_on(obj: Any, writer: str, reader: str) -> Any:
    """An object written by one engine and read by the other."""
    file = io.BytesIO()
    ENGINES[writer].save(obj, file)
    file.seek(0)
    return ENGINES[reader].load(file, weights_only=True)


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype(writer: str, reader: str, dtype: str) -> None:
    engine, other = ENGINES[writer], ENGINES[reader]
    x = engine.arange(-3, 3).to(getattr(engine, dtype))
    found = passed_on(x, writer, reader)
    assert found.dtype == getattr(other, dtype)
    assert str(found) == str(x)


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_views_share_their_memory_and_keep_their_strides(writer: str, reader: str) -> None:
    x = ENGINES[writer].arange(6.0).reshape(2, 3)
    found = passed_on({"x": x, "turned": x.t(), "row": x[1], "none": x[:0]}, writer, reader)
    assert found["turned"].stride() == (1, 3)
    assert found["none"].shape == (0, 3)
    found["x"][1, 0] = 100
    assert found["turned"][0, 1] == found["row"][0] == 100


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_plain_values_and_containers(writer: str, reader: str) -> None:
    engine, other = ENGINES[writer], ENGINES[reader]
    obj = {
        "n": None,
        "i": 3,
        "f": 2.5,
        "c": 1j,
        "t": "text",
        "b": True,
        "big": 2**80,
        "list": [1, (2, "x"), {"y": [3]}],
        "set": {1, 2},
        "ordered": OrderedDict(b=1, a=2),
        "dtype": engine.float16,
        "size": engine.Size([2, 3]),
        "device": engine.device("cpu"),
    }
    found = passed_on(obj, writer, reader)
    expected = {**obj, "dtype": other.float16, "size": other.Size([2, 3])}
    expected["device"] = other.device("cpu")
    assert found == expected
    assert list(found["ordered"]) == ["b", "a"]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_a_model_and_its_optimizer(writer: str, reader: str) -> None:
    engine, other = ENGINES[writer], ENGINES[reader]

    def made(torch: Any) -> tuple[Any, Any]:
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(torch: Any, model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        model(torch.ones(4, 3)).square().mean().backward()
        optimizer.step()

    model, optimizer = made(engine)
    step(engine, model, optimizer)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "w": model.weight}
    found = passed_on(state, writer, reader)
    assert isinstance(found["w"], other.nn.Parameter)
    assert found["model"]._metadata == model.state_dict()._metadata
    twin, its_optimizer = made(other)
    twin.load_state_dict(found["model"])
    its_optimizer.load_state_dict(found["optimizer"])
    for _ in range(3):
        step(engine, model, optimizer)
        step(other, twin, its_optimizer)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_rarer_values(writer: str, reader: str) -> None:
    engine, other = ENGINES[writer], ENGINES[reader]
    x = engine.ones(2, requires_grad=True)
    obj = {"count": Counter("aab"), "layout": engine.strided, "made": x * 2, "leaf": x}
    found = passed_on(obj, writer, reader)
    assert found["count"] == Counter("aab")
    assert found["layout"] is other.strided
    assert found["made"].requires_grad
    assert found["made"].is_leaf
    assert found["leaf"].requires_grad


def test_numbers_of_numpy() -> None:
    """PyTorch writes them, and asks to be told that they are safe; they are read as Python's."""
    numbers = {"a": np.float64(0.5), "b": np.int32(3), "c": np.bool_(True), "d": np.complex64(1j)}
    file = io.BytesIO()
    torch.save(numbers, file)
    file.seek(0)
    assert tautograd.load(file) == {"a": 0.5, "b": 3, "c": True, "d": 1j}
    file = io.BytesIO()
    torch.save(np.array(["text"], dtype=object), file)
    file.seek(0)
    with pytest.raises(UnsafeFile, match="numpy"):
        tautograd.load(file)


def test_a_record_larger_than_a_plain_zip_file_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 2000)
    x = tautograd.arange(1000.0).reshape(2, 500)
    tautograd.save({"x": x}, tmp_path / "large.pt")
    monkeypatch.undo()
    for found in (
        tautograd.load(tmp_path / "large.pt"),
        torch.load(tmp_path / "large.pt", weights_only=True),
        torch.load(tmp_path / "large.pt", weights_only=True, mmap=True),
    ):
        assert found["x"].tolist() == x.tolist()


@pytest.mark.parametrize("name", ENGINES)
def test_where_to_load(name: str) -> None:
    engine = ENGINES[name]
    file = io.BytesIO()
    engine.save(engine.ones(2), file)
    places: list[Any] = [None, "cpu", engine.device("cpu"), {"cuda:0": "cpu"}, lambda s, place: s]
    for place in places:
        file.seek(0)
        assert engine.load(file, map_location=place, weights_only=True).tolist() == [1, 1]
    file.seek(0)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        engine.load(file, map_location="cuda", weights_only=True)


class Malicious:
    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    file = io.BytesIO()
    torch.save({"weights": torch.ones(2), "bad": Malicious(tmp_path / "ran")}, file)
    for weights_only in (None, True, False):
        file.seek(0)
        with pytest.raises(UnsafeFile, match=r"mkdir.*Nothing was run"):
            tautograd.load(file, weights_only=weights_only)
    assert not (tmp_path / "ran").exists()


def test_a_function_of_the_reader_cannot_be_changed() -> None:
    """BUILD, the opcode that gives an object its state, on the function that makes tensors."""
    text = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x09\x00\x00\x00_functionNsb."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", text)
    with pytest.raises((UnsafeFile, RuntimeError, pickle.UnpicklingError)):
        tautograd.load(file)
    assert passed_on(tautograd.ones(1), "tautograd", "tautograd").item() == 1


def test_damage_is_an_error() -> None:
    file = io.BytesIO()
    tautograd.save({"x": tautograd.arange(100.0), "y": [1, "two", {"three": 3.0}]}, file)
    whole = file.getvalue()
    source = random.Random(0)
    for start in (b"", b"PK", b"no zip at all"):
        with pytest.raises((EOFError, RuntimeError)):
            tautograd.load(io.BytesIO(start))
    for _ in range(300):
        cut = whole[: source.randrange(1, len(whole) - 1)]
        with pytest.raises(RuntimeError, match=r"damaged|zip"):
            tautograd.load(io.BytesIO(cut))
    for _ in range(500):
        changed = bytearray(whole)
        for _ in range(source.randint(1, 8)):
            changed[source.randrange(len(changed))] = source.randrange(256)
        with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
            tautograd.load(io.BytesIO(bytes(changed)))


def test_a_tensor_must_lie_within_its_memory() -> None:
    from tautograd._files.refusals import DamagedFile
    from tautograd._files.storages import tensor_array

    with pytest.raises(DamagedFile, match="reaches element"):
        tensor_array(np.zeros(4, np.float32), 0, (2, 3), (3, 1))
    with pytest.raises(DamagedFile, match="strides"):
        tensor_array(np.zeros(4, np.float32), 3, (2,), (-1,))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    tautograd.save(tautograd.ones(2), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object"):
        tautograd.save({"model": tautograd.nn.Linear(1, 1), "lock": threading.Lock()}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


def test_wrong_places(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tautograd.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        tautograd.save(1, tmp_path / "no" / "where.pt")
    with pytest.raises(AttributeError, match="'f'"):
        tautograd.save(1, 3)
    with pytest.raises(AttributeError, match="'f'"):
        tautograd.load(3)
