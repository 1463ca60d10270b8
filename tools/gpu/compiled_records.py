"""Operation records compiled on the GPU, beside the same calls as they are: results and gradients.

    python tools/gpu/compiled_records.py PART PARTS DTYPES OUT.json

One sample of each record in each dtype. A record whose result has a shape that depends on values is refused,
and counted as such.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402

import tautograd as torch  # noqa: E402
from tautograd._autograd.apply import apply  # noqa: E402
from tautograd._compile.messages.errors import CompileError  # noqa: E402
from tautograd._tensor.tensor import make  # noqa: E402
from tests.ops.cases import RECORDS  # noqa: E402
from tests.ops.rules import calls_of  # noqa: E402

FORWARD, BACKWARD = 64, 256  # units in the last place of the largest number
UNITS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


def host(tensor: Any) -> Any:
    return tensor.detach().cpu()._data


def different(found: Any, expected: Any, bound: float) -> str | None:
    """How two lists of tensors differ, in words."""
    for a, b in zip(found, expected, strict=True):
        if (a is None) != (b is None):
            return "there is one where the other has none"
        if a is None:
            continue
        a, b = host(a), host(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        if b.dtype.kind not in "fcV":
            if not np.array_equal(a, b):
                return "other values"
            continue
        unit = UNITS.get(str(b.dtype), 2.0**-23 if b.dtype.itemsize == 8 else 2.0**-52)
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        a, b = a.astype(wide), b.astype(wide)
        finite = np.abs(b[np.isfinite(b)])
        scale = max(float(finite.max()) if finite.size else 0.0, 1.0)
        if not np.allclose(a, b, rtol=bound * unit, atol=bound * unit * scale, equal_nan=True):
            with np.errstate(invalid="ignore"):
                return f"apart by {np.nanmax(np.abs(a - b)):.2e} of {scale:.2e}"
    return None


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def outcome(name: str, dtype: str, on_gpu: Callable[[Any], Any]) -> str | None:
    """The result for a record: None if there is nothing to try, "held", "refused", or how it differs."""
    try:
        (call, *_) = calls_of(name, dtype)
    except Exception:
        return None  # has no sample of this dtype
    inputs = [make(on_gpu(x)) if isinstance(x, np.ndarray) else x for x in call.inputs]
    tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
    slots = set(call.slots()) if call.op.differentiable and not call.refuses() else set()
    for i, x in enumerate(inputs):
        if i in slots and isinstance(x, torch.Tensor) and x.is_floating_point():
            x.requires_grad_()

    def run(*given: Any) -> Any:
        rest = iter(given)
        args = tuple(next(rest) if isinstance(x, torch.Tensor) else x for x in inputs)
        return apply(call.op, args, call.parameters)

    try:
        expected = listed(run(*tensors))
    except Exception:
        return None  # the record rejects this dtype
    compiled = torch.compile(run)
    try:
        found = [listed(compiled(*tensors)) for _ in range(4)][-1]
    except CompileError:
        return "refused"
    text = different(found, expected, FORWARD)
    if text is not None:
        return f"{call.label}: {text}"
    pairs = [(a, b) for a, b in zip(found, expected, strict=True) if b.grad_fn is not None]
    leaves = [t for t in tensors if t.requires_grad]
    if not leaves or not pairs:
        return "held"
    ones = [torch.ones_like(b) for _, b in pairs]
    try:
        wanted = torch.autograd.grad([b for _, b in pairs], leaves, ones, allow_unused=True)
    except RuntimeError:
        return "held"  # has no derivative there
    gradients = torch.autograd.grad([a for a, _ in pairs], leaves, ones, allow_unused=True)
    text = different(gradients, wanted, BACKWARD)
    return "held" if text is None else f"{call.label}, gradients: {text}"


def main(part: int, parts: int, dtypes: str, out: str) -> None:
    from tautograd._arrays.cuda.cuda_array import wrap
    from tautograd._arrays.devices import cuda_backend

    backend = cuda_backend()
    counts: Counter[str] = Counter()
    problems = []
    for name in list(RECORDS)[part::parts]:
        for dtype in dtypes.split(","):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = outcome(name, dtype, lambda x: wrap(backend.to_device(x)))
            except Exception as error:
                found = f"{type(error).__name__}: {str(error)[:200]}"
            if found in (None, "held", "refused"):
                counts[found or "left out"] += 1
            else:
                problems.append([name, dtype, found])
    temporary = f"{out}.tmp"
    Path(temporary).write_text(json.dumps({"counts": counts, "problems": problems}))
    os.replace(temporary, out)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
