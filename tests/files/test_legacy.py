"""The format of before PyTorch 1.6: each engine reads what the other writes, and a file that lies is refused."""

from __future__ import annotations

import contextlib
import io
import pickle
import random
import struct
from collections import OrderedDict
from typing import Any

import pytest
import torch

import tautograd
from tautograd.serialization import UnsafeFile
from tests.files.test_what_pytorch_saves import assert_same

REFUSALS = RuntimeError, EOFError, UnsafeFile
MAGIC = 0x1950A86A20F9469CFC6C


def old_file(engine: Any, obj: Any, protocol: int = 2) -> io.BytesIO:
    file = io.BytesIO()
    engine.save(obj, file, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    file.seek(0)
    return file


def contents(engine: Any) -> Any:
    base = engine.arange(12.0)
    return OrderedDict(
        weight=base.view(3, 4), column=base[1::4], wide=engine.ones(2, 3, dtype=engine.float64).t(),
        half=engine.full((2,), 1.5, dtype=engine.bfloat16), flags=engine.tensor([True, False]),
        numbers=engine.arange(5, dtype=engine.int16), complex=engine.tensor([1 + 2j]),
        empty=engine.empty(0), parameter=engine.nn.Parameter(engine.ones(2)),
        unsigned=engine.ones(3, dtype=engine.uint16), rest=[1, "two", (3.5, None), {"a": {4}}],
    )  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_what_pytorch_writes_is_read(protocol: int) -> None:
    theirs = contents(torch)
    for weights_only in (True, False):
        ours = tautograd.load(old_file(torch, theirs, protocol), weights_only=weights_only)
        assert_same(ours, theirs)
        assert ours["weight"].data_ptr() + 4 == ours["column"].data_ptr()  # they share memory


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_what_is_written_pytorch_reads(protocol: int, tmp_path: Any) -> None:
    ours = contents(tautograd)
    del ours["unsigned"]  # which PyTorch writes in this format, and then cannot read
    file = old_file(tautograd, ours, protocol)
    theirs = torch.load(file, weights_only=protocol == 2)
    assert_same(tautograd.load(io.BytesIO(file.getvalue())), theirs)
    assert theirs["weight"].data_ptr() + 4 == theirs["column"].data_ptr()
    tautograd.save(ours, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert (tmp_path / "old.pt").read_bytes()[:2] == b"\x80\x02"
    assert_same(tautograd.load(tmp_path / "old.pt"), torch.load(tmp_path / "old.pt"))


def test_several_in_one_file() -> None:
    file = io.BytesIO(b"before")
    file.seek(0, io.SEEK_END)
    for value in (1.0, 2.0):
        torch.save(torch.full((3,), value), file, _use_new_zipfile_serialization=False)
    file.seek(len(b"before"))
    assert [tautograd.load(file).tolist() for _ in range(2)] == [[1.0] * 3, [2.0] * 3]


def test_whole_modules() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    file = old_file(torch, theirs)
    with pytest.raises(UnsafeFile, match=r"torch\.nn"):
        tautograd.load(file)
    file.seek(0)
    ours = tautograd.load(file, weights_only=False)
    found = {name: value.tolist() for name, value in ours.state_dict().items()}
    assert found == {name: value.tolist() for name, value in theirs.state_dict().items()}
    assert type(ours) is tautograd.nn.Sequential


def _with(
    obj: bytes, keys: Any = (), data: bytes = b"", magic: Any = MAGIC, version: Any = 1001
) -> io.BytesIO:
    heads = (magic, version, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}})
    start = b"".join(pickle.dumps(head, 2) for head in heads)
    return io.BytesIO(start + obj + pickle.dumps(list(keys), 2) + data)


@pytest.mark.parametrize(
    "file",
    [
        lambda: _with(b"\x80\x02cposix\nsystem\nU\x04echo\x85R."),
        lambda: _with(b"\x80\x02.", version=7),
        lambda: _with(pickle.dumps({}, 2), keys=["0"]),
        lambda: _with(pickle.dumps({}, 2), keys=["0"], data=struct.pack("<q", 1 << 60)),
        lambda: _with(pickle.dumps({}, 2), keys=["0"], data=struct.pack("<q", -5)),
        lambda: _with(pickle.dumps({}, 2), keys=["0", "0"], data=struct.pack("<qq", 0, 0)),
        lambda: _with(pickle.dumps({}, 2), keys=[1], data=struct.pack("<q", 0)),
    ],
)
def test_what_lies_is_refused(file: Any) -> None:
    with pytest.raises(REFUSALS):
        tautograd.load(file())


def test_a_file_cut_off_or_changed_anywhere_is_refused_or_read() -> None:
    whole = old_file(torch, contents(torch)).getvalue()
    rng = random.Random(0)
    for length in range(0, len(whole), 7):
        with pytest.raises(REFUSALS):
            tautograd.load(io.BytesIO(whole[:length]))
    for _ in range(300):
        changed = bytearray(whole)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        with contextlib.suppress(REFUSALS):  # in words of ours; anything else fails the test
            tautograd.load(io.BytesIO(bytes(changed)))
