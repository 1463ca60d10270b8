"""Pickles that nobody would save: every opcode, every way to reach a name, wrong numbers and lengths.

Sequences of opcodes are random, but mostly such that the stack has what an opcode takes,
so that they get deep into a reader before they fail.
"""

from __future__ import annotations

import pickletools
import random
import struct
from collections.abc import Callable

# What a checkpoint reader knows, and what no reader may ever run.
KNOWN = (
    "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", "torch Size",
    "torch._utils _rebuild_parameter_with_state", "torch._tensor _rebuild_from_type_v2",
    "torch Tensor", "torch.nn.parameter Parameter", "torch device", "torch.serialization _get_layout",
    "collections OrderedDict", "collections Counter", "builtins complex", "builtins set",
    "builtins frozenset", "builtins bytearray", "builtins bytes", "__builtin__ set", "_codecs encode",
    "numpy dtype", "numpy._core.multiarray scalar", "numpy.core.multiarray scalar",
    "torch FloatStorage", "torch LongStorage", "torch BoolStorage", "torch ComplexFloatStorage",
    "torch float32", "torch int64", "torch bool", "torch bfloat16",
)  # fmt: skip
HOSTILE = (
    "os system", "posix system", "nt system", "builtins exec", "builtins eval", "builtins __import__",
    "builtins getattr", "builtins setattr", "builtins object", "builtins type", "builtins open",
    "builtins list", "builtins dict", "builtins int", "builtins str", "builtins tuple", "builtins map",
    "operator attrgetter", "operator methodcaller", "operator setitem", "functools partial",
    "importlib import_module", "copyreg _reconstructor", "copyreg add_extension", "copyreg __newobj__",
    "copy_reg _reconstructor", "types FunctionType", "types CodeType", "subprocess Popen",
    "collections defaultdict", "collections namedtuple", "collections OrderedDict.__init__",
    "collections Counter.update", "torch Tensor.__setstate__", "torch load", "torch._utils _rebuild_tensor",
    "torch.storage _load_from_bytes", "torch.jit load", "torch._utils _set_obj_state", "torch hub.load",
    "torch.sparse FloatTensor", "torch QInt8Storage", "torch bits8", "torch.storage UntypedStorage",
    "numpy._core.multiarray _reconstruct", "numpy ndarray", "numpy load", "numpy.f2py.crackfortran myeval",
    "tautograd load", "tautograd._files.reading read", "tautograd._tensor.copying rebuild", "sys modules",
    "codecs decode", "pickle loads", "runpy run_path", "pty spawn", "webbrowser open", "timeit timeit",
    "fuzz.process_state canary", "__main__ canary", "torch", " ", "\u202e x", "a" * 150 + " b",
)  # fmt: skip

OPCODES = {op.name: op.code.encode("latin1") for op in pickletools.opcodes}
TEXTS = (
    "storage", "0", "1", "2", "cpu", "cuda:0", "a", "b", "_metadata", "__dict__", "__class__", "latin1",
    "keys", "_data", "_fields", "__setstate__", "f8", "O8", "V16", "<", "torch.strided", "conj", "neg",
    "\ud800", "\x1b[31m", "é" * 40, "name", "numpy", "__reduce__", "items", "requires_grad",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    255,
    256,
    65535,
    2**31 - 1,
    2**31,
    2**32,
    2**61 - 1,
    2**63 - 1,
    2**63,
    2**64,
    -1,
)

Rng = random.Random


def text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return OPCODES["BINUNICODE"] + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if len(data) > 255:
        return OPCODES["LONG4"] + struct.pack("<i", len(data)) + data
    return OPCODES["LONG1"] + bytes([len(data)]) + data


def named(name: str) -> bytes:
    module, _, rest = name.partition(" ")
    return f"c{module}\n{rest}\n".encode()


def storage(key: str = "0", kind: str = "torch FloatStorage", size: int = 4) -> bytes:
    """The memory of a tensor."""
    parts = text("storage") + named(kind) + text(key) + text("cpu") + number(size)
    return b"(" + parts + b"tQ"


def tensor(rng: Rng) -> bytes:
    """A tensor, possibly with wrong numbers."""

    def some(fair: int) -> bytes:
        return number(fair if rng.random() < 0.8 else rng.choice(NUMBERS))

    kind = rng.choice(("Float", "Long", "Bool", "ComplexFloat"))
    size = {"Float": 4, "Long": 2, "Bool": 16, "ComplexFloat": 2}[kind]  # of the first record
    if rng.random() < 0.1:
        size = rng.choice((4, 1, 0, 10**6, -1, 2**63))
    memory = storage(rng.choice("0000000112"), f"torch {kind}Storage", size)
    shape = some(2) + b"\x85" + some(1) + b"\x85"
    rest = rng.choice(
        (b"", b"", b"}", b"}" + text("conj") + b"\x88s", b"}" + text("neg") + b"\x88s")
    )
    wants = rng.choice((b"\x89",) * 8 + (b"\x88", b"K\x01"))
    args = memory + some(0) + shape + wants + named("collections OrderedDict") + b")R" + rest
    return named("torch._utils _rebuild_tensor_v2") + b"(" + args + b"tR"


def parameter(rng: Rng) -> bytes:
    """A parameter, possibly with attributes."""
    hooks = named("collections OrderedDict") + b")R"
    if rng.random() < 0.5:
        return named("torch._utils _rebuild_parameter") + tensor(rng) + b"\x88" + hooks + b"\x87R"
    state = b"}" + text(rng.choice(TEXTS)) + any_value(rng, 2) + b"s"
    return (
        named("torch._utils _rebuild_parameter_with_state")
        + b"(" + tensor(rng) + b"\x88" + hooks + state + b"tR"
    )  # fmt: skip


def any_value(rng: Rng, depth: int = 0) -> bytes:
    """A value of any kind."""
    kind = rng.randrange(16 if depth < 3 else 8)
    if kind == 0:
        return text(rng.choice(TEXTS))
    if kind == 1:
        return number(rng.choice(NUMBERS) * rng.choice((1, 1, -1)))
    if kind == 2:
        return rng.choice((b"N", b"\x88", b"\x89", b")", b"]", b"}", OPCODES["EMPTY_SET"]))
    if kind == 3:
        return b"G" + rng.choice(
            (b"\x7f\xf8" + bytes(6), struct.pack(">d", rng.random()), bytes(8))
        )
    if kind == 4:
        return OPCODES["SHORT_BINBYTES"] + b"\x02ab"
    if kind == 5:
        return named(rng.choice(KNOWN))
    if kind == 6:
        return named(rng.choice(HOSTILE)) if rng.random() < 0.1 else number(rng.randrange(300))
    if kind == 7:
        return tensor(rng)
    inner = [any_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 8:
        return b"(" + b"".join(inner) + b"t"
    if kind == 9:
        return b"](" + b"".join(inner) + b"e"
    if kind == 10:
        return b"}(" + b"".join(any_value(rng, depth + 1) + v for v in inner) + b"u"
    if kind == 11:
        return OPCODES["EMPTY_SET"] + b"(" + b"".join(inner) + OPCODES["ADDITEMS"]
    if kind == 12:
        return b"(" + b"".join(inner) + OPCODES["FROZENSET"]
    if kind == 13:
        return parameter(rng)
    if kind == 14:
        return (
            named(rng.choice(KNOWN)) + b"(" + b"".join(inner) + b"t" + rng.choice((b"R", b"\x81"))
        )
    return any_value(rng, depth + 1) + any_value(rng, depth + 1) + b"b"  # a state for anything


def with_state(rng: Rng) -> bytes:
    """BUILD on whatever a file can reach, with states of every form."""
    target = rng.choice((
        lambda: named(rng.choice(KNOWN)), lambda: tensor(rng), lambda: parameter(rng),
        storage, lambda: named("collections OrderedDict") + b")R",
        lambda: named("collections Counter") + b")R", lambda: named("numpy dtype") + text("f8") + b"\x85R",
        lambda: named("torch device") + text("cpu") + b"\x85R", lambda: any_value(rng, 2),
    ))()  # fmt: skip
    entry = text(
        rng.choice((*TEXTS, "name", "itemsize", "update", "__init__", "__missing__", "_grad"))
    )
    entries = b"}" + entry + any_value(rng, 2) + b"s"
    state = rng.choice((
        entries, b"N" + entries + b"\x86", entries + entries + b"\x86", entries + b"N\x86",
        b"(" + number(3) + text(">") + b"NNN" + number(-1) * 2 + number(0) + b"t", any_value(rng, 1),
    ))  # fmt: skip
    return target + state + b"b"


def call(rng: Rng) -> bytes:
    """A call of anything with anything, by each calling opcode."""
    name = rng.choice(HOSTILE if rng.random() < 0.3 else KNOWN)
    module, _, rest = name.partition(" ")
    args = b"(" + b"".join(any_value(rng, 2) for _ in range(rng.randrange(5))) + b"t"
    return rng.choice((
        named(name) + args + b"R",
        text(module) + text(rest) + OPCODES["STACK_GLOBAL"] + args + b"R",
        named(name) + args + OPCODES["NEWOBJ"],
        named(name) + args + b"}" + OPCODES["NEWOBJ_EX"],
        b"(" + text("true") + f"i{module}\n{rest}\n".encode(),
        b"(" + named(name) + text("true") + b"o",
        OPCODES["EXT1"] + b"\x01" + args + b"R",
        OPCODES["EXT2"] + b"\x2c\x01" + args + b"R",
        OPCODES["EXT4"] + struct.pack("<i", 70_000) + args + b"R",
    ))  # fmt: skip


def opcode(rng: Rng) -> bytes:
    """Any one opcode of the language, with an argument of its form."""
    op = rng.choice(pickletools.opcodes)
    code = op.code.encode("latin1")
    if op.arg is None:
        return code
    if op.arg.n == pickletools.UP_TO_NEWLINE:
        line = rng.choice(("0", "1", "00", "99999999", "a", "'a'", "1.5", "os", "-1L", "\\u0041"))
        return code + f"{line}\n".encode() * (2 if op.name in ("GLOBAL", "INST") else 1)
    if op.arg.n >= 0:
        return code + rng.choice(
            (bytes(op.arg.n), b"\x01" + bytes(op.arg.n - 1), rng.randbytes(op.arg.n))
        )
    width = {pickletools.TAKEN_FROM_ARGUMENT1: 1, pickletools.TAKEN_FROM_ARGUMENT8U: 8}.get(
        op.arg.n, 4
    )
    data = rng.randbytes(rng.randrange(6))
    length = (
        len(data)
        if rng.random() < 0.8
        else rng.choice((255, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1))
    )
    return code + (length & (256**width - 1)).to_bytes(width, "little") + data


def memo(rng: Rng) -> bytes:
    """Memo writes and reads, far apart or before anything is stored."""
    index = rng.choice((0, 1, 2, 3, 255))
    far = rng.choice((0, 1, 300, 10**6, 2**31 - 1, 2**32 - 1))
    return rng.choice((
        OPCODES["MEMOIZE"], b"q" + bytes([index]), b"h" + bytes([index]), b"h\x00", b"h\x01",
        b"r" + struct.pack("<I", far), b"j" + struct.pack("<I", far),
        f"p{far}\n".encode(), f"g{far}\n".encode(), OPCODES["DUP"], b"0", b"1",
    ))  # fmt: skip


_PARTS: tuple[tuple[Callable[[Rng], bytes], int], ...] = (
    (any_value, 6), (with_state, 4), (call, 3), (opcode, 3), (memo, 4), (tensor, 2), (parameter, 1),
)  # fmt: skip
_MAKERS = [maker for maker, weight in _PARTS for _ in range(weight)]


def crafted_pickle(rng: Rng) -> bytes:
    """A pickle of a few parts, perhaps in a container, of any protocol."""
    protocol = rng.choice((2, 2, 2, 3, 4, 5)) if rng.random() < 0.97 else rng.randrange(256)
    parts = [rng.choice(_MAKERS)(rng) for _ in range(rng.randrange(1, 7))]
    body = b"".join(parts)
    if rng.random() < 0.5:
        body = rng.choice((b"](" + body + b"e", b"(" + body + b"t"))
    return b"\x80" + bytes([protocol]) + body + (b"." if rng.random() < 0.95 else b"")
