"""Files made to do harm: nothing of them is run, nothing is set, and they cost little.

Every opcode and every kind of name, thousands of times, beside the attacks that are known by name.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import struct
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import pytest

import tautograd
from fuzz import process_state
from fuzz.crafted_archives import archive, damaged
from fuzz.crafted_pickles import HOSTILE, crafted_pickle, named, number, storage, text
from tautograd.serialization import UnsafeFile
from tests.files.crafted import MEMORY, REFUSALS, SECONDS, cost, load, seconds_of, tried


@pytest.fixture
def watched() -> Iterator[process_state.Watch]:
    process_state.register_extensions()
    load(b"\x80\x02}.")  # what is imported when it is first needed
    yield process_state.Watch()
    process_state.unregister_extensions()


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
