"""Storages in files: alone, beside tensors that lie in them, and in an order of bytes that the file does not say."""

from __future__ import annotations

import importlib
import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

import pytest

from tests.both import same

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def _through_a_file(torch: Any, obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


@same
def test_a_storage_is_read_as_it_was(torch: Any) -> list[Any]:
    x = torch.arange(4.0)
    whole = _through_a_file(torch, x[1:].storage())
    of_bytes = _through_a_file(torch, torch.arange(3, dtype=torch.uint8).untyped_storage())
    return [type(whole).__name__, whole.tolist(), whole.dtype, of_bytes.tolist()]


@same
def test_tensors_share_it(torch: Any) -> list[Any]:
    x = torch.arange(4.0)
    found = _through_a_file(torch, {"x": x, "s": (x.storage(), [x[2:].storage()])})
    assert found["s"][0]._cdata == found["s"][1][0]._cdata == found["x"].storage()._cdata
    assert found["s"][0]._cdata != x.untyped_storage()._cdata == x[1:].untyped_storage()._cdata
    found["s"][0][0] = 9.0
    found["s"][1][0][1] = 8.0
    return [found["x"].tolist()]


@same
def test_beside_a_module(torch: Any) -> list[Any]:
    x = torch.arange(4.0)
    found = _through_a_file(torch, [torch.nn.ReLU(), x.storage()], weights_only=False)
    return [found[1].tolist()]


@same
def test_memory_is_of_one_dtype(torch: Any) -> list[str]:
    x = torch.arange(4.0)
    said = []
    for pair in ([x, x.view(torch.int32)], [x, x.untyped_storage()]):
        with pytest.raises(RuntimeError, match="view the same data as different types") as error:
            torch.save(pair, io.BytesIO())
        said.append(type(error.value).__name__)
    return said


def _reordered(file: io.BytesIO, width: int) -> io.BytesIO:
    """The same file as a machine of the other byte order has written it, without a word about that."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name.endswith("/byteorder"):
                continue
            if "/data/" in name:
                rows = (data[i : i + width][::-1] for i in range(0, len(data), width))
                data = b"".join(rows)
            after.writestr(name, data)
    out.seek(0)
    return out


@same
def test_the_byte_order_of_files_that_do_not_say_it(torch: Any) -> list[Any]:
    serialization = torch.serialization
    file = io.BytesIO()
    torch.save(torch.arange(3, dtype=torch.int32), file)
    found: list[Any] = [serialization.get_default_load_endianness()]
    for order in (serialization.LoadEndianness.BIG, serialization.LoadEndianness.LITTLE, None):
        serialization.set_default_load_endianness(order)
        found.append(torch.load(_reordered(file, 4)).tolist())
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("big")
    return found


def test_a_storage_that_is_not_in_the_file_is_refused() -> None:
    import tautograd

    file = io.BytesIO()
    tautograd.save(tautograd.arange(4.0).storage(), file)
    changed = io.BytesIO()
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(changed, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name.endswith("data.pkl"):
                assert b"K\x04" in data  # so many elements
                data = data.replace(b"K\x04", b"K\x40")
            after.writestr(name, data)
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="64 elements"):
        tautograd.load(changed)


@pytest.mark.parametrize(("writing", "reading"), [("torch", "tautograd"), ("tautograd", "torch")])
def test_files_go_both_ways(writing: str, reading: str) -> None:
    there, here = importlib.import_module(writing), importlib.import_module(reading)
    file = io.BytesIO()
    x = there.arange(4.0)
    holder = OrderedDict(a=x.storage())
    holder.of_it = x.storage()  # type: ignore[attr-defined]
    there.save([x, holder], file)
    file.seek(0)
    found = here.load(file)
    assert [type(found[1]["a"]).__name__, found[1]["a"].tolist()] == ["TypedStorage", x.tolist()]
    assert found[1].of_it.tolist() == x.tolist()


@same
def test_a_class_that_is_not_allowed_is_named(torch: Any) -> bool:
    file = io.BytesIO()
    torch.save(torch.nn.ReLU(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed") as error:
        torch.load(file, weights_only=True)
    words = "GLOBAL torch.nn.modules.activation.ReLU was not an allowed global by default"
    return words in str(error.value)


def test_a_tensors_attributes_hold_no_storage() -> None:
    import tautograd

    x = tautograd.arange(2.0)
    x.mine = x.storage()
    file = io.BytesIO()
    tautograd.save(x, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        tautograd.load(file)
