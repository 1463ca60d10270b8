"""What `out=` asks of a reduction: which dtypes it may have, and what it says of the computation.

A rule is given as `public(out=rule)`. It sees the call before it is made, and raises PyTorch's
error or changes the arguments (it returns the positional ones): the dtype of `out` is the one that
`sum` adds up in, for example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, dtype, int64
from ..._tensor.tensor import Tensor

OutRule = Callable[[str, Any, dict[str, Any], Any], Any]

_CPP_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
}


def cpp_name(kind: dtype) -> str:
    """A dtype as C++ spells it, and PyTorch with it in some errors."""
    return _CPP_NAMES.get(kind.name, kind.name)


def _demand(wanted: Any, out: Tensor) -> None:
    if out.dtype is not wanted:
        raise RuntimeError(
            f"Expected out tensor to have dtype {cpp_name(wanted)}, but got {cpp_name(out.dtype)} "
            "instead"
        )


def given_dtype(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """A `dtype` that is given is the dtype of `out`."""
    if isinstance(out, Tensor) and kwargs.get("dtype") is not None:
        _demand(as_dtype(kwargs["dtype"]), out)
    return args


def accumulates(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """Everything is cast to the dtype of `out` before it is added up or multiplied."""
    given_dtype(name, args, kwargs, out)
    if isinstance(out, Tensor):
        kwargs["dtype"] = out.dtype
        if name[:3] == "cum" and out._data.dtype.kind == "b":
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    return args


def index_result(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """Indices go into int64."""
    if isinstance(out, Tensor):
        _demand(int64, out)
    return args


def truth_result(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """Truth goes into bool; into uint8, to which the input is cast first."""
    if not isinstance(out, Tensor):
        return args
    if out._data.dtype == np.uint8:
        input, rest = (args[0], args[1:]) if args else (kwargs.pop("input"), ())
        return (input.to(out.dtype), *rest)
    if out._data.dtype.kind != "b":
        raise RuntimeError(
            f"{name} only supports bool tensor for result, got: {LEGACY_NAMES[out.dtype]}"
        )
    return args


def same_as_input(sentence: str) -> OutRule:
    """`out` has the input's dtype; the sentence may name both, as `{input}` and `{out}`."""

    def rule(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
        input = args[0] if args else kwargs["input"]
        _match(name, sentence, input.dtype, out)
        return args

    return rule


def _match(name: str, sentence: str, wanted: Any, out: Any) -> None:
    if isinstance(out, Tensor) and out.dtype is not wanted:
        names = {"input": LEGACY_NAMES[wanted], "out": LEGACY_NAMES[out.dtype]}
        cpp = {"cpp_input": cpp_name(wanted), "cpp_out": cpp_name(out.dtype)}
        raise RuntimeError(sentence.format(name=name, **names, **cpp))


def values_and_indices(values: str, indices: str) -> OutRule:
    """Two outs: one of the input's dtype, one of int64."""

    def rule(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
        if isinstance(out, (tuple, list)) and len(out) == 2:
            input = args[0] if args else kwargs["input"]
            _match(name, values, input.dtype, out[0])
            _match(name, indices, int64, out[1])
        return args

    return rule


def norm_result(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """Norms go into the real dtype that they are computed in."""
    if isinstance(out, Tensor):
        input = args[0] if args else kwargs["input"]
        wanted = as_dtype(kwargs["dtype"]) if kwargs.get("dtype") else input.dtype
        _demand(wanted.to_real(), out)
    return args


def nansum_result(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """`nansum` adds up in the dtype of `out`, a floating-point one if the input's is."""
    if not isinstance(out, Tensor):
        return args
    given = kwargs.get("dtype")
    if given is not None and as_dtype(given) is not out.dtype:
        raise RuntimeError(
            f"{name}: provided dtype must match dtype of result. Got {LEGACY_NAMES[out.dtype]} and "
            f"{LEGACY_NAMES[as_dtype(given)]}."
        )
    input = args[0] if args else kwargs["input"]
    if input.dtype.is_floating_point and not out.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{LEGACY_NAMES[out.dtype]}'")
    kwargs["dtype"] = out.dtype
    return args


def floating_result(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """`out` is no integer and no bool."""
    if isinstance(out, Tensor) and not (out.dtype.is_floating_point or out.dtype.is_complex):
        raise RuntimeError(
            f"{name}(): Expected floating point type for result tensor, but got: "
            f"{LEGACY_NAMES[out.dtype]}"
        )
    return args


EXPECTED_OUT = "Expected out tensor to have dtype {cpp_input}, but got {cpp_out} instead"
EXPECTED_MATCH = (
    "Expected the dtype for input and out to match, but got {input} for input's dtype and {out} "
    "for out's dtype."
)
EXPECTED_SCALAR_TYPE = "expected scalar_type {input} but found {out}"
EXPECTED_QUANTILE = "{name}() out tensor must be same dtype as the input tensor"
