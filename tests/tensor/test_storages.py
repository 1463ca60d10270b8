"""Storages: the memory behind tensors, as bytes and as elements."""

import os
import warnings

import numpy as np
import pytest
import torch

import tautograd
from tests.both import same


@same
def test_what_is_written_through_a_storage_shows_in_the_tensor(torch):
    x = torch.arange(6.0)
    part = x[2:4]
    memory = part.untyped_storage()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = part.storage()
    typed[0] = 9.0
    return x, len(memory), typed.size(), typed.tolist(), part.storage_offset()


@same
def test_typed_storages_convert_and_say_what_they_are(torch):
    ints = torch.IntStorage([-1, 0, 2])
    return (
        ints.type(), ints.byte().tolist(), ints.bool().tolist(), ints.double().tolist(),
        isinstance(ints, torch.IntStorage), isinstance(ints, torch.FloatStorage),
        torch.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist(),
    )  # fmt: skip


@same
def test_a_storage_of_another_dtype_is_refused(torch):
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        torch.tensor([], dtype=torch.float64).set_(torch.FloatStorage([1.0]))
    return torch.tensor([]).set_(torch.FloatStorage([1.0, 2.0]))


def test_a_file_is_memory_that_two_tensors_share(tmp_path):
    path = str(tmp_path / "numbers")
    first = tautograd.from_file(path, True, 4, dtype=tautograd.float32)
    second = tautograd.from_file(path, True, 4, dtype=tautograd.float32)
    first.fill_(2.5)
    assert second.tolist() == [2.5] * 4


def test_a_file_is_read_when_it_is_used_and_never_written_unless_shared(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    x = tautograd.from_file(str(path), False, 3)
    x.mul_(2)
    assert x.tolist() == [0, 2, 4]
    assert np.frombuffer(path.read_bytes(), np.float32).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "args",
    [("a",), ("a", True), ("a", False, 2), ("a", None, 4), ("a", False, 5), ("missing", False, 1),
     ("missing",), ("", False, 1), (".", False, 1), ("a", False, -1), ("a", False, 1.0),
     ("a", False, True), ("a", 1, 1), (None, False, 1)],
)  # fmt: skip
def test_from_file_takes_and_refuses_what_pytorch_does(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(bytes(16))
    found = []
    for engine in (torch, tautograd):
        try:
            found.append(tuple(engine.from_file(*args).shape))
        except (TypeError, RuntimeError) as error:
            found.append(type(error))
        assert (tmp_path / "a").stat().st_size == 16
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [
    lambda fd: tautograd.from_file(fd, size=1),
    lambda fd: tautograd.UntypedStorage.from_file(fd, False, 1),
    lambda fd: tautograd.FloatStorage.from_file(fd, False, 1),
])  # fmt: skip
def test_a_number_is_no_file_name_and_its_descriptor_stays_open(make, tmp_path):
    (tmp_path / "a").write_bytes(bytes(16))
    with open(tmp_path / "a", "rb") as file:
        with pytest.raises(TypeError, match="must be str, not int"):
            make(file.fileno())
        os.fstat(file.fileno())


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for shared in (False, True):
        with pytest.raises(RuntimeError, match="not a regular file"):
            tautograd.from_file(str(tmp_path / "pipe"), shared, 1)


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_to_hold(name):
    @same
    def run(torch):
        kind = getattr(torch, name)
        x = torch.tensor([0, 1, 2], dtype=kind)
        back = torch.cat([x, x]).to(torch.float32)
        return str(x), back, kind.itemsize, kind.is_floating_point, kind.is_signed

    run()


@same
def test_promotion_of_dtypes_to_hold(torch):
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types"):
        torch.promote_types(torch.uint16, torch.int32)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
        torch.promote_types(torch.float8_e5m2, torch.float32)
    kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.complex64)
    return [str(torch.promote_types(torch.complex32, k)) for k in kinds]


def test_complex32_is_a_name():
    assert tautograd.chalf is tautograd.complex32
    with pytest.raises(TypeError, match="only a name here"):
        tautograd.zeros(2, dtype=tautograd.complex32)


@pytest.mark.parametrize("write", [
    lambda t, x: x.__setitem__((..., 0), 1), lambda t, x: x.add_(1), lambda t, x: x.scatter_(
        0, t.zeros(1, 2, dtype=t.int64), 1.0), lambda t, x: t.add(t.ones(3, 2), 1, out=x),
    lambda t, x: t.cat([t.ones(3, 2)], out=x), lambda t, x: x.put_(t.tensor([0]), t.tensor([1.0])),
])  # fmt: skip
def test_an_expanded_tensor_is_not_written_to(write):
    @same
    def run(torch):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            write(torch, torch.zeros(1, 2).expand(3, 2))

    run()


@same
def test_indices_are_not_read_from_where_is_written(torch):
    places = torch.tensor([2, 1, 0])
    for write in (
        lambda: places.index_add_(0, places, places.clone()),
        lambda: places.index_copy_(0, places, places.clone()),
        lambda: places.scatter_(0, places, places.clone()),
        lambda: places.put_(places, places.clone()),
        lambda: places.index_put_((places,), places.clone()),
    ):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            write()
