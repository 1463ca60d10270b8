"""Every operation record on the GPU: forward and gradients, compared with the CPU in double precision.

The samples of `tests/ops` run on the GPU in a dtype, on the CPU in that dtype, and on the CPU in double
precision on the same numbers. An element may differ from the last by eight times the CPU's error in the
same dtype, or by sixteen roundings of the dtype at the scale of the result and of the samples, which is
one; among extreme numbers, at the scale of the element. Non-finite values must match exactly; integers
and booleans must be equal. Denormal numbers count as zero: CuPy's kernels flush them. With
`OPS_DETERMINISTIC` set, all of it runs under `use_deterministic_algorithms(True)`, twice on the GPU,
and must give the same bits.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
# The GPU's own random streams, and memory layouts that a copy to the GPU does not preserve.
OWN_NUMBERS = ("drawn_",)
ON_THE_CPU = frozenset(("pack_padded_sequence", "pad_packed_sequence"))
SAME_MEMORY = frozenset(
    ("as_strided", "as_strided_scatter", "view", "view_as_complex", "view_dtype")
)
# CUDA does not raise on an integer division by zero: nor does PyTorch there.
NO_ZERO_DIVISION = frozenset(
    ("floor_divide", "fmod", "remainder", "remainder_of_number", "div_rounded")
)
# Known differences and their reasons: (record, dtype) among extreme numbers.
KNOWN = {
    ("gelu", "float32"): "1 + erf(x) near zero: CUDA's erf is an ulp off, as it is for PyTorch",
    (
        "special_ndtr",
        "float32",
    ): "1 + erf(x) near zero, as PyTorch computes it: an ulp of erf is 3e-8",
    ("hypot", "float64"): "a result within an ulp of the largest number overflows",
    ("special_log_ndtr", "float64"): "CuPy's is 17 ulps off at 1e-24",
}
TINY = {"float32": 2.0**-126, "float64": 2.0**-1022, "float16": 2.0**-14, "bfloat16": 2.0**-126}
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def prepare() -> Any:
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    warnings.simplefilter("ignore")
    import tautograd
    from tests.ops import cases

    return tautograd, cases


class Matrix:
    """The records that one process tests."""

    def __init__(self) -> None:
        self.torch, self.cases = prepare()
        self.torch.backends.cudnn.allow_tf32 = False  # float32 is to be compared as such
        self.deterministic = bool(os.environ.get("OPS_DETERMINISTIC"))
        self.torch.use_deterministic_algorithms(self.deterministic)
        from tests.ops.arrays import to_tautograd

        cpu = self.cases.TAUTOGRAD

        def on_cpu(array: Any, grad: bool) -> Any:
            return to_tautograd(flushed(array), grad)

        def on_gpu(array: Any, grad: bool) -> Any:
            out = to_tautograd(flushed(array), False).to("cuda")
            return out.requires_grad_() if grad else out

        self.cpu = self.cases.Engine(
            "cpu", self.torch, on_cpu, cpu.array, cpu.grad, cpu.dtype, cpu.no_grad
        )
        self.gpu = self.cases.Engine(
            "cuda", self.torch, on_gpu, lambda t: t._data, cpu.grad, cpu.dtype, cpu.no_grad
        )
        self.problems: list[tuple[str, str, str, str]] = []
        self.counts: Counter[str] = Counter()

    def run(self, name: str, dtype: str) -> None:
        op = self.cases.record(name)
        for label, sample in self.cases.cases_of(name):
            if any(name.startswith(n) for n in OWN_NUMBERS) or name in ON_THE_CPU:
                continue
            if name in SAME_MEMORY and not label.startswith("sample"):
                continue
            found = self.problem(op, name, label, sample, dtype)
            if found and label.startswith("extremes") and (name, dtype) in KNOWN:
                self.counts["known"] += 1
            elif found:
                self.problems.append((name, dtype, f"{label} {sample}", found))

    def _outcome(self, engine: Any, op: Any, sample: Any, dtype: str, widen: bool) -> Any:
        """Results and gradients, as tensors; or the error."""
        try:
            call = self.cases.Call(engine, op, sample, dtype, True, widen)
            with self.torch.device("cuda" if engine is self.gpu else "cpu"):
                result = call.run(self.cases.program_of(self.cases.TAUTOGRAD, op))
            outs = tensors(result, self.torch.Tensor)
            kept = [o for o in outs if o.requires_grad]
            grads = []
            if kept and call.leaves:
                starts = [self._cotangent(o) for o in kept]
                grads = self.cpu.grad(kept, call.leaves, starts, allow_unused=True)
            return outs, grads
        except Exception as error:
            return error

    def _cotangent(self, out: Any) -> Any:
        values = 1.5 + np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
        return self.torch.tensor(values).to(out.dtype).to(out.device)

    def problem(self, op: Any, name: str, label: str, sample: Any, dtype: str) -> str | None:
        cpu = self._outcome(self.cpu, op, sample, dtype, False)
        gpu = self._outcome(self.gpu, op, sample, dtype, False)
        if isinstance(cpu, Exception) or isinstance(gpu, Exception):
            if isinstance(cpu, Exception) and isinstance(gpu, Exception):
                self.counts["errors alike"] += 1
                return None
            if isinstance(gpu, Exception):
                lines = traceback.format_exception(gpu)
                places = [p.strip() for p in lines if "src/tautograd" in p and "cuda_" not in p]
                return f"{type(gpu).__name__}: {str(gpu)[:300]} @ {places[-1][-160:] if places else ''}"
            if "ZeroDivision" in str(cpu) and name in NO_ZERO_DIVISION:
                return None
            if "view size is not compatible" in str(cpu):  # a copy on the GPU is row-major
                return None
            return f"no error on the GPU; on the CPU {cpu!r}"[:300]
        if self.deterministic:
            again = self._outcome(self.gpu, op, sample, dtype, False)
            if isinstance(again, Exception) or bits_of(again) != bits_of(gpu):
                return "other bits at the second call"
            self.counts["twice"] += 1
        wide = self._outcome(self.cpu, op, sample, dtype, True)
        if isinstance(wide, Exception):
            wide = cpu
        self.counts["cases"] += 1
        self.counts["gradients"] += len([g for g in cpu[1] if g is not None])
        for what, have, near, exact in (
            ("result", gpu[0], cpu[0], wide[0]),
            ("gradient", gpu[1], cpu[1], wide[1]),
        ):
            for i, (h, c, w) in enumerate(zip(have, near, exact, strict=True)):
                if (h is None) != (c is None):
                    return f"{what} {i}: {h} for {c}"
                if h is None:
                    continue
                if h.device.type != "cuda":
                    return f"{what} {i} is on the CPU"
                if h.shape != c.shape or h.dtype != c.dtype:
                    return f"{what} {i}: {h.dtype} {tuple(h.shape)} for {c.dtype} {tuple(c.shape)}"
                found = apart(h._data.host(), c._data, w._data, label == "extremes")
                if found:
                    return f"{what} {i}: {found}"
        return None


def tensors(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v, kind)]
    return []


def bits_of(outcome: Any) -> list[Any]:
    """Results and gradients in main memory, as bytes."""
    return [None if t is None else t._data.host().tobytes() for part in outcome for t in part]


def flushed(array: Any) -> Any:
    """The array with denormal numbers replaced by zeros."""
    if array.dtype.kind not in "fV":
        return array
    small = np.abs(array.astype(np.float64)) < TINY[str(array.dtype)]
    return np.where(small, np.zeros((), array.dtype), array) if small.any() else array


def apart(have: Any, near: Any, exact: Any, extreme: bool) -> str | None:
    """How far a result is from the correct one, if that is too far."""
    if near.dtype.kind not in "fcV":
        wrong = have != near
        return f"{int(wrong.sum())} of {wrong.size} differ" if wrong.any() else None
    eps = EPS.get(str(near.dtype), 2.0**-23 if near.dtype == np.complex64 else 2.0**-52)
    dtype = near.dtype
    kind = np.complex128 if dtype.kind == "c" else np.float64
    have, near, exact = (np.asarray(a).astype(kind) for a in (have, near, exact))
    with np.errstate(all="ignore"):
        finite = np.isfinite(near)
        if (np.isfinite(have) != finite).any() or (np.isnan(have) != np.isnan(near)).any():
            unlike = (np.isfinite(have) != finite) | (np.isnan(have) != np.isnan(near))
            return f"not finite alike: {have[unlike].ravel()[0]} for {near[unlike].ravel()[0]}"
        use = finite & np.isfinite(exact)
        if not use.any():
            return None
        error, usual = np.abs(have - exact)[use], np.abs(near - exact)[use]
        size = np.abs(exact)[use]
        tiny = TINY.get(str(dtype), 2.0**-126 if dtype == np.complex64 else 2.0**-1022)
        scale = size + (0 if extreme else size.max() + 1)
        bound = (8 * usual if extreme else 8 * usual.max()) + 16 * eps * scale + 2 * tiny
        worst = int(np.argmax(error - bound))
        if error[worst] > bound[worst]:
            return (
                f"error {error[worst]:.3g} over {bound[worst]:.3g} (value {exact[use][worst]:.6g})"
            )
    return None


def main(part: int, parts: int, dtypes: list[str], out: str, records: list[str]) -> None:
    matrix = Matrix()
    from tautograd._arrays.cuda.host_fallback import detours

    jobs = [(n, d) for d in dtypes for n in records or matrix.cases.RECORDS][part::parts]
    end = time.monotonic() + float(os.environ.get("OPS_SECONDS", "inf"))
    for done, (name, dtype) in enumerate(jobs):
        if time.monotonic() > end:
            matrix.counts["left out"] += len(jobs) - done
            break
        Path(f"{out}.now").write_text(f"{name} {dtype}")
        try:
            matrix.run(name, dtype)
            matrix.counts["records"] += 1
        except Exception as error:
            matrix.problems.append((name, dtype, "whole", repr(error)[:300]))
    Path(out).write_text(
        json.dumps({"problems": matrix.problems, "counts": matrix.counts, "detours": detours})
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4], sys.argv[5:])
