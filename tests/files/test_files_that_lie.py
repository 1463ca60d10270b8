"""Files whose numbers, archives, keys or very nature are not what they say: each is refused in words."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import tautograd
from fuzz.crafted_archives import archive
from fuzz.crafted_pickles import named, number, storage, text
from tautograd.serialization import UnsafeFile
from tests.files.crafted import REFUSALS, SECONDS, load, seconds_of, tried

# ---- numbers that lie ------------------------------------------------------------------------------


def described(
    offset: bytes, size: bytes, stride: bytes, grad: bytes = b"\x89", memory: bytes = b""
) -> bytes:
    args = (memory or storage()) + offset + size + stride + grad + b"N"
    return b"\x80\x02" + named("torch._utils _rebuild_tensor_v2") + b"(" + args + b"tR."


@pytest.mark.parametrize(
    "body",
    [
        described(number(3), b"K\x02\x85", b"K\x01\x85"),
        described(number(2**63), b"K\x02\x85", b"K\x01\x85"),
        described(number(-1), b"K\x02\x85", b"K\x01\x85"),
        described(b"\x88", b"K\x02\x85", b"K\x01\x85"),
        described(b"K\x00", number(-2) + b"\x85", b"K\x01\x85"),
        described(b"K\x00", number(2**62) + number(2**62) + b"\x86", b"K\x00K\x00\x86"),
        described(b"K\x00", number(2**70) + b"\x85", b"K\x00\x85"),
        described(b"K\x00", b"G" + struct.pack(">d", 2.0) + b"\x85", b"K\x01\x85"),
        described(b"K\x00", b"K\x02\x85", number(2**62) + b"\x85"),
        described(b"K\x00", b"K\x02\x85", number(-1) + b"\x85"),
        described(b"K\x00", b"K\x02\x85", b"K\x01K\x01\x86"),
        described(b"K\x00", b"(" + b"K\x01" * 65 + b"t", b"(" + b"K\x01" * 65 + b"t"),
        described(b"K\x00", text("22"), text("11")),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", b"K\x01"),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=storage(size=5)),
        described(b"K\x00", b"K\x00\x85", b"K\x01\x85", memory=storage(size=-1)),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=storage(size=2**64)),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=storage("../../data/0")),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=storage("9")),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=storage("\x1b[31m")),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", memory=b"N"),
        described(b"K\x00", b"K\x02\x85", b"K\x01\x85", b"\x88", storage("1", "torch LongStorage")),
        b"\x80\x02(" + text("storage") + named("torch FloatStorage") + b"K\x00" + text("cpu") + b"K\x04tQ.",
    ],
)  # fmt: skip
def test_numbers_that_lie_are_refused(body: bytes) -> None:
    with pytest.raises(REFUSALS) as caught:
        load(body)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_an_expanded_tensor_is_no_lie() -> None:
    found = load(described(b"K\x00", number(10**9) + b"\x85", b"K\x00\x85"))
    assert found.shape == (10**9,)


# ---- archives that lie -----------------------------------------------------------------------------


def rewritten(**changes: Any) -> bytes:
    """A good file, with other values in the directory for the record of its tensor."""
    data = bytearray(archive(described(b"K\x00", b"K\x02\x85", b"K\x01\x85")))
    places = {
        "flags": (8, 2),
        "method": (10, 2),
        "packed": (20, 4),
        "size": (24, 4),
        "offset": (42, 4),
    }
    at = data.index(b"archive/data/0", data.index(b"PK\x01\x02")) - 46
    for name, value in changes.items():
        start, width = places[name]
        data[at + start : at + start + width] = value.to_bytes(width, "little")
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        rewritten(flags=1), rewritten(method=12), rewritten(method=14), rewritten(method=99),
        rewritten(size=2**31), rewritten(packed=2**31, size=2**31), rewritten(size=8),
        rewritten(method=8), rewritten(method=8, size=2**31), rewritten(offset=0), rewritten(offset=2**31),
        rewritten(packed=0xFFFFFFFF, size=0xFFFFFFFF),
        archive(b"\x80\x02N.", {"data.pkl": b"\x80\x02N."}), archive(b"\x80\x02N.", {"sub/data.pkl": b"N."}),
        archive(b"\x80\x02N.", {"byteorder": b"middle"}), archive(b"\x80\x02N.", {"byteorder": bytes(99)}),
        archive(b"\x80\x02N.", {"constants.pkl": b""}),
        archive(b""), archive(b"\x80\x02"), archive(b"\x80\x01N."), archive(b"N."), archive(b"\x80\x06N."),
    ],
)  # fmt: skip
def test_archives_that_lie_are_refused(data: bytes) -> None:
    with pytest.raises(REFUSALS):
        tautograd.load(io.BytesIO(data))


def test_the_archive_that_the_lies_are_made_of_is_read() -> None:
    assert tautograd.load(io.BytesIO(rewritten())).shape == (2,)


def test_overlapping_records_are_refused() -> None:
    """Two names for the same bytes: a small file would be as large as one likes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", b"\x80\x02N.")
        made.writestr("archive/data/0", bytes(1000))
        made.filelist.append(made.filelist[-1])
        again = zipfile.ZipInfo("archive/data/1")
        for name in (
            "header_offset",
            "CRC",
            "file_size",
            "compress_size",
            "flag_bits",
            "create_system",
        ):
            setattr(again, name, getattr(made.filelist[-1], name))
        made.filelist[-1] = again
    with pytest.raises(RuntimeError, match="overlaps"):
        tautograd.load(file)


def test_a_header_that_differs_from_the_directory_is_refused() -> None:
    good = archive(described(b"K\x00", b"K\x02\x85", b"K\x01\x85"))
    at = good.index(b"archive/data/0") - 30
    for start, value in ((6, 1), (8, 8), (18, 7), (22, 7), (28, 20), (28, 60_000)):
        data = bytearray(good)
        data[at + start : at + start + 2] = value.to_bytes(2, "little")
        with pytest.raises(RuntimeError, match=r"two ways|two sizes|overlaps"):
            tautograd.load(io.BytesIO(data))


# ---- attributes and keys ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", [named("torch FloatStorage"), b"]" * 1100 + b"a" * 1099])
def test_attributes_of_an_empty_ordered_dict_are_looked_at(value: bytes) -> None:
    body = named("collections OrderedDict") + b")R}" + text("a") + value + b"sb."
    with pytest.raises(UnsafeFile):
        load(b"\x80\x02" + body)


def test_few_keys_that_take_long_to_compare_end_soon() -> None:
    """Tuples of equal hashes that begin with equal sets, whose elements all have the hash 0."""
    body = b"\x80\x04"
    for copy in range(20):
        elements = b"".join(number((2**61 - 1) * n) for n in range(5, 85))
        body += b"(" + elements + b"\x91q" + bytes([copy]) + b"0"
    body += b"}("
    for n in range(999):
        bits = b"".join(number(-1 if n >> bit & 1 else -2) for bit in range(10))
        body += b"(h" + bytes([n % 20]) + bits + b"tN"
    data = archive(body + b"u.")
    assert isinstance(tried(data), UnsafeFile)
    assert seconds_of(data) < SECONDS


# ---- what is no file -------------------------------------------------------------------------------


def test_what_is_no_regular_file_ends_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    for path in (tmp_path / "pipe.pt", "/dev/zero", "/dev/null"):
        with pytest.raises(OSError, match="only a regular file"):
            tautograd.load(path)
    with pytest.raises(IsADirectoryError):
        tautograd.load(tmp_path)
    (tmp_path / "empty.pt").touch()
    with pytest.raises(EOFError, match="empty"):
        tautograd.load(tmp_path / "empty.pt")
    for name in ("https://example.org/model.pt", "s3://bucket/model.pt"):
        with pytest.raises(FileNotFoundError):
            tautograd.load(name)
    (tmp_path / "old.pt").write_bytes(pickle.dumps({"a": 1}, 2))
    with pytest.raises(RuntimeError, match="Invalid magic number"):
        tautograd.load(tmp_path / "old.pt")


def test_what_a_file_says_is_quoted_as_text() -> None:
    for body in (
        named("torch \x1b[2J"), named("\u202e x"), text("a") * 2 + b"\x93", named("o" * 190 + " x"),
        named("torch device") + text("\x1b[31m") + b"\x85R",
        named("numpy dtype") + text("\x1b[31m") + b"\x85R",
        named("collections OrderedDict") + b")R}" + text("\x1b]0;x\x07") + b"Nsb",
        named("torch.serialization _get_layout") + text("\x1b") + b"\x85R",
    ):  # fmt: skip
        with pytest.raises(REFUSALS) as caught:
            load(b"\x80\x04" + body + b".")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500


def test_an_ordered_dict_keeps_its_own_attributes_and_order() -> None:
    found = load(b"\x80\x02" + named("collections OrderedDict") + b"](K\x02N\x86K\x01N\x86e\x85R.")
    assert type(found) is OrderedDict
    assert list(found.items()) == [(2, None), (1, None)]


@pytest.mark.parametrize("count", [-1, 0, 1 << 62, None])
def test_a_reader_that_lies_about_what_it_read_is_refused(count: int | None) -> None:
    saved = io.BytesIO()
    tautograd.save({"a": tautograd.arange(1000)}, saved)

    class Lies(io.BytesIO):
        def readinto(self, buffer: object) -> int:  # type: ignore[override]
            return count  # type: ignore[return-value]

    with pytest.raises(RuntimeError, match="damaged"):
        tautograd.load(Lies(saved.getvalue()))
