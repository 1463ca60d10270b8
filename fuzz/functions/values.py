"""Arguments as JSON, and decoding them for an engine: hostile ones, and nearly right ones.

A tensor is `{"tensor": [dtype, shape, fill, layout, requires_grad]}`, with `fill` one of FILLS; a
value that JSON cannot express is a dictionary with one key, the name of a row of `_MAKERS`.
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = (
    *("float32", "float32", "float32", "float64", "float64", "int64", "int64", "bool", "int32"),
    *("uint8", "int8", "int16", "bfloat16", "float16", "complex64", "complex128"),
)
RARE = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
"""Dtypes for storage; few functions compute with them."""
FILLS = (
    "normal",
    "normal",
    "normal",
    "range",
    "zeros",
    "ones",
    "nan",
    "inf",
    "huge",
    "tiny",
    "mixed",
)
LAYOUTS = ("plain", "plain", "plain", "transposed", "strided", "expanded", "sliced")
ELSEWHERE = ("sparse_coo", "sparse_csr", "sparse_csc", "meta")
"""Layouts of tensors that have no plain memory."""
INTEGERS = (0, -1, 1, 2, 7, -7, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 10**12, 2**62)
WIDE = (2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 10**30, -(10**30))
STRINGS = ("", "mean", "x", "cpu", "cuda", "meta", "i->i", "float32", "\0", "é\ud800", "a" * 300)
NUMPY = ("int64", "float32", "float64", "bool", "int8", "complex64")


class UserError(Exception):
    """Raised by a program's own callable: it must propagate unchanged."""


def _fails(*_: Any, **__: Any) -> Any:
    raise UserError("the program's own")


CALLABLES: dict[str, Callable[..., Any]] = {
    "same": lambda x, *_, **__: x,
    "square": lambda x, *_, **__: (x * x).sum(),
    "double": lambda x, *_, **__: x * 2,
    "none": lambda *_, **__: None,
    "number": lambda *_, **__: 3,
    "fails": _fails,
}


class Decoder:
    """Decodes the values of a case for one engine; equal ones on both."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.tensors: list[tuple[Any, np.ndarray[Any, Any]]] = []  # with their initial contents
        self.made: list[Any] = []  # the same as they are given to the call

    def value(self, code: Any) -> Any:
        """The value of a code."""
        if isinstance(code, list):
            return [self.value(part) for part in code]
        if isinstance(code, dict):
            ((kind, content),) = code.items()
            return _MAKERS[kind](self, content)
        return code

    def tensor(self, content: Any) -> Any:
        """A tensor; a copy of its contents is kept for later."""
        dtype, shape, fill, layout, wants = content
        torch = self.engine
        array = filled(tuple(shape), dtype, fill)
        if dtype in _FOREIGN:
            whole = torch.from_numpy(array.astype(np.float32)).to(getattr(torch, dtype))
        else:
            whole = torch.from_numpy(array).clone()  # PyTorch can resize its memory
        tensor = _laid_out(whole, "plain" if layout in ELSEWHERE and dtype in RARE else layout)
        self.tensors.append((whole, array.copy()))
        if wants and tensor.is_floating_point():
            tensor = tensor.detach() if layout != "plain" else tensor
            tensor.requires_grad_(True)
        self.made.append(tensor)
        return tensor

    def same(self, content: Any) -> Any:
        """A tensor that is an argument already."""
        return self.made[content] if content < len(self.made) else None

    def parameter(self, content: Any) -> Any:
        """A parameter, which requires grad if its dtype allows it."""
        held = self.tensor(content).detach()
        return self.engine.nn.Parameter(held, held.is_floating_point() or held.is_complex())

    def module(self, content: Any) -> Any:
        """A small module."""
        torch = self.engine
        if content == "linear":
            return torch.nn.Linear(2, 2)
        return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())

    def optimizer(self, content: Any) -> Any:
        """An optimizer over one parameter."""
        torch = self.engine
        return torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)


_FOREIGN = {name: getattr(ml_dtypes, name) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}


def filled(shape: tuple[int, ...], dtype: str, fill: str) -> np.ndarray[Any, Any]:
    """An array of some kind of values."""
    count = math.prod(shape)
    kind = np.dtype(_FOREIGN.get(dtype, dtype))
    if fill == "normal":
        values = np.sin(np.arange(count) * 1.7 + 0.3) * 2
    elif fill == "range":
        values = np.arange(count) % 3
    elif fill in ("zeros", "ones"):
        values = np.full(count, float(fill == "ones"))
    elif kind.kind in "iub":
        limits = np.iinfo(kind) if kind.kind != "b" else None
        ends = (0, 1) if limits is None else (limits.min, limits.max)
        both = np.array([ends[i % 2] for i in range(count)], dtype=kind)
        return both.reshape(shape)
    else:
        odd = {"nan": [math.nan], "inf": [math.inf, -math.inf], "huge": [3e38, -3e38],
               "tiny": [1e-42, -1e-42]}.get(fill, [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0])  # fmt: skip
        values = np.array([odd[i % len(odd)] for i in range(count)], dtype=np.float64)
    with np.errstate(all="ignore"):
        if kind.kind == "b":
            return (values > 0).reshape(shape)
        return values.astype(kind).reshape(shape)


def _laid_out(whole: Any, layout: str) -> Any:
    if layout == "meta":
        return whole.to("meta")
    if layout == "sparse_coo":
        return whole.to_sparse()
    if layout in ELSEWHERE and whole.dim() == 2:
        return getattr(whole, f"to_{layout}")()
    if layout == "transposed" and whole.dim() > 1:
        return whole.transpose(0, -1)
    if layout == "strided" and whole.dim() > 0 and whole.shape[-1] > 1:
        return whole[..., ::2]
    if layout == "expanded":
        return whole.reshape(-1)[0].expand(tuple(whole.shape)) if whole.numel() else whole
    if layout == "sliced" and whole.dim() > 0 and whole.shape[0] > 1:
        return whole[1:]
    return whole


_MAKERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "tensor": Decoder.tensor,
    "same": Decoder.same,
    "module": Decoder.module,
    "optimizer": Decoder.optimizer,
    "parameter": Decoder.parameter,
    "float": lambda made, c: float(c),
    "complex": lambda made, c: complex(float(c[0]), float(c[1])),
    "tuple": lambda made, c: tuple(made.value(part) for part in c),
    "dict": lambda made, c: OrderedDict((key, made.value(part)) for key, part in c),
    "size": lambda made, c: made.engine.Size(c),
    "name": lambda made, c: getattr(made.engine, c),
    "device": lambda made, c: made.engine.device(c),
    "generator": lambda made, c: made.engine.Generator().manual_seed(c),
    "ellipsis": lambda made, c: ...,
    "slice": lambda made, c: slice(*[made.value(part) for part in c]),
    "number": lambda made, c: np.dtype(c[0]).type(c[1]),
    "array": lambda made, c: filled(tuple(c[1]), c[0], c[2]),
    "callable": lambda made, c: CALLABLES[c],
    "object": lambda made, c: object(),
    "type": lambda made, c: {"int": int, "float": float, "list": list}[c],
    "bytes": lambda made, c: c.encode(),
    "iterator": lambda made, c: iter([made.value(part) for part in c]),
}


# ---- hostile values ------------------------------------------------------------------------------


def hostile(rng: random.Random, size: int = 2) -> Any:
    """A value that few functions expect."""
    return rng.choice(_HOSTILE)(rng, size)


def hostile_like(rng: random.Random, code: Any, size: int = 2) -> Any:
    """A hostile value of the same kind as the original, which a parser lets through."""
    if isinstance(code, dict) and ("tensor" in code or "parameter" in code):
        return hostile_tensor(rng, size)
    if isinstance(code, bool) or code is None or isinstance(code, (str, dict)):
        return hostile(rng, size)
    if isinstance(code, int):
        return rng.choice(INTEGERS) if rng.random() < 0.8 else rng.choice(WIDE)
    if isinstance(code, float):
        return _float(rng, size)
    if code and isinstance(code[0], int):
        return [
            rng.choice((*INTEGERS, 1, 1, 0))
            for _ in range(rng.choice((0, 1, 2, len(code), len(code))))
        ]
    return _list(rng, size)


def some_dtype(rng: random.Random, usual: tuple[str, ...] = ()) -> str:
    """A dtype, occasionally a rare one."""
    return rng.choice(RARE if rng.random() < 0.04 else (*usual, *DTYPES))


def hostile_tensor(rng: random.Random, size: int) -> Any:
    shapes = (
        [],
        [0],
        [size, 0],
        [1],
        [size],
        [size] * 2,
        [size] * 3,
        [0, size, 1],
        [1] * 7,
        [size + 1],
    )
    return tensor(
        rng.choice((*shapes, [size] * 4)), some_dtype(rng), rng.choice(FILLS[2:]),
        rng.choice(ELSEWHERE if rng.random() < 0.08 else LAYOUTS), rng.random() < 0.2,
    )  # fmt: skip


def tensor(
    shape: list[int], dtype: str = "float32", fill: str = "normal", layout: str = "plain",
    wants: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The code of a tensor."""
    return {"tensor": [dtype, list(shape), fill, layout, wants]}


def _number(rng: random.Random, size: int) -> Any:
    return rng.choice((*INTEGERS, *WIDE))


def _float(rng: random.Random, size: int) -> Any:
    odd = (
        {"float": "nan"},
        {"float": "inf"},
        {"float": "-inf"},
        1e30,
        -1e30,
        1e-320,
        0.5,
        -0.0,
        1.0,
    )
    return rng.choice(odd)


def _list(rng: random.Random, size: int) -> Any:
    parts = rng.choice(
        (
            [], [0], [1, 1], [-1], [2**63], [2**62, 4], [1, 2, 3, 4, 5, 6], [[1, 2], [3]], ["x"], [None],
            [1.5], [True], [{"float": "nan"}], [hostile_tensor(rng, size)],
            [hostile_tensor(rng, size), hostile_tensor(rng, size)],
        )
    )  # fmt: skip
    return {"tuple": parts} if rng.random() < 0.4 else parts


def _odd(rng: random.Random, size: int) -> Any:
    return rng.choice(
        (
            None, None, True, False, {"ellipsis": 0}, {"slice": [None, None, -1]}, {"object": 0},
            {"type": "int"}, {"type": "list"}, {"complex": [1, "nan"]}, {"complex": [0, 1]}, {"dict": []},
            {"dict": [["a", 1]]}, {"size": [2, 2]}, {"device": "cpu"}, {"device": "meta"},
            {"generator": 3}, {"callable": "fails"}, {"callable": "same"}, {"bytes": "x"},
            {"iterator": [1, 2]}, {"module": "linear"}, {"tuple": []},
        )
    )  # fmt: skip


def _named(rng: random.Random, size: int) -> Any:
    names = (
        "float32",
        "int64",
        "bool",
        "complex64",
        "bfloat16",
        "strided",
        "channels_last",
        "preserve_format",
        "sparse_coo",
        "sparse_csr",
    )
    return {"name": rng.choice(names)}


def _of_numpy(rng: random.Random, size: int) -> Any:
    if rng.random() < 0.5:
        return {"number": [rng.choice(NUMPY), rng.choice((0, 1, -1, 3))]}
    return {"array": [rng.choice(NUMPY), rng.choice(([], [2], [0], [2, 2])), "range"]}


def _string(rng: random.Random, size: int) -> Any:
    return rng.choice(STRINGS)


_HOSTILE: tuple[Callable[[random.Random, int], Any], ...] = (
    hostile_tensor, hostile_tensor, hostile_tensor, _number, _number, _float, _list, _list, _odd, _odd,
    _named, _of_numpy, _string,
)  # fmt: skip
