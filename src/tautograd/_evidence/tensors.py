"""Tensors in evidence: hash, shape, dtype, range; small ones whole.

The hash covers dtype, shape and bytes, so that one flipped bit shows and the engine does not.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from tautograd._evidence.canonical import canonical, sha256, sha256_of
from tautograd._evidence.refusals import EvidenceError, shown
from tautograd._trees.nests import ANY_MAPPING as NESTS
from tautograd._verify.subject.engines import as_numpy, engine_of, is_tensor

LARGEST_EMBEDDED = 2**20
"""Maximum bytes of data in an evidence file; above it, only their hash is kept."""


def dtype_name(tensor: Any) -> str:
    """The name without the engine: 'float64'."""
    return str(tensor.dtype).rpartition(".")[2]


def bytes_of(tensor: Any) -> bytes:
    """A tensor's values in row-major order, little-endian."""
    engine = engine_of([tensor])
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    data: bytes = plain.view(engine.uint8).numpy().tobytes()
    return data


def hash_of(tensor: Any) -> str:
    """SHA-256 of a tensor's dtype, shape and bytes."""
    head = canonical([dtype_name(tensor), list(tensor.shape)])
    return sha256(head + bytes_of(tensor))


def describe(tensor: Any, name: str) -> dict[str, Any]:
    """The facts about a tensor, as a row of evidence."""
    return {
        "name": name,
        "shape": list(tensor.shape),
        "dtype": dtype_name(tensor),
        "device": str(tensor.device),
        "requires_grad": bool(tensor.requires_grad),
        "sha256": hash_of(tensor),
        **_range_of(as_numpy(tensor)),
    }


def _range_of(values: Any) -> dict[str, Any]:
    """Smallest and largest finite value (by magnitude for complex numbers), and the count of others."""
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.dtype.kind == "c":
        nan = np.isnan(values)
        values = np.abs(values)
    else:
        nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    finite = np.isfinite(values) if values.dtype.kind == "f" else np.ones(values.shape, bool)
    inside = values[finite]
    return {
        "minimum": inside.min().item() if inside.size else None,
        "maximum": inside.max().item() if inside.size else None,
        "nan": int(nan.sum()),
        "infinite": int((~finite & ~nan).sum()),
    }


# ---- nests of tensors and other values -----------------------------------------------------------


def describe_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each leaf of the arguments of a call: 'input 0', 'input 1[0]', 'mask'."""
    named = [(f"input {index}", value) for index, value in enumerate(args)]
    rows = []
    for top, value in [*named, *kwargs.items()]:
        for name, leaf in NESTS.named_leaves(value, top):
            if is_tensor(leaf):
                rows.append(describe(leaf, name))
            else:
                rows.append({"name": name, **_plain_row(leaf)})
    return rows


def _plain_row(value: Any) -> dict[str, str]:
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        shown = f"{'x'.join(map(str, value.shape)) or 'scalar'} {value.dtype} (NumPy)"
        return {"value": shown, "sha256": sha256(shown.encode() + value.tobytes())}
    shown = _shown(value)
    return {"value": shown, "sha256": sha256_of(shown)}


def _shown(value: Any) -> str:
    text = repr(value)
    # The default repr of an object contains its address, which changes with each run.
    return f"<{type(value).__qualname__}>" if " at 0x" in text else text


# ---- small ones, whole ---------------------------------------------------------------------------


def encode(value: Any) -> dict[str, Any] | None:
    """A nest of tensors and plain values as JSON, or None if it contains anything else."""
    if is_tensor(value):
        if value.layout is not engine_of([value]).strided:
            return None
        return {
            "kind": "tensor",
            "dtype": dtype_name(value),
            "shape": list(value.shape),
            "requires_grad": bool(value.requires_grad),
            "data": base64.b64encode(bytes_of(value)).decode("ascii"),
        }
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        items = [encode(item) for item in value]
        return None if None in items else {"kind": type(value).__name__, "items": items}
    if type(value) is dict:
        names = [encode(item) for item in value.values()]
        if None in names or not all(isinstance(key, str) for key in value):
            return None
        return {"kind": "dict", "keys": list(value), "items": names}
    if value is None or isinstance(value, (bool, int, str)):
        return {"kind": "value", "value": value}
    if isinstance(value, float):
        if math.isfinite(value):
            return {"kind": "value", "value": value}
        return {"kind": "float", "text": repr(value)}
    return None


def decode(row: dict[str, Any], engine: Any) -> Any:
    """The value that `encode` wrote, with its tensors on the given engine."""
    kind = row["kind"]
    if kind == "tensor":
        return _tensor_from(row, engine)
    if kind == "value":
        return row["value"]
    if kind == "float":
        return float(row["text"])
    items = [decode(item, engine) for item in row["items"]]
    if kind == "dict":
        return dict(zip(row["keys"], items, strict=True))
    return tuple(items) if kind == "tuple" else items


def check_values(row: dict[str, Any], *, arguments: bool = False) -> None:
    """Refuse what `decode` could not read; with `arguments`, also what is not a pair for a call."""
    if arguments:
        parts = row.get("items", ())
        if len(parts) != 2 or [part["kind"] for part in parts] != ["tuple", "dict"]:
            raise EvidenceError("the values of the inputs are no arguments of a call")
    if row["kind"] == "dict" and (
        len(row["keys"]) != len(row["items"]) or len({*row["keys"]}) != len(row["keys"])
    ):
        raise EvidenceError("a dictionary among the values has not one value for each of its keys")
    if row["kind"] == "tensor":
        _bytes_in(row)
    for item in row.get("items", ()):
        check_values(item)


def _bytes_in(row: dict[str, Any]) -> bytes:
    """The bytes of a tensor in a file, if their number matches its shape."""
    size = DTYPES.get(row["dtype"])
    if size is None:
        raise EvidenceError(f"'{shown(row['dtype'])}' is no dtype that evidence holds values of")
    try:
        data = base64.b64decode(row["data"], validate=True)
    except ValueError:
        raise EvidenceError("the values of an input are not base64") from None
    shape = row["shape"]
    # Both engines count elements in 64 bits, even if one of several sizes is zero.
    if math.prod(shape) * size != len(data) or math.prod(filter(None, shape)) >= 2**62:
        raise EvidenceError(f"the values of an input do not fill its shape {shape}")
    if row["dtype"] == "bool" and not {*data} <= {0, 1}:
        raise EvidenceError("the values of an input are no truth values")
    if row["requires_grad"] and not row["dtype"].startswith(("float", "bfloat", "complex")):
        raise EvidenceError(f"values of {row['dtype']} have no gradient")
    return data


DTYPES = {
    name: size
    for size, names in {
        1: "bool uint8 int8 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz",
        2: "int16 uint16 float16 bfloat16",
        4: "int32 uint32 float32 complex32",
        8: "int64 uint64 float64 complex64",
        16: "complex128",
    }.items()
    for name in names.split()
}
"""Bytes per element, for the dtypes whose values a file may hold."""


def _tensor_from(row: dict[str, Any], engine: Any) -> Any:
    data = _bytes_in(row)
    dtype = getattr(engine, row["dtype"], None)
    if not isinstance(dtype, engine.dtype):
        raise EvidenceError(f"'{row['dtype']}' is no dtype of {engine.__name__}")
    shape = row["shape"]
    if data:
        tensor = engine.frombuffer(bytearray(data), dtype=dtype).reshape(shape).clone()
    else:
        tensor = engine.empty(shape, dtype=dtype)
    return tensor.requires_grad_() if row["requires_grad"] else tensor


def embeddable(value: Any) -> dict[str, Any] | None:
    """`encode`, for values small enough to be embedded."""
    size = sum(
        leaf.numel() * leaf.element_size()
        for _, leaf in NESTS.named_leaves(value, "")
        if is_tensor(leaf)
    )
    return encode(value) if size <= LARGEST_EMBEDDED else None
