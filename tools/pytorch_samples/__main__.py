"""Compares values and gradients of every sample of PyTorch's table of operations, on tautograd and on PyTorch.

    python -m tools.pytorch_samples                             float32, bfloat16, int64, complex64
    python -m tools.pytorch_samples --only linalg --dtypes float32
    python -m tools.pytorch_samples --all                       also what is a known departure

Prints what lies beyond the bound that `judged` derives, an operation and dtype to a line, then counts. Known
departures (`departures`) are counted with their reasons. PyTorch's table is the installed one's (`op_db`), and
tautograd's functions are found by that table, run on tautograd (`tools.pytorch_suite.loading`). Needs the package
expecttest.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .carried import CarriedTensor, NotCarried, packed
from .departures import reason_for
from .evaluated import SEED, evaluated
from .judged import EPS, difference

LARGEST = 20_000  # numbers of a sample's inputs


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db

    other = subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    counts: Counter[str] = Counter()
    known: Counter[str] = Counter()
    found = []
    for dtype in options.dtypes.split(","):
        operations: list[Any] = list(op_db)
        for op in operations:
            title = f"{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''}"
            if options.only not in title or getattr(torch, dtype) not in op.supported_dtypes("cpu"):
                continue
            for said in _differences(op, dtype, other, options, counts):
                reason = reason_for(title, dtype, said)
                if reason:
                    known[reason] += 1
                    if not options.all:
                        continue
                found.append({"operation": title, "dtype": dtype, "said": said, "known": reason})
                _say(f"{title} {dtype}: {said}" + (f" [{reason}]" if reason else ""))
    assert other.stdin is not None
    other.stdin.close()
    other.wait()
    _say(
        json.dumps(
            {"counts": counts, "known departures": known, "differences": len(found)}, indent=1
        )
    )
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=0))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dtypes", default="float32,bfloat16,int64,complex64")
    parser.add_argument("--only", default="", help="part of an operation's name")
    parser.add_argument("--most", type=int, default=200, help="samples of an operation and dtype")
    parser.add_argument("--seconds", type=int, default=20, help="for a sample")
    parser.add_argument("--all", action="store_true", help="print known departures, too")
    parser.add_argument("--json", help="a file that gets the differences")
    return parser.parse_args()


def _differences(
    op: Any, dtype: str, other: Any, options: argparse.Namespace, counts: Counter[str]
) -> list[str]:
    """The differences in the samples of an operation, without duplicates."""
    kind = getattr(torch, dtype)
    wants_gradient = kind in op.supported_backward_dtypes("cpu")
    samples = _samples(op, kind, wants_gradient, options.most, counts)
    carried = [sample for sample, _ in samples]
    pickle.dump(((op.name, op.variant_test_name), dtype, carried, options.seconds), other.stdin)
    other.stdin.flush()
    said: Counter[str] = Counter()
    for sample, process in samples:
        answer = pickle.load(other.stdout)
        if sample is None:
            counts["samples that cannot be handed over"] += 1
            continue
        try:
            theirs = evaluated(op, sample, torch, process=process)
        except Exception:
            counts["samples that PyTorch refuses"] += 1
            continue
        counts["samples"] += 1
        for text in _of_sample(op, dtype, (sample, process), theirs, answer, counts):
            said[text] += 1
    return [f"{text} [{times} samples]" if times > 1 else text for text, times in said.items()]


def _samples(op: Any, kind: Any, wants: bool, most: int, counts: Counter[str]) -> list[Any]:
    """Samples in serialised form, each with what it does to a result before differentiation."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002
    torch.manual_seed(SEED)
    carried: list[Any] = []
    try:
        for sample in op.sample_inputs("cpu", kind, requires_grad=wants):
            try:
                one = packed((sample.input, sample.args, sample.kwargs), torch)
                carried.append(
                    (one if _size(one) <= LARGEST else None, sample.output_process_fn_grad)
                )
            except NotCarried:
                carried.append((None, None))
            if len(carried) == most:
                break
    except Exception as error:
        counts[f"tables that fail: {op.name}: {type(error).__name__}"] += 1
    return carried


def _size(nest: Any) -> int:
    if isinstance(nest, CarriedTensor):
        return int(nest.array.size)
    parts = (
        nest.values() if isinstance(nest, dict) else nest if isinstance(nest, tuple | list) else ()
    )
    return sum(_size(part) for part in parts)


def _of_sample(
    op: Any, dtype: str, sample: Any, theirs: Any, answer: Any, counts: Counter[str]
) -> list[str]:
    status, ours = answer
    if status != "done":
        return [f"{status}: {ours}"]
    truth: Any = (None, None)
    moved: Any = (None, None)
    values = difference(ours[0], theirs[0], None, None)
    gradients = difference(ours[1], theirs[1], None, None)
    counts["gradients"] += theirs[1] is not None
    if values or gradients:
        # Only if the numbers are not within a few roundings is the effect of rounding determined.
        arguments, process = sample
        truth = _wide(op, arguments, process)
        eps = EPS.get(dtype, EPS["float32"])
        moved = _wide(op, _rounded(arguments, eps), process, eps)
        values = difference(ours[0], theirs[0], truth[0], moved[0])
        gradients = difference(ours[1], theirs[1], truth[1], moved[1])
    said = []
    if values:
        said.append(f"values: {values}")
    if gradients:
        said.append(f"gradients: {gradients}")
    return said


def _wide(op: Any, sample: Any, process: Any, moved: float = 0.0) -> Any:
    try:
        return evaluated(op, sample, torch, wide=True, process=process, moved=moved)
    except Exception:
        return None, None


def _rounded(nest: Any, eps: float) -> Any:
    """A sample with each of its floating-point numbers moved by at most a unit in the last place."""
    if isinstance(nest, CarriedTensor):
        if nest.dtype not in EPS:
            return nest
        wide = nest.wide()
        shift = 1 + eps * np.random.default_rng(wide.size).choice([-1.0, 1.0], wide.shape)
        kind = "complex128" if wide.dtype.kind == "c" else "float64"
        return CarriedTensor(wide * shift, kind, nest.strides, nest.requires_grad)
    if isinstance(nest, dict):
        return {k: _rounded(v, eps) for k, v in nest.items()}
    if isinstance(nest, tuple | list):
        return type(nest)(_rounded(v, eps) for v in nest)
    return nest


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
