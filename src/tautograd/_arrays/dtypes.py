"""Dtypes: PyTorch's names and promotion rules over NumPy's dtypes.

Promotion works on *categories* (bool < integer < float < complex). An operand of a higher category
decides the result; inside one category a tensor with dimensions outranks a 0-dim tensor, which
outranks a Python number. `result_dtype` is that rule, written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)


class dtype:  # noqa: N801 - PyTorch's name
    """A data type such as `float32`; one object per type, compared by identity."""

    __module__ = "torch"

    __slots__ = (
        "alias",
        "category",
        "is_complex",
        "is_floating_point",
        "is_half",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
    )

    def __init__(self, name: str, numpy: Any, category: int, alias: str | None = None) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.category = category
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = name != "bool" and not name.startswith("uint")
        self.is_half = category == FLOAT and self.itemsize == 2
        self.alias = alias

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def to_real(self) -> dtype:
        return {complex64: float32, complex128: float64, complex32: float16}.get(self, self)

    def to_complex(self) -> dtype:
        if self.category < FLOAT or self in _FLOAT8:
            raise RuntimeError(f"Unknown Complex ScalarType for {LEGACY_NAMES[self]}")
        return complex128 if self in (float64, complex128) else complex64


float32 = dtype("float32", np.float32, FLOAT, "float")
float64 = dtype("float64", np.float64, FLOAT, "double")
float16 = dtype("float16", np.float16, FLOAT, "half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOAT)
complex64 = dtype("complex64", np.complex64, COMPLEX, "cfloat")
complex128 = dtype("complex128", np.complex128, COMPLEX, "cdouble")
uint8 = dtype("uint8", np.uint8, INTEGER)
int8 = dtype("int8", np.int8, INTEGER)
int16 = dtype("int16", np.int16, INTEGER, "short")
int32 = dtype("int32", np.int32, INTEGER, "int")
int64 = dtype("int64", np.int64, INTEGER, "long")
bool_ = dtype("bool", np.bool_, BOOL)


class _NameOnly(dtype):
    """A dtype that programs name and compare, and that nothing here can hold."""

    __module__ = "torch"
    __slots__ = ()

    @property
    def numpy(self) -> Any:
        raise TypeError(
            f"torch.{self.name} is only a name here: NumPy has no such elements. Use complex64."
        )

    @numpy.setter
    def numpy(self, value: Any) -> None:
        pass

    def __init__(self, name: str, itemsize: int, category: int, alias: str) -> None:
        self.name, self.alias, self.category = name, alias, category
        self.itemsize = itemsize
        self.is_floating_point, self.is_complex = category == FLOAT, category == COMPLEX
        self.is_signed, self.is_half = True, False


# Dtypes to hold and convert, which few operations compute in.
uint16 = dtype("uint16", np.uint16, INTEGER)
uint32 = dtype("uint32", np.uint32, INTEGER)
uint64 = dtype("uint64", np.uint64, INTEGER)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOAT)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOAT)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOAT)
complex32: dtype = _NameOnly("complex32", 4, COMPLEX, "chalf")
_UNSIGNED = (uint16, uint32, uint64)
_FLOAT8 = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
STORED_DTYPES = (*_UNSIGNED, *_FLOAT8)

ALL_DTYPES = (
    uint8, int8, int16, int32, int64, float16, float32, float64, bfloat16, complex64, complex128,
    bool_,
)  # fmt: skip

# Names as in `torch.<name>`: `float32` and its alias `float`, and so on.
_NAMED = (*ALL_DTYPES, *STORED_DTYPES, complex32)
DTYPE_NAMES: dict[str, dtype] = {d.name: d for d in _NAMED} | {
    d.alias: d for d in _NAMED if d.alias
}
_FROM_NUMPY: dict[Any, dtype] = {d.numpy: d for d in (*ALL_DTYPES, *STORED_DTYPES)}
_PYTHON_TYPES: dict[type, dtype] = {bool: bool_, int: int64}

# What the tensor types of the old API are called: `x.type()` gives these.
LEGACY_NAMES = {
    float32: "Float", float64: "Double", float16: "Half", bfloat16: "BFloat16", uint8: "Byte",
    int8: "Char", int16: "Short", int32: "Int", int64: "Long", bool_: "Bool",
    complex64: "ComplexFloat", complex128: "ComplexDouble", complex32: "ComplexHalf",
    **{d: d.name.replace("uint", "UInt").replace("float8", "Float8") for d in STORED_DTYPES},
}  # fmt: skip


def dtype_named(name: str) -> dtype:
    return DTYPE_NAMES[name]


# The half-precision dtypes as NumPy has them, computed in float32 and rounded once; their codes.
HALVES = frozenset((float16.numpy, bfloat16.numpy))
HALF_CODES = frozenset(d.char for d in HALVES)


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The dtype for a NumPy dtype, or a TypeError that lists what there is."""
    try:
        return _FROM_NUMPY[numpy_dtype]
    except KeyError:
        pass
    found = np.dtype(numpy_dtype)
    if found.newbyteorder("=") in _FROM_NUMPY:
        return _FROM_NUMPY[found.newbyteorder("=")]
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{found.type.__name__}. The only supported types "
        "are: "
        "float64, float32, float16, bfloat16, complex64, complex128, int64, int32, int16, int8, "
        "uint8, and bool."
    )


class _Defaults:
    __slots__ = ("float",)

    float: dtype


_defaults = _Defaults()
_defaults.float = float32


def get_default_dtype() -> dtype:
    """The dtype that Python floats become."""
    return _defaults.float


def set_default_dtype(d: dtype) -> None:
    """Set the dtype that Python floats become (a floating-point dtype)."""
    given: Any = d
    if not isinstance(given, dtype) or not d.is_floating_point:
        invalid = "" if isinstance(given, dtype) else "invalid dtype object: "
        raise TypeError(f"{invalid}only floating-point types are supported as the default type")
    _defaults.float = d


def as_dtype(value: Any, argument: str = "dtype") -> dtype:
    """Accept a dtype or one of Python's number types, as PyTorch does."""
    if isinstance(value, dtype):
        return value
    if value is float:
        return _defaults.float if _defaults.float is float64 else float64
    if value is complex:
        return complex128
    if isinstance(value, type) and value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    raise TypeError(f"{argument} must be a torch.dtype, not {type(value).__name__}")


# float16 and bfloat16 have no order between them: their common type is float32.
_RANK = {d: i for i, d in enumerate((bool_, uint8, int8, int16, int32, int64))}
_FLOAT_RANK = {float16: 0, bfloat16: 0, float32: 1, float64: 2}


def _require(function: str, **given: Any) -> None:
    for position, (name, value) in enumerate(given.items(), start=1):
        if not isinstance(value, dtype):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not "
                f"{type(value).__name__}"
            )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both can be cast to, as PyTorch orders them."""
    a, b = type1, type2
    if a is b:
        return a
    if not (type(a) is type(b) is dtype):
        _require("promote_types", type1=type1, type2=type2)
    if a in _LIMITED or b in _LIMITED:
        return _promote_limited(a, b)
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.category == COMPLEX and low.category == FLOAT:
            return complex128 if float64 in (low, high.to_real()) else complex64
        return high
    if a.category == COMPLEX:
        return complex128
    if a.category == FLOAT:
        if _FLOAT_RANK[a] == _FLOAT_RANK[b]:
            return float32
        return a if _FLOAT_RANK[a] > _FLOAT_RANK[b] else b
    if {a, b} == {uint8, int8}:
        return int16
    return a if _RANK[a] > _RANK[b] else b


_LIMITED = frozenset((*STORED_DTYPES, complex32))


def _promote_limited(a: dtype, b: dtype) -> dtype:
    """Two dtypes of which one takes part in promotion only in part."""
    for kinds, spoken in ((_FLOAT8, "Float8 Types"), (_UNSIGNED, "uint16, uint32, uint64 types")):
        if a in kinds or b in kinds:
            other = b if a in kinds else a
            if kinds is _UNSIGNED and other.is_floating_point:
                return other
            raise RuntimeError(
                f"Promotion for {spoken} is not supported, attempted to promote "
                f"{LEGACY_NAMES[a]} and {LEGACY_NAMES[b]}"
            )
    other = b if a is complex32 else a
    if other.category < FLOAT or other is float16:
        return complex32
    return complex128 if other in (float64, complex128) else complex64


def scalar_dtype(value: Any) -> dtype:
    """The dtype a Python number has when it meets tensors."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        if not -(2**63) <= value < 2**64:
            raise OverflowError("int too big to convert")
        return int64
    if isinstance(value, (float, np.floating)):
        return _defaults.float
    return _defaults.float.to_complex()


def number_of(value: Any, kind: Any, then: Any = None) -> Any:
    """A number as a NumPy scalar, rounded to one dtype and then to another.

    One that stands for any while a function is compiled gives another such.
    """
    if type(value) is not float and hasattr(value, "rounded_to"):
        return value.rounded_to(kind, then)
    if isinstance(value, (int, float)) and -_SMALL < value < _SMALL:
        rounded = np.asarray(value).astype(kind)
        return rounded[()] if then is None else rounded.astype(then)[()]
    if not _is_one_number(value):
        raise RuntimeError(f"a number is needed here, not {type(value).__name__}")
    with np.errstate(all="ignore"):  # it may become infinite, of which PyTorch says nothing
        rounded = np.asarray(value).astype(kind)
        return rounded[()] if then is None else rounded.astype(then)[()]


_SMALL = 60000  # what every floating-point dtype can hold


def _is_one_number(value: Any) -> bool:
    """Whether this is a number, where NumPy reads None as NaN, texts as numbers and lists as several."""
    if isinstance(value, (int, float, complex)):
        return True
    if isinstance(value, (np.generic, np.ndarray)):
        return value.ndim == 0 and value.dtype.kind in _NUMERIC
    return hasattr(value, "__float__") and not hasattr(value, "requires_grad")


_NUMERIC = "biufcV"  # V is what NumPy calls bfloat16 and its like


def array_of_number(value: Any, kind: Any = None) -> Any:
    """A number as an array without dimensions.

    One that stands for any while a function is compiled says for itself what that is.
    """
    follow = getattr(value, "as_array", None)
    return np.asarray(value, kind) if follow is None else follow(kind)


def combine_dtypes(
    dimensioned: Iterable[dtype], zero_dim: Iterable[dtype], scalars: Iterable[dtype]
) -> dtype:
    """PyTorch's promotion over three priorities of operand."""

    def fold(group: Iterable[dtype]) -> dtype | None:
        result: dtype | None = None
        for item in group:
            result = item if result is None else promote_types(result, item)
        return result

    def outrank(high: dtype | None, low: dtype | None) -> dtype | None:
        if high is None or low is None:
            return low if high is None else high
        if low.category > high.category:
            if low.category == COMPLEX and high.category == FLOAT:
                return high.to_complex() if high is not bfloat16 else complex64
            return low
        return high

    result = outrank(fold(dimensioned), outrank(fold(zero_dim), fold(scalars)))
    assert result is not None, "promotion needs at least one operand"
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a cast keeps the category (bool < integer < float < complex) or raises it."""
    if not (type(from_) is type(to) is dtype):
        _require("can_cast", from_=from_, to=to)
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and to.category < FLOAT:
        return False
    return not (from_.category == INTEGER and to.category == BOOL)
