"""Files made to do harm: nothing of them is run, nothing is set, and they cost little.

Every opcode and every kind of name, thousands of times, beside the attacks that are known by name.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import random
import struct
import time
import tracemalloc
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tautograd
from fuzz import process_state
from fuzz.crafted_archives import archive, damaged
from fuzz.crafted_pickles import HOSTILE, crafted_pickle, named, number, storage, text
from tautograd.serialization import UnsafeFile

MEMORY, SECONDS = 100 << 20, 2.0
REFUSALS = (RuntimeError, pickle.UnpicklingError, EOFError)


@pytest.fixture
def watched() -> Iterator[process_state.Watch]:
    process_state.register_extensions()
    load(b"\x80\x02}.")  # what is imported when it is first needed
    yield process_state.Watch()
    process_state.unregister_extensions()


def load(pickled: bytes, records: dict[str, bytes] | None = None) -> Any:
    return tautograd.load(io.BytesIO(archive(pickled, records)))


def tried(data: bytes) -> Any:
    """What a file is read as, or the refusal; any other exception is not ours to give."""
    try:
        return tautograd.load(io.BytesIO(data))
    except REFUSALS as error:
        return error


def cost(data: bytes) -> tuple[Any, int]:
    """The outcome, and its most memory."""
    tried(archive(b"\x80\x02}."))
    tracemalloc.start(1)
    try:
        return tried(data), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds_of(data: bytes) -> float:
    """The processor time alone."""
    began = time.process_time()
    tried(data)
    return time.process_time() - began


def assert_harmless(cases: range, watch: process_state.Watch) -> Counter[str]:
    """Load crafted files of these seeds; how many were read, and how many refused."""
    audit = process_state.Audit()
    outcomes: Counter[str] = Counter()
    for seed in cases:
        rng = random.Random(seed)
        data = archive(crafted_pickle(rng), deflated=rng.random() < 0.1)
        if rng.random() < 0.2:
            data = damaged(data, rng)
        before = watch.state()
        with audit:
            found = tried(data)
        assert not audit.events, f"seed {seed}"
        assert watch.state() == before, f"seed {seed}"
        outcomes[type(found).__name__ if isinstance(found, Exception) else "read"] += 1
    assert not process_state.ran
    return outcomes


def test_crafted_pickles_do_nothing(watched: process_state.Watch) -> None:
    outcomes = assert_harmless(range(1000), watched)
    assert outcomes["read"] > 30  # they are not all refused at their first byte
    assert outcomes["UnsafeFile"] > 100
    assert outcomes["RuntimeError"] > 30


@pytest.mark.slow
def test_ten_thousand_crafted_files_do_nothing_and_cost_little(
    watched: process_state.Watch,
) -> None:
    outcomes = assert_harmless(range(1000, 11_000), watched)
    assert outcomes["read"] > 300
    worst = 0
    for seed in range(1000, 11_000):
        rng = random.Random(seed)
        data = archive(crafted_pickle(rng))
        began = time.process_time()
        tracemalloc.start()
        try:
            tried(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert time.process_time() - began < SECONDS, f"seed {seed}"
        worst = max(worst, peak)
    assert worst < MEMORY


def test_every_opcode_is_known_or_refused_by_name(watched: process_state.Watch) -> None:
    from tautograd._files import pickle_machine as machine

    data = {
        "BINBYTES8": bytes(8),
        "BYTEARRAY8": bytes(8),
        "BINUNICODE8": bytes(8),
        "FRAME": bytes(8),
    }
    known = {name for name in pickle.__all__ if name.isupper() and hasattr(machine, name)}
    assert known >= {"BINUNICODE", "MEMOIZE", "BUILD", "REDUCE", "STOP", "FROZENSET", "NEWOBJ"}
    before = watched.state()
    for op in pickletools.opcodes:
        body = (
            b"\x80\x04N(NN" + op.code.encode("latin1") + data.get(op.name, b"\x01\x00\x00\x00\n\n")
        )
        if op.name in known:
            tried(archive(body + b"."))
        else:
            with pytest.raises(UnsafeFile, match=f"opcode {op.name}"):
                load(body + b".")
    for byte in set(range(256)) - {ord(op.code) for op in pickletools.opcodes}:
        with pytest.raises(RuntimeError, match="where an opcode belongs"):
            load(b"\x80\x04" + bytes([byte]) + b".")
    assert watched.state() == before
    refused = {op.name for op in pickletools.opcodes} - known
    assert refused >= {
        "INST",
        "OBJ",
        "EXT1",
        "EXT2",
        "EXT4",
        "NEWOBJ_EX",
        "PERSID",
        "DUP",
        "DICT",
        "GET",
    }


def test_every_hostile_name_is_refused(watched: process_state.Watch) -> None:
    before = watched.state()
    for name in HOSTILE:
        with pytest.raises(REFUSALS):
            load(b"\x80\x02" + named(name) + b")R.")
        with pytest.raises(REFUSALS):
            load(b"\x80\x02" + named(name) + b".")
    assert watched.state() == before


SETTING = {
    "a dtype": (named("torch float32"), "name"),
    "Size": (named("torch Size"), "numel"),
    "Counter": (named("collections Counter"), "update"),
    "a counter": (named("collections Counter") + b")R", "update"),
    "OrderedDict": (named("collections OrderedDict"), "items"),
    "an ordered dict's method": (named("collections OrderedDict") + b")R", "items"),
    "a class": (named("collections OrderedDict") + b")R", "__class__"),
    "a storage kind": (named("torch FloatStorage"), "dtype"),
    "a function": (named("torch._utils _rebuild_tensor_v2"), "name"),
    "a storage": (storage(), "array"),
    "a device": (named("torch device") + text("cpu") + b"\x85R", "type"),
    "a list": (b"]", "append"),
    "a set": (named("builtins set"), "add"),
    "a tensor": (
        named("torch._utils _rebuild_tensor_v2")
        + b"("
        + storage()
        + b"K\x00K\x02\x85K\x01\x85\x89NtR",
        "_requires_grad",
    ),
}


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("what", SETTING)
def test_no_attribute_is_set(what: str, slots: bool, watched: process_state.Watch) -> None:
    target, name = SETTING[what]
    state = b"}" + text(name) + text("changed") + b"s"
    before = watched.state()
    with pytest.raises((UnsafeFile, RuntimeError)):
        load(b"\x80\x02" + target + (b"N" + state + b"\x86" if slots else state) + b"b.")
    assert watched.state() == before


@pytest.mark.parametrize(
    "name", ["_data", "_hooks", "requires_grad", "__class__", "backward", "a b", ""]
)
def test_attributes_of_tensors_are_not_the_engines(name: str) -> None:
    tensor = named("torch._utils _rebuild_tensor_v2")
    args = b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89Nt"
    typed = (
        named("torch._tensor _rebuild_from_type_v2") + b"(" + tensor + named("torch Tensor") + args
    )
    whole = typed + b"}" + text(name) + b"Nst" + b"R."
    with pytest.raises(UnsafeFile, match="not one that data has"):
        load(b"\x80\x02" + whole)
    if name.startswith("__"):
        with pytest.raises(UnsafeFile, match="not one that data has"):
            load(b"\x80\x02" + named("collections OrderedDict") + b")R}" + text(name) + b"Nsb.")
    own = typed + b"}" + text("own") + b"NstR"
    assert load(b"\x80\x02" + own + b".").own is None
    beside = load(b"\x80\x02](" + named("builtins set") + own + b"e.")
    assert beside[0] is set


def ints(count: int, after: bytes = b"") -> bytes:
    """Integers that all have the hash 0."""
    return b"".join(number(i * (2**61 - 1)) + after for i in range(1, count))


def doubled_tuples(times: int) -> bytes:
    """t = (t, t), again and again: few objects, and a hash that would visit 2 ** times."""
    return b")" + b"q\x00h\x00\x86" * times


def bombs(k: int) -> dict[str, bytes]:
    """Pickles that ask for much, each of about k * 100,000 bytes where more of it is worse."""
    u32, u64 = struct.Struct("<I").pack, struct.Struct("<Q").pack
    tensor_args = b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89Nt"
    return {
        "memo far away": b"Nr" + u32(2**32 - 1) + b".",
        "memo within the file": b"Nr" + u32(k * 90_000) + b"N0" * (k * 45_000) + b".",
        "memo taken before it is put": b"Nr\x05\0\0\0h\x02.",
        "long integer": b"\x8b" + u32(2**31 - 1) + b"\x01.",
        "negative length": b"\x8b" + u32(2**32 - 5) + b"\x01.",
        "long text": b"\x8d" + u64(2**63) + b"a.",
        "long bytearray": b"\x96" + u64(2**40) + b"a.",
        "bytearray of a size": named("builtins bytearray") + number(10**11) + b"\x85R.",
        "copies of a text": text("a" * (k * 50_000)) + b"q\x00" + named("_codecs encode") + b"q\x01"
        + text("latin1") + b"q\x02(" + b"h\x01h\x00h\x02\x86R" * (k * 6_000) + b"t.",
        "copies of bytes": b"B" + u32(k * 50_000) + bytes(k * 50_000) + b"q\x00"
        + named("builtins bytearray") + b"q\x01(" + b"h\x01h\x00\x85R" * (k * 6_000) + b"t.",
        "copies of a list": b"](" + b"K\x01" * (k * 25_000) + b"eq\x00" + named("builtins set")
        + b"q\x01(" + b"h\x01h\x00\x85R" * (k * 6_000) + b"t.",
        "copies of a dict": b"}(" + b"".join(number(i) + b"N" for i in range(k * 9_000)) + b"uq\x00"
        + named("collections Counter") + b"q\x01(" + b"h\x01h\x00\x85R" * (k * 6_000) + b"t.",
        "copies of a shape": b"(" + b"K\x01" * (k * 40_000) + b"tq\x00" + named("torch Size")
        + b"q\x01(" + b"h\x01h\x00\x85R" * (k * 2_000) + b"t.",
        "marks": b"(" * (k * 100_000) + b".",
        "lists": b"](" + b"]" * (k * 100_000) + b"e.",
        "sets": b"](" + b"\x8f" * (k * 100_000) + b"e.",
        "dicts": b"](" + b"}" * (k * 100_000) + b"e.",
        "ordered dicts": named("collections OrderedDict") + b"q\x00](" + b"h\x00)R" * (k * 25_000) + b"e.",
        "one-item dicts": text("a") + b"q\x00](" + b"}h\x00Ns" * (k * 20_000) + b"e.",
        "one-item lists": b"](" + b"]Na" * (k * 33_000) + b"e.",
        "lists of lists": b"](" + b"]]Naa" * (k * 20_000) + b"e.",
        "tuples": b"](" + b"N\x85" * (k * 50_000) + b"e.",
        "tuples of tuples": b"](" + b")\x85\x85\x85\x85\x85" * (k * 16_000) + b"e.",
        "deep tuples": b")" + b"\x85" * (k * 100_000) + b".",
        "deep lists": b"]" * (k * 50_000) + b"a" * (k * 50_000 - 1) + b".",
        "deep by the memo": b"]q\x00q\x01" + b"]q\x02h\x01h\x02aq\x030h\x02q\x010" * (k * 6_000) + b"h\x00.",
        "tensors": named("torch._utils _rebuild_tensor_v2") + b"q\x00" + tensor_args
        + b"q\x01](" + b"h\x00h\x01R" * (k * 20_000) + b"e.",
        "storages": storage()[:-1] + b"q\x00](" + b"h\x00Q" * (k * 33_000) + b"e.",
        "a hash that never ends": b"}" + doubled_tuples(60) + b"Ns.",
        "a hash that never ends, in a set": b"\x8f(" + doubled_tuples(60) + b"\x90.",
        "a hash that never ends, called": doubled_tuples(60) + b")R.",
        "a hash that never ends, referred to": doubled_tuples(60) + b"Q.",
        "a text that never ends": doubled_tuples(60) + text("a") + b"\x93.",
        "a hash too deep for the stack": b"})" + b"\x85" * (k * 100_000) + b"Ns.",
        "long keys again and again": b"(" + b"N" * 250 + b"tq\x00}(" + b"h\x00N" * (k * 33_000) + b"u.",
        "colliding keys": b"}(" + ints(k * 8_000, b"N") + b"u.",
        "colliding keys, one by one": b"}" + ints(k * 8_000, b"Ns") + b".",
        "colliding elements": b"\x8f(" + ints(k * 8_000) + b"\x90.",
        "colliding tuples": b"\x8f(" + ints(k * 8_000, b"\x85") + b"\x90.",
        "a frozenset of them": b"(" + ints(k * 8_000) + b"\x91.",
        "integers of a thousand bytes": b"\x8f(" + b"".join(
            number((i << 8000) * (2**61 - 1)) for i in range(1, k * 100)) + b"\x90.",
        "attributes with long names": named("collections OrderedDict") + b")Rq\x00}"
        + text("a" * (k * 40_000)) + b"Nsq\x010" + b"h\x01b" * (k * 10_000) + b".",
        "tensors of 64 dimensions": named("torch._utils _rebuild_tensor_v2") + b"q\x00(" + storage()
        + b"K\x00" + (b"(" + b"K\x01" * 64 + b"t") * 2 + b"\x89Ntq\x01](" + b"h\x00h\x01R" * (k * 19_000) + b"e.",
        "parameters": named("torch._utils _rebuild_parameter") + b"q\x00" + named("torch._utils _rebuild_tensor_v2")
        + tensor_args + b"R\x88N\x87q\x01](" + b"h\x00h\x01R" * (k * 19_000) + b"e.",
        "numbers of NumPy": named("numpy dtype") + text("f8") + b"\x85Rq\x00"
        + named("numpy._core.multiarray scalar") + b"q\x01h\x00C\x08" + bytes(8) + b"\x86q\x02]("
        + b"h\x01h\x02R" * (k * 19_000) + b"e.",
        "devices": named("torch device") + b"q\x00" + text("cpu") + b"\x85q\x01]("
        + b"h\x00h\x01R" * (k * 19_000) + b"e.",
        "keys one by one": b"}" + b"K\x01Ns" * (k * 25_000) + b".",
        "nothing set again and again": b"}" + b"(u" * (k * 50_000) + b".",
        "a mark above the stack": b"N" * (k * 30_000) + b"(" + b"\x87" * (k * 14_000) + b"t.",
        "complex numbers that collide": named("builtins complex") + b"q\x000\x8f(" + b"".join(
            b"h\x00G" + struct.pack(">d", -1000003.0 * i) + b"G" + struct.pack(">d", i) + b"\x86R"
            for i in range(k * 4_000)) + b"\x90.",
        "names": (named("torch float32") + b"0") * (k * 5_000) + b"N.",
        "a long name": b"c" + b"a" * (k * 100_000) + b"\nb\n.",
        "frames": (b"\x95" + bytes(8)) * (k * 11_000) + b"N.",
        "pops": b"N0" * (k * 50_000) + b"N.",
    }  # fmt: skip


BOMBS = bombs(1)


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_pickle_costs_little(name: str) -> None:
    data = archive(b"\x80\x04" + BOMBS[name])
    assert seconds_of(data) < SECONDS
    found, peak = cost(data)
    assert peak < MEMORY / 2, found


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_of_a_megabyte_costs_little(name: str) -> None:
    body = bombs(10)[name]
    assert len(body) < 1_200_000
    data = archive(b"\x80\x04" + body)
    assert seconds_of(data) < SECONDS
    found, peak = cost(data)
    assert peak < MEMORY, found
    del found  # which must not be too deep for Python to free


def test_legitimate_amounts_are_read() -> None:
    """The limits are far from what is saved: these are lists that a long training would keep."""
    history = [{"step": i, "loss": i / 7} for i in range(20_000)]
    for value in (history, [set() for _ in range(20_000)], {i: str(i) for i in range(50_000)},
                  {i << 40: None for i in range(20_000)}, {(i, i / 3): i for i in range(20_000)}):  # fmt: skip
        pickled = pickle.dumps(value, 4)
        assert load(pickled) == value
    found = load(b"\x80\x02" + b"]" * 990 + b"a" * 989 + b".")
    for _ in range(989):
        (found,) = found
    assert found == []


def test_a_deflated_pickle_may_not_grow_without_bound() -> None:
    data = archive(b"\x80\x04" + b"N0" * (32 << 20) + b"N.", deflated=True)
    assert len(data) < 1 << 18
    assert seconds_of(data) < 0.5
    found, peak = cost(data)
    assert isinstance(found, RuntimeError)
    assert peak < 20 << 20
    for part in (b"M\xff\xff", b"\x8c\x02ab", b"\x8a\x02\xff\x7f", b"G" + bytes(8), b"N\x94"):
        data = archive(b"\x80\x04](" + part * ((2 << 20) // len(part)) + b"e.", deflated=True)
        assert seconds_of(data) < SECONDS


def test_a_record_is_compared_with_its_tensor_before_it_is_inflated() -> None:
    zeros = bytes(64 << 20)
    one = b"\x80\x02" + named("torch._utils _rebuild_tensor_v2") + b"("
    shape = b"K\x00K\x02\x85K\x01\x85\x89NtR."
    data = archive(one + storage(size=2) + shape, {"data/0": zeros}, deflated=True)
    assert seconds_of(data) < 0.5
    found, peak = cost(data)
    assert isinstance(found, RuntimeError)
    assert "2 elements of 4 bytes are asked for" in str(found)
    assert peak < 20 << 20
    with pytest.raises(RuntimeError, match="are asked for"):  # nor is it read if it is not deflated
        load(one + storage(size=2) + shape, {"data/0": bytes(1 << 20)})
    whole = archive(one + storage(size=16 << 20) + shape, {"data/0": zeros}, deflated=True)
    assert tautograd.load(io.BytesIO(whole)).tolist() == [0, 0]


def test_copies_of_a_record_are_bounded() -> None:
    """Conjugated views, and files of the other byte order, need memory of their own."""
    size = 1 << 20
    part = named("torch._utils _rebuild_tensor_v2") + b"(" + storage("0", "torch {}Storage", size)
    rest = b"K\x00K\x01\x85K\x01\x85\x89N}" + text("conj") + b"\x88stR"
    body = b"\x80\x02]("
    for i in range(200):
        body += part.replace(b"{}", b"ComplexFloat").replace(number(size), number(size - i)) + rest
    data = archive(body + b"e.", {"data/0": bytes(8 * size), "byteorder": b"big"})
    assert seconds_of(data) < SECONDS
    found, peak = cost(data)
    assert len(found) == 200
    assert peak < MEMORY + 2 * 8 * size


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
        b"\x80\x02" + storage() + b".",
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


@pytest.mark.parametrize(
    "value", [storage(), named("torch FloatStorage"), b"]" * 1100 + b"a" * 1099]
)
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
    with pytest.raises(RuntimeError, match="older ones, which are pickles"):
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
