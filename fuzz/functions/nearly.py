"""Calls that are right except for one or two arguments.

All sizes of a case are the same number, so that shapes usually fit together, whatever the function does
with them: a kernel, a weight and an image of three in every dimension make a convolution.
"""

from __future__ import annotations

import random
import re
from typing import Any

from fuzz.functions.names import NOT_PARAMETERS, Parameter, Public
from fuzz.functions.values import (
    CALLABLES,
    ELSEWHERE,
    FILLS,
    LAYOUTS,
    hostile,
    hostile_like,
    some_dtype,
    tensor,
)
from fuzz.functions.ways import way_of

_WORDS = {
    "reduction": ("mean", "sum", "none"),
    "mode": (
        "bilinear",
        "nearest",
        "linear",
        "constant",
        "reflect",
        "mean",
        "sum",
        "reduced",
        "min",
        "fan_in",
    ),
    "padding_mode": ("zeros", "border", "reflection", "circular", "replicate"),
    "rounding_mode": ("trunc", "floor", None),
    "indexing": ("ij", "xy"),
    "equation": ("ij,jk->ik", "i,i", "ij->ji", "...i,i->..."),
    "reduce": ("sum", "prod", "mean", "amax", "amin"),
    "approximate": ("none", "tanh"),
    "nonlinearity": ("relu", "tanh", "leaky_relu"),
    "driver": (None, "gesvd", "gels"),
    "interpolation": ("linear", "lower", "nearest"),
    "side": ("left", "right"),
    "ord": ("fro", "nuc", 2, 1),
    "p": ("fro", 2, 1, 0.5),
    "UPLO": ("L", "U"),
    "method": ("cholesky_inverse",),
    "batch_dim": (0,),
}
_INDEX = re.compile(r"^(index|indices|target|tokens|labels|offsets|lengths|sorted_sequence_index)")
_VECTOR = re.compile(r"^(bias|running_|mean|var$|vec|pos_weight|batch_sizes|boundaries|tau|pivots)")
_DIM = re.compile(
    r"^(dim|dims|axis|dim0|dim1|start_dim|end_dim|source|destination|axes|dimension|normalized_shape)"
)


class Theme:
    """What the values of one case have in common."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng = rng
        self.size = rng.choice((1, 2, 2, 3, 3, 4))
        digit = re.search(r"(\d)d", name.rpartition(".")[2])
        ranks = (0, 1, 2, 2, 3, 4)
        self.rank = int(digit[1]) + rng.choice((1, 2, 2)) if digit else rng.choice(ranks)
        if "linalg" in name:
            self.rank = rng.choice((2, 2, 2, 3, 1))
        self.dtype = some_dtype(rng, ("float32", "float32", "float64"))
        self.wants = rng.random() < 0.2
        sparse = "sparse" in name and "sparse_" not in name  # functions of sparse tensors
        self.elsewhere = rng.choice(ELSEWHERE) if rng.random() < (0.5 if sparse else 0.02) else ""

    def tensor(self, parameter: str = "") -> Any:
        """A tensor that fits."""
        rng, shape, dtype = self.rng, [self.size] * self.rank, self.dtype
        fill = rng.choice(("normal", "normal", "range", *FILLS)) if rng.random() < 0.5 else "normal"
        if _INDEX.match(parameter) and rng.random() < 0.7:
            dtype, fill = "int64", "range" if self.size > 2 else "zeros"
            if rng.random() < 0.4:
                shape = [self.size]
        elif "mask" in parameter or parameter == "condition":
            dtype = "bool"
        elif _VECTOR.match(parameter) and rng.random() < 0.8:
            shape = [self.size]
        elif rng.random() < 0.12:
            shape = [self.size] * rng.choice((0, 1, 2, 3))
        elif rng.random() < 0.06:
            shape = rng.choice(([2, 3], [2, 3, 4], [1, 3], [3, 1], [0, 3]))
        if rng.random() < 0.06:
            dtype = some_dtype(rng)
        layout = rng.choice(LAYOUTS) if rng.random() < 0.15 else "plain"
        if self.elsewhere and rng.random() < 0.7:
            layout = self.elsewhere
        return tensor(shape, dtype, fill, layout, self.wants)


def nearly_right(rng: random.Random, public: Public) -> dict[str, Any]:
    """A case: a call with right arguments, some of which are then replaced by hostile ones."""
    theme = Theme(rng, public.name)
    parameters = rng.choice(public.overloads)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    plain = True
    for parameter in parameters:
        if parameter.name in NOT_PARAMETERS:
            plain = False
            continue
        if not parameter.required and rng.random() < 0.6:
            plain = False
            continue
        value = right(theme, parameter, public)
        if plain and not parameter.keyword and (parameter.required or rng.random() < 0.5):
            args.append(value)
        else:
            kwargs[parameter.name] = value
            plain = False
    case: dict[str, Any] = {"fn": public.name, "args": args, "kwargs": kwargs}
    if public.is_class:
        inputs = 1 if rng.random() < 0.7 else 2
        if ".nn." in public.name:
            loss = public.name.endswith("Loss")
            case["then"] = [
                theme.tensor("target" if i and loss else "") for i in range(inputs + loss)
            ]
    methods = _METHODS.get(next((p for p in _METHODS if public.name.startswith(p)), ""), ())
    if methods and rng.random() < 0.8:
        name, wants = rng.choice(methods)
        given = theme.tensor() if wants == "tensor" else [theme.size] * rng.randrange(3)
        case["method"] = [
            name,
            [] if wants == "nothing" else [given if wants != "int" else theme.size],
        ]
        if wants != "nothing" and rng.random() < 0.3:
            case["method"][1] = [hostile(rng, theme.size)]
    _spoil(rng, case, theme.size)
    way = way_of(rng, case)
    if way is not None:
        case["way"] = way
    return case


# What to do with an object once it is created, and the arguments for that.
_METHODS = {
    "torch.distributions.": (
        ("sample", "nothing"), ("sample", "shape"), ("rsample", "shape"), ("log_prob", "tensor"),
        ("log_prob", "tensor"), ("cdf", "tensor"), ("icdf", "tensor"), ("entropy", "nothing"),
        ("expand", "shape"), ("mean", "nothing"), ("variance", "nothing"), ("mode", "nothing"),
        ("stddev", "nothing"), ("enumerate_support", "nothing"), ("perplexity", "nothing"),
        ("__call__", "tensor"), ("inv", "nothing"), ("__repr__", "nothing"),
    ),
    "torch.UntypedStorage": (
        ("resize_", "int"), ("__getitem__", "int"), ("fill_", "int"), ("tolist", "nothing"),
        ("nbytes", "nothing"), ("__len__", "nothing"), ("clone", "nothing"), ("size", "nothing"),
    ),
    "torch.TypedStorage": (
        ("resize_", "int"), ("__getitem__", "int"), ("fill_", "int"), ("tolist", "nothing"),
        ("nbytes", "nothing"), ("__len__", "nothing"), ("clone", "nothing"), ("element_size", "nothing"),
    ),
}  # fmt: skip


def _spoil(rng: random.Random, case: dict[str, Any], size: int) -> None:
    """Replace some arguments."""
    draw = rng.random()
    if draw < 0.1:
        return
    if draw > 0.92:  # wild
        case["args"] = [hostile(rng, size) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]
        case["kwargs"] = {key: hostile(rng, size) for key in case["kwargs"] if rng.random() < 0.5}
        return
    if draw > 0.88:
        if rng.random() < 0.5 and case["args"]:
            case["args"].pop(rng.randrange(len(case["args"])))
        else:
            case["kwargs"][rng.choice(("out", "dim", "axis", "nothing", "dtype", "input"))] = (
                hostile(rng, size)
            )
        return
    if (
        rng.random() < 0.06
    ):  # a tensor that is another argument, too: as what is written to, perhaps
        tensors = [code for code in case["args"] if isinstance(code, dict) and "tensor" in code]
        if tensors:
            alias = {"same": rng.randrange(len(tensors))}
            if rng.random() < 0.6:
                case["kwargs"]["out"] = alias
            else:
                case["args"].append(alias)
            return
    for _ in range(1 if draw < 0.7 else 2):
        places: list[tuple[Any, Any]] = [(case["args"], i) for i in range(len(case["args"]))]
        places += [(case["kwargs"], key) for key in case["kwargs"]]
        places += [(case["then"], i) for i in range(len(case.get("then", ())))]
        if not places:
            case["args"].append(hostile(rng, size))
            return
        holder, place = rng.choice(places)
        like = rng.random() < 0.6
        holder[place] = hostile_like(rng, holder[place], size) if like else hostile(rng, size)


def right(theme: Theme, parameter: Parameter, public: Public) -> Any:
    """A value that the parameter should accept."""
    rng, name = theme.rng, parameter.name
    text = parameter.type.lower()
    if "optim" in public.name and name == "params":
        return [{"parameter": theme.tensor()["tensor"]} for _ in range(rng.choice((1, 2)))]
    if name == "optimizer":
        return {"optimizer": 0}
    if name in ("module", "model"):
        return {"module": rng.choice(("linear", "stack"))}
    if name in _WORDS:
        return rng.choice(_WORDS[name])
    if name in ("dtype", "layout", "memory_format"):
        names = {"dtype": ("float32", "float64", "int64", "bool"), "layout": ("strided",),
                 "memory_format": ("contiguous_format", "preserve_format", "channels_last")}  # fmt: skip
        return {"name": rng.choice(names[name])}
    if "callable" in text or name in (
        "func",
        "f",
        "function",
        "hook",
        "fn",
        "lr_lambda",
        "closure",
    ):
        return {"callable": rng.choice(tuple(CALLABLES))}
    if "device" in text or name == "device":
        return rng.choice(("cpu", {"device": "cpu"}, None))
    if ("generator" in text and "tensor" not in text) or name == "generator":
        return rng.choice(({"generator": 5}, None))
    if "list[tensor]" in text or "sequence[tensor]" in text or name in ("tensors", "inputs"):
        parts = [theme.tensor() for _ in range(rng.choice((1, 2, 2, 3)))]
        return {"tuple": parts} if rng.random() < 0.5 else parts
    if "tensor" in text or name in ("input", "other", "self", "out", "weight", "target", "x", "y"):
        return theme.tensor(name)
    if _DIM.match(name):
        one = rng.randrange(-theme.rank - 1, theme.rank + 1) if rng.random() < 0.8 else 0
        return [one] if "list" in text or name in ("dims", "axes") else one
    if "bool" in text:
        return rng.random() < 0.5
    if "list[int]" in text or name in (
        "size",
        "shape",
        "kernel_size",
        "stride",
        "output_size",
        "sizes",
    ):
        number = rng.choice((1, 1, theme.size, 0, 2))
        return (
            number if rng.random() < 0.3 else [number] * rng.choice((1, 2, theme.rank, theme.rank))
        )
    if "int" in text or re.search(r"(size|features|channels|num|groups|dim)", name):
        return rng.choice((theme.size, theme.size, 1, 0, 2, -1))
    if "float" in text or "number" in text or "scalar" in text:
        return rng.choice((0.5, 1, 0.1, 2.0, 0.0, -1.5, 3))
    if "str" in text:
        return rng.choice(("mean", "sum", "none", "relu", "linear", "cpu"))
    draws = (
        theme.tensor,
        lambda: theme.size,
        lambda: [theme.size] * theme.rank,
        lambda: 0.5,
        lambda: None,
    )
    return rng.choice(draws)()
