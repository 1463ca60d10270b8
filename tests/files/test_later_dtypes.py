"""Files with tensors of PyTorch's later dtypes, and with attributes: written and read by either engine."""

from __future__ import annotations

import io

import pytest
import torch

import tautograd

LATER = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]
WAYS = [(torch, tautograd), (tautograd, torch), (tautograd, tautograd)]


def _through(writer, reader, obj):
    file = io.BytesIO()
    writer.save(obj, file)
    file.seek(0)
    return reader.load(file, weights_only=True)


@pytest.mark.parametrize("dtype", LATER)
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_later_dtypes(writer, reader, dtype):
    x = writer.arange(4).to(getattr(writer, dtype))[1:]
    found = _through(writer, reader, {"x": x, "part": x[1:]})
    assert str(found["x"].dtype) == f"torch.{dtype}"
    assert found["x"].to(reader.float32).tolist() == [1, 2, 3]
    assert found["part"].to(reader.float32).tolist() == [2, 3]
    assert found["part"].untyped_storage().data_ptr() == found["x"].untyped_storage().data_ptr()


@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_attributes_of_tensors(writer, reader):
    x, parameter = writer.ones(2), writer.nn.Parameter(writer.ones(2))
    x.label, parameter.group = "first", {"rate": 0.1}
    found = _through(writer, reader, [x, parameter, writer.zeros(1)])
    assert found[0].label == "first"
    assert found[1].group == {"rate": 0.1}
    assert isinstance(found[1], reader.nn.Parameter)
    assert not vars(found[2])


def test_a_dtype_that_its_storage_is_not_of_is_refused():
    from tautograd._files.refusals import DamagedFile
    from tautograd._files.storages import Storage

    storage = Storage(None, "0", tautograd.float32, 4)  # type: ignore[arg-type]
    with pytest.raises(DamagedFile, match="of one dtype, and its storage of another"):
        storage.seen_as(tautograd.uint16)
