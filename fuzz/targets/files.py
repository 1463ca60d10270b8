"""Files of every format that tautograd itself reads: `.pt`, `.safetensors`, `.npy` and `.npz`, and
checkpoints of several ranks.

Whatever is in one, it is read as plain data or refused with a message. Nothing it names is run, nothing in
the process is changed, and it takes little time and memory beyond what it holds.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import gc
import importlib
import io
import json
import os
import pickle
import random
import struct
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fuzz import process_state
from fuzz.crafted_archives import archive, damaged
from fuzz.crafted_pickles import NUMBERS, crafted_pickle
from fuzz.target import Case, Target

SECONDS = 2.0
MEMORY = 100 << 20
_FULL = 16  # how often memory and the whole process are checked: every so many files


class Files(Target):
    """One file in one of the formats."""

    name = "files"
    limit = 10.0
    memory = 3 << 30

    def prepare(self) -> None:
        import numpy as np
        import torch

        import tautograd
        import tautograd.safetensors
        import tautograd.storage
        from tautograd._files.numpy_arrays import read_arrays

        self._np = np
        self._tautograd = tautograd
        tautograd.zeros(1).tolist()  # whose guard is generated at its first call
        self._folder = tempfile.TemporaryDirectory()
        self._path = os.path.join(self._folder.name, "file")
        state = torch.optim.Adam(torch.nn.Linear(2, 2).parameters()).state_dict()
        values = {
            "model": torch.nn.BatchNorm1d(2).state_dict(),
            "optimizer": state,
            "plain": [
                1,
                2.5,
                "text",
                b"bytes",
                {1, 2},
                (None, True),
                1j,
                torch.float32,
                Counter("ab"),
            ],
            "tensors": [torch.ones(2, 3).t(), torch.nn.Parameter(torch.zeros(2))],
            "elsewhere": _without_memory(torch),
        }
        self._good = [self._saved(torch, values, protocol) for protocol in (2, 3, 4, 5)]
        self._pickles = [
            zipfile.ZipFile(io.BytesIO(d)).read("archive/data.pkl") for d in self._good
        ]
        layers = tautograd.nn.Sequential(tautograd.nn.Linear(2, 2), tautograd.nn.LSTM(2, 2))
        whole = {"net": layers, "optimizer": tautograd.optim.SGD(layers.parameters(), lr=0.1)}
        self._whole = self._saved(tautograd, whole, 2)
        self._readers: dict[str, Callable[[], Any]] = {
            "pt": lambda: tautograd.load(io.BytesIO(self._data)),
            "objects": lambda: tautograd.load(io.BytesIO(self._data), weights_only=False),
            "safetensors": lambda: tautograd.safetensors.load_file(self._path),
            "numpy": lambda: read_arrays(self._path, 1 << 30),
            "shares": self._read_shares,
        }
        self._refusals = {
            "pt": (RuntimeError, pickle.UnpicklingError, EOFError),
            "objects": (RuntimeError, pickle.UnpicklingError, EOFError),
            "safetensors": (tautograd.safetensors.SafetensorError,),
            "numpy": (ValueError,),
            "shares": (RuntimeError, pickle.UnpicklingError, EOFError),
        }
        process_state.register_extensions()
        arrays = io.BytesIO()
        np.savez(arrays, a=np.ones(2))
        named = tautograd.safetensors.save({"a": tautograd.ones(2)})
        for kind, data in (
            ("pt", self._good[0]),
            ("objects", self._whole),
            ("safetensors", named),
            ("numpy", arrays.getvalue()),
            *(("pt", data) for data in self._good),
            ("shares", _joined(json.dumps(_TABLE).encode(), self._share())),
        ):
            self._write(kind, data)
            self._readers[kind]()  # imports what is needed
        for tensor in (tautograd.ones(2), *_without_memory(tautograd)):
            tensor.detach().clone()  # as the check does with what was read
        self._import_the_rest()
        self._watch = process_state.Watch()
        self._state = self._watch.state()
        self._audit = process_state.Audit()
        self._since = 0

    def _import_the_rest(self) -> None:
        """Import what only some files need, so that no later file is blamed for a module."""
        for name in ("ast", "tokenize", "bz2", "lzma", "encodings.cp437", "encodings.latin_1",
                     "tautograd._nearest", "tautograd._names.table", "tautograd._names.resolve",
                     "tautograd._names.reasons",
                     "encodings.idna"):  # fmt: skip
            importlib.import_module(name)
        rng = random.Random(0)
        for _ in range(300):
            kind, make = rng.choice((("safetensors", _tensors), ("numpy", _npy), ("numpy", _npz)))
            data = make(rng)
            self._write(kind, damaged(data, rng) if rng.random() < 0.5 else data)
            with contextlib.suppress(*self._refusals[kind]):
                self._readers[kind]()

    @staticmethod
    def _saved(torch: Any, value: Any, protocol: int) -> bytes:
        file = io.BytesIO()
        torch.save(value, file, pickle_protocol=protocol)
        return file.getvalue()

    def _share(self) -> bytes:
        torch = self._tautograd
        return self._saved(torch, {"x": torch.ones(2), "n": 3, "o/p": [torch.ones(1)]}, 2)

    def _read_shares(self) -> Any:
        """Read a one-rank checkpoint into a state."""
        import tautograd.distributed.checkpoint as checkpoint

        torch = self._tautograd
        state = {"x": torch.zeros(2), "n": 1, "o": {"p": None}}
        try:
            checkpoint.load(state, checkpoint_id=self._folder.name)
        except BaseException:
            assert state["x"].tolist() == [0.0, 0.0], "a checkpoint that was refused was half read"
            raise
        return state

    def _write(self, kind: str, data: bytes) -> None:
        self._data = data
        if kind == "shares":
            table, share = _parted(data)
            for name, content in ((".metadata", table), ("__0_0.distcp", share)):
                with open(os.path.join(self._folder.name, name), "wb") as file:
                    file.write(content)
            return
        if kind in ("pt", "objects"):  # which are read from memory as well
            return
        with open(self._path, "wb") as file:
            file.write(data)

    # ---- cases -----------------------------------------------------------------------------------

    def case(self, rng: random.Random) -> Case:
        kind = rng.choice(("pt", "pt", "pt", "pt", "objects", "safetensors", "numpy", "shares"))
        if kind == "pt" or (kind == "objects" and rng.random() < 0.5):
            data = self._checkpoint(rng)
        elif kind == "objects":
            data = archive(_object_pickle(rng))
        elif kind == "safetensors":
            data = _tensors(rng)
        elif kind == "shares":
            self._made()
            share = self._checkpoint(rng) if rng.random() < 0.3 else self._share()
            if rng.random() < 0.2:
                share = damaged(share, rng)
            return {"kind": kind, "data": base64.b64encode(_joined(_table(rng), share)).decode()}
        else:
            data = rng.choice((_npy, _npz))(rng)
        if rng.random() < 0.2:
            data = damaged(data, rng)
        return {"kind": kind, "data": base64.b64encode(data).decode()}

    def _checkpoint(self, rng: random.Random) -> bytes:
        chance = rng.random()
        if chance < 0.15:
            return damaged(rng.choice(self._made()), rng)
        pickled = crafted_pickle(rng)
        if chance < 0.3:  # part of a genuine pickle, and something else
            good = rng.choice(self._pickled())
            at = rng.randrange(2, len(good))
            pickled = good[:at] + rng.choice((rng.randbytes(2), pickled[2:], b"")) + good[at:]
        elif chance < 0.4:
            pickled = damaged(rng.choice(self._pickled()), rng)
        return archive(pickled, deflated=rng.random() < 0.1)

    def _made(self) -> list[bytes]:
        if not hasattr(self, "_good"):
            self.prepare()
        return self._good

    def _pickled(self) -> list[bytes]:
        self._made()
        return self._pickles

    # ---- checks ----------------------------------------------------------------------------------

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        self._made()
        kind = case["kind"]
        data = base64.b64decode(case["data"])
        self._write(kind, data)
        counts["files"] += 1
        counts[f"files: {kind}"] += 1
        self._since = (self._since + 1) % _FULL
        peak = _peak() if self._since == 0 else 0
        began = time.process_time()
        found: Any = None
        said: BaseException | None = None
        self._audit.events.clear()
        try:
            with self._audit:
                found = self._readers[kind]()
        except self._refusals[kind] as error:
            said = error
        except (OSError, MemoryError) as error:
            return f"{type(error).__name__} for a file of kind {kind}\n{error}"
        seconds = time.process_time() - began
        events = [event for event in self._audit.events if event not in ("open", "os.open")]
        if events:
            return f"reading a file raises the event {events[0]}"
        if process_state.ran:
            process_state.ran.clear()
            return "a file ran what it named"
        after = self._watch.state()
        if after != self._state:
            changed = process_state.difference(self._state, after)
            self._state = after
            return f"a file changed the process\n{changed}"
        if seconds > SECONDS:
            return f"a file of kind {kind} takes long\n{seconds:.1f} s"
        if peak and _peak() - peak > MEMORY + 20 * len(data):
            return f"a file of kind {kind} takes much memory\n{(_peak() - peak) >> 20} MB"
        if said is not None:
            text = str(said)
            if not text or (kind != "safetensors" and not text.isprintable()) or len(text) > 1000:
                return f"a refusal that is no sentence\n{text[:200]!r}"
            return None
        counts["files that were read"] += 1
        return self._not_data(found)

    def _not_data(self, found: Any) -> str | None:
        """Require that everything read is data, all the way down, and can be accessed."""
        tautograd, np = self._tautograd, self._np
        leaves = (
            int, float, complex, str, bytes, bytearray, type(None), type, tautograd.Tensor,
            tautograd.dtype, tautograd.device, type(tautograd.strided), np.ndarray, np.generic,
            tautograd.nn.Module, tautograd.optim.Optimizer, type(_peak),
            tautograd.storage.TypedStorage, tautograd.storage.UntypedStorage,
        )  # fmt: skip
        waiting, seen = [found], set()
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                waiting += (
                    [*value.keys(), *value.values(), *vars(value).values()]
                    if type(value).__name__ == "OrderedDict"
                    else [*value.keys(), *value.values()]
                )
            elif isinstance(value, (list, tuple, set, frozenset)):
                waiting += value
            elif not isinstance(value, leaves):
                return f"a file was read as a {type(value).__name__}"
            elif isinstance(value, tautograd.Tensor) and value.numel() < 1000:
                value.detach().clone()
        return None

    def smaller(self, case: Case) -> Iterator[Case]:
        data = base64.b64decode(case["data"])
        parts = [data]
        if case["kind"] in ("pt", "objects"):
            try:
                pickled = zipfile.ZipFile(io.BytesIO(data)).read("archive/data.pkl")
            except (
                zipfile.BadZipFile,
                KeyError,
                NotImplementedError,
                RuntimeError,
                zlib.error,
                ValueError,
            ):
                pickled = b""
            step = max(len(pickled) // 2, 1)
            while pickled and step:
                for at in range(2, len(pickled), step):
                    yield self._case(case, archive(pickled[:at] + pickled[at + step :]))
                step //= 2
        for whole in parts:
            step = max(len(whole) // 2, 1)
            while step > 4:
                for at in range(0, len(whole), step):
                    yield self._case(case, whole[:at] + whole[at + step :])
                step //= 2

    @staticmethod
    def _case(case: Case, data: bytes) -> Case:
        return {**case, "data": base64.b64encode(data).decode()}


def _without_memory(torch: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's CSR is "in beta state"
        dense = torch.eye(2)
        return [dense.to_sparse(), dense.to_sparse_csr(), torch.ones(2, device="meta")]


_MADE = ("torch.nn.modules.linear Linear", "torch.nn Sequential", "torch.optim.sgd SGD",
         "torch.nn.modules.rnn LSTM", "fuzz.process_state Trap", "torch.nn.modules.module Module")  # fmt: skip
_VALUES = ("torch set_default_dtype", "torch manual_seed", "torch.hub set_dir", "torch load",
           "torch.nn.functional relu", "torch set_num_threads", "os system", "torch.nn Linear.forward",
           "fuzz.process_state canary", "fuzz.process_state Trap.trap", "torch save", "torch float64")  # fmt: skip


def _object_pickle(rng: random.Random) -> bytes:
    """A pickle of an object whose attributes would be called, if anything queried the object."""

    def named(pair: str) -> bytes:
        module, _, name = pair.partition(" ")
        return f"c{module}\n{name}\n".encode()

    made = named(rng.choice(_MADE)) + rng.choice((b")", b"K\x01\x85", b"N\x85")) + b"\x81"
    keys = ("__setstate__", "__class__", "__call__", "__reduce__", "forward", "_modules", "__new__",
            "_forward_hooks", "state", "param_groups", "__dict__", "_step_hooks")  # fmt: skip
    for _ in range(rng.randrange(1, 4)):
        state = b"}"
        for _ in range(rng.randrange(0, 3)):
            key = rng.choice(keys).encode()
            value = rng.choice(
                (named(rng.choice(_VALUES)), b"K\x07", b"N", b"}", named("torch float64"))
            )
            state += b"X" + struct.pack("<I", len(key)) + key + value + b"s"
        made += (
            rng.choice((state, state, b"N" + state + b"\x86", named("torch float64"), b"K\x07"))
            + b"b"
        )
    return b"\x80\x02" + made + b"."


def _peak() -> int:
    """The process's peak memory, in bytes."""
    import resource

    gc.collect(0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _lie(rng: random.Random, fair: int) -> int:
    return fair if rng.random() < 0.8 else rng.choice(NUMBERS)


def _tensors(rng: random.Random) -> bytes:
    """A `.safetensors` file, possibly with a wrong header."""
    header: dict[str, Any] = {}
    end = 0
    for name in ("a", "b", "")[: rng.randrange(1, 4)]:
        kind = rng.choice(("F32", "F32", "I64", "BF16", "BOOL", "C64", "F8_E4M3", "F4", "X", ""))
        size = {"F32": 4, "I64": 8, "BF16": 2, "C64": 8}.get(kind, 1)
        shape = [_lie(rng, n) for n in (2, 3)[: rng.randrange(3)]]
        count = size
        for n in (2, 3)[: len(shape)]:
            count *= n
        header[name] = {
            "dtype": kind, "shape": shape, "data_offsets": [_lie(rng, end), _lie(rng, end + count)],
        }  # fmt: skip
        end += count
    if rng.random() < 0.3:
        header["__metadata__"] = rng.choice(
            ({"format": "pt"}, {"a": 1}, [], None, {"\ud800": "\x1b"})
        )
    text = json.dumps(header).encode()
    if rng.random() < 0.05:
        text = b"[" * rng.choice((10, 100_000)) + text
    return struct.pack("<Q", _lie(rng, len(text)) & (2**64 - 1)) + text + rng.randbytes(end)


def _npy(rng: random.Random) -> bytes:
    """A `.npy` file, possibly with a wrong header."""
    descr = rng.choice(
        ("'<f8'", "'<f4'", "'|b1'", "'>i4'", "'<c16'", "'|O'", "'<U9'", "[('a', '<f8')]", "'<f9'")
    )
    shape = rng.choice(
        ("(2, 3)", "(6,)", "()", f"({rng.choice(NUMBERS)},)", "(0, 9999999999999)", "((2,),)")
    )
    fields = [
        f"'descr': {descr}",
        f"'fortran_order': {rng.choice(('False', 'True', '0'))}",
        f"'shape': {shape}",
    ]
    if rng.random() < 0.1:
        fields.append(
            rng.choice(("'descr': '<f8'", "'a': __import__('os')", "-" * 5000 + "1", "(" * 3000))
        )
    if rng.random() < 0.2:
        rng.shuffle(fields)
    text = ("{" + ", ".join(fields) + ", }").ljust(100).encode() + b"\n"
    version = rng.choice((1, 1, 1, 2, 3, 9))
    width = 2 if version == 1 else 4
    length = (_lie(rng, len(text)) & (256**width - 1)).to_bytes(width, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + rng.randbytes(48)


_TABLE = {"version": 1, "ranks": 1, "values": {
    key: {"file": "__0_0.distcp", "is": ["object"]} for key in ("x", "n", "o/p")}}  # fmt: skip


def _joined(table: bytes, share: bytes) -> bytes:
    """The two files of a checkpoint as one."""
    return struct.pack("<I", len(table)) + table + share


def _parted(data: bytes) -> tuple[bytes, bytes]:
    end = 4 + int.from_bytes(data[:4], "little")
    return data[4:end], data[end:]


def _table(rng: random.Random) -> bytes:
    """The table of a checkpoint, possibly wrong."""
    odd = ("../file", "..", "", "/etc/passwd", "file", ".metadata", "__1_0.distcp", "__0_0.distcp\0", 3, None,
           [], {}, "__0_0.distcp/", "\ud800", {"file": "__0_0.distcp"}, 10**400, True)  # fmt: skip
    table = json.loads(json.dumps(_TABLE))
    for _ in range(rng.randrange(3)):
        holder = rng.choice((table, table["values"], *table["values"].values()))
        if not isinstance(holder, dict):
            continue
        holder[rng.choice((*holder, "x"))] = copy.copy(rng.choice(odd))  # never in itself
        if not isinstance(table.get("values"), dict):
            break
    text = json.dumps(table).encode()
    if rng.random() < 0.05:
        text = b"[" * rng.choice((10, 100_000)) + text
    return damaged(text, rng) if rng.random() < 0.2 else text


def _npz(rng: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as made:
        for name in ("a.npy", "b.npy", "c")[: rng.randrange(1, 4)]:
            made.writestr(name, _npy(rng))
    return file.getvalue()


TARGET = Files()
