"""`.safetensors` files go both ways between the engines, and damaged ones are errors."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch

import tautograd
import tautograd.safetensors

ENGINES = {
    "tautograd": (tautograd, tautograd.safetensors),
    "torch": (torch, safetensors.torch),
}
PAIRS = [("tautograd", "tautograd"), ("tautograd", "torch"), ("torch", "tautograd")]
DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex64"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)


def some_tensors(engine: Any) -> dict[str, Any]:
    found = {name: engine.arange(6).reshape(2, 3).to(getattr(engine, name)) for name in DTYPES}
    return {**found, "none": engine.zeros(0, 3), "number": engine.tensor(2.5)}


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_tensors_of_every_dtype(writer: str, reader: str, tmp_path: Path) -> None:
    (engine, files), (_, its_files) = ENGINES[writer], ENGINES[reader]
    tensors, path = some_tensors(engine), tmp_path / "some.safetensors"
    files.save_file(tensors, path, {"made by": writer})
    for found in (its_files.load_file(path), its_files.load(files.save(tensors))):
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert str(found[name].dtype) == str(tensor.dtype)
            assert str(found[name]) == str(tensor)
        found["float32"].add_(1)  # memory of its own, which can be written to


@pytest.mark.parametrize("writer", ENGINES)
def test_the_same_bytes(writer: str) -> None:
    engine, files = ENGINES[writer]
    tensors = some_tensors(engine)
    same = safetensors.torch.save(some_tensors(torch), {"a": "b"})
    assert files.save(tensors, metadata={"a": "b"}) == same


def test_reading_parts(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    safetensors.torch.save_file(some_tensors(torch), path, {"made by": "torch"})
    with (
        tautograd.safetensors.safe_open(path) as file,
        safetensors.safe_open(path, framework="pt") as expected,
    ):
        assert file.keys() == expected.keys()
        assert file.offset_keys() == expected.offset_keys()
        assert file.metadata() == expected.metadata() == {"made by": "torch"}
        for name in ("bfloat16", "float32"):
            part, its_part = file.get_slice(name), expected.get_slice(name)
            assert part.get_shape() == its_part.get_shape() == [2, 3]
            assert part.get_dtype() == its_part.get_dtype()
            assert str(part[1:, :2]) == str(its_part[1:, :2])
        assert str(file.get_tensor("number")) == "tensor(2.5000)"
        with pytest.raises(tautograd.safetensors.SafetensorError, match="does not contain"):
            file.get_tensor("nothing")
    with pytest.raises(tautograd.safetensors.SafetensorError, match="closed"):
        file.get_tensor("number")
    with pytest.raises(tautograd.safetensors.SafetensorError, match="framework"):
        tautograd.safetensors.safe_open(path, framework="tf")


@pytest.mark.parametrize("name", ENGINES)
def test_refusals(name: str, tmp_path: Path) -> None:
    engine, files = ENGINES[name]
    x = engine.ones(4)
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        files.save({"a": x, "b": x[:2]})
    assert files.load(files.save({"a": x[:2], "b": x[2:]})).keys() == {"a", "b"}
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        files.save({"a": engine.ones(2, 3).t()})
    with pytest.raises(ValueError, match="Expected a dict"):
        files.save([x])
    with pytest.raises(ValueError, match="Key `a` is invalid"):
        files.save({"a": 3})
    with pytest.raises(KeyError, match="complex128"):
        files.save({"a": x.to(engine.complex128)})
    with pytest.raises(TypeError, match="metadata"):
        files.save({"a": x}, {"n": 3})
    with pytest.raises(FileNotFoundError):
        files.load_file(tmp_path / "none.safetensors")


def test_damage_is_an_error(tmp_path: Path) -> None:
    whole, path = safetensors.torch.save(some_tensors(torch)), tmp_path / "damaged.safetensors"
    source = random.Random(0)
    error = tautograd.safetensors.SafetensorError
    for cut in (0, 4, 20, 100, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(error):
            tautograd.safetensors.load_file(path)
        with pytest.raises(error):
            tautograd.safetensors.load(whole[:cut])
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(source.randint(1, 8)):
            changed[source.randrange(200)] = source.randrange(256)
        with contextlib.suppress(error):
            tautograd.safetensors.load(bytes(changed))
    unknown = safetensors.torch.save({"x": torch.ones(2, dtype=torch.uint16)})
    with pytest.raises(error, match="U16"):
        tautograd.safetensors.load(unknown)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tautograd.safetensors.save_file({"x": tautograd.ones(2)}, path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        tautograd.safetensors.save_file({"x": tautograd.ones(2)}, path, {"n": 3})  # type: ignore[dict-item]
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


def tied(engine: Any) -> Any:
    """A model one of whose weights has two names."""
    engine.manual_seed(0)
    model = engine.nn.Sequential(engine.nn.Linear(3, 3), engine.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    return model


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_models(writer: str, reader: str, tmp_path: Path) -> None:
    (engine, files), (other, its_files) = ENGINES[writer], ENGINES[reader]
    path, model, twin = tmp_path / "model.safetensors", tied(engine), tied(other)
    files.save_model(model, path)
    with other.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert its_files.load_model(twin, path) == (set(), [])
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata() == {"1.weight": "0.weight"}
    smaller = other.nn.Sequential(other.nn.Linear(3, 3))
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "1.bias"'):
        its_files.load_model(smaller, path)
    assert its_files.load_model(smaller, path, strict=False) == (set(), ["1.bias"])


def test_without_the_package() -> None:
    program = (
        "import sys; sys.modules['safetensors'] = None\n"
        "import tautograd\n"
        "try: tautograd.safetensors\n"
        "except ImportError as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "pip install 'tautograd[safetensors]'" in found.stdout, found.stderr


def test_as_torch(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from safetensors.torch import load_file, save_file\n"
        "save_file({'x': torch.arange(3.0)}, 'x.safetensors')\n"
        "print(load_file('x.safetensors'), torch.Tensor.__mro__[0].__module__)\n"
    )
    command = [sys.executable, "-m", "tautograd", "run", "--as-torch", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.stdout.startswith("{'x': tensor([0., 1., 2.])}"), found.stderr


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(OSError, match="only a regular file"):
        tautograd.safetensors.load_file(tmp_path / "pipe.safetensors")
