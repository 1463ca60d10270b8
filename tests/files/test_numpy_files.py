"""`.npy` and `.npz` files are read as NumPy reads them, if what they say of themselves is true."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tautograd._files.numpy_arrays import read_arrays


def header(text: str, version: int = 1, length: int | None = None) -> bytes:
    data = text.encode().ljust(80) + b"\n"
    count = (len(data) if length is None else length).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + count + data


GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    kinds = ("f2", "f4", "f8", "i1", "i8", "u2", "b1", "c8", "c16", ">f8", ">i4")
    arrays = [np.arange(6).reshape(2, 3).astype(kind) for kind in kinds]
    arrays += [np.array(3.5), np.zeros((0, 4)), np.asfortranarray(arrays[1]), np.ones((1,) * 20)]
    for array in arrays:
        np.save(tmp_path / "one.npy", array)
        (found,) = read_arrays(tmp_path / "one.npy", 1 << 30)
        assert found.dtype == array.dtype.newbyteorder("=")
        assert found.flags.writeable
        np.testing.assert_array_equal(found, array)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "many.npz", *arrays, named=arrays[0])
        found = read_arrays(tmp_path / "many.npz", 1 << 30)
        loaded = np.load(tmp_path / "many.npz")
        assert len(found) == len(arrays) + 1
        for ours, name in zip(found, loaded.files, strict=True):
            np.testing.assert_array_equal(ours, loaded[name])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"no array", b"PK", b"\x93NUMPY", b"\x93NUMPY\x01\x00", header(GOOD), header(GOOD, 9) + bytes(48),
        header(GOOD.replace("(2, 3)", "(10000000000,)")) + bytes(48),
        header(GOOD.replace("(2, 3)", f"({2**62}, 4)")) + bytes(48),
        header(GOOD.replace("(2, 3)", "(-1,)")) + bytes(48),
        header(GOOD.replace("(2, 3)", "(True, 2)")) + bytes(48),
        header(GOOD.replace("(2, 3)", "(2 3)")) + bytes(48),
        header(GOOD.replace("(2, 3)", "(" + "1, " * 65 + ")")) + bytes(48),
        header(GOOD.replace("(2, 3)", "(0, " + "9" * 25 + ")")) + bytes(48),
        header(GOOD.replace("<f8", "|O8")) + bytes(48), header(GOOD.replace("<f8", "<f9")) + bytes(48),
        header(GOOD.replace("'<f8'", "[('a', '<f8')]")) + bytes(48),
        header(GOOD.replace("'<f8'", "'<f8', 'descr': '<f8'")) + bytes(48),
        header(GOOD.replace("False", "__import__('os').abort()")) + bytes(48),
        header(GOOD, length=60_000) + bytes(48), header(GOOD, 2, 2**32 - 1) + bytes(48),
        header("-" * 9000 + "1") + bytes(48), header("(" * 9000) + bytes(48),
        header("{" + " " * 9000) + bytes(48),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_not_what_it_says_is_refused(data: bytes, packed: bool, tmp_path: Path) -> None:
    if packed:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", data)
        data = file.getvalue()
    (tmp_path / "a").write_bytes(data)
    tracemalloc.start(1)
    try:
        with pytest.raises(ValueError) as caught:
            read_arrays(tmp_path / "a", 1 << 30)
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
    finally:
        tracemalloc.stop()
    assert str(caught.value).isprintable()


def test_a_member_is_compared_with_its_header_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header(GOOD) + bytes(64 << 20))
    tracemalloc.start(1)
    try:
        with pytest.raises(ValueError, match="more bytes than its shape"):
            read_arrays(tmp_path / "a.npz", 1 << 30)
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
    finally:
        tracemalloc.stop()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(OSError, match="only a regular file"):
        read_arrays(tmp_path / "pipe.npz", 1 << 30)


def test_a_record_that_begins_before_the_file_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    np.savez_compressed(data, a=np.arange(3.0))
    cut = data.getvalue()
    (tmp_path / "a.npz").write_bytes(cut[:10] + cut[60:])
    with pytest.raises(ValueError, match="before the file does"):
        read_arrays(tmp_path / "a.npz", 1 << 30)
