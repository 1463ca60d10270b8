"""Verifies every differentiable operation and module of the installed PyTorch, and lists what is wrong.

    python tools/verify_pytorch.py                     all of them, float64 and float32
    python tools/verify_pytorch.py --only linalg       those with "linalg" in their names
    python tools/verify_pytorch.py --summary           counts and findings so far

Samples come from PyTorch's own tables (`op_db`, `module_db`). Each is verified with every kind of incoming
gradient, input and state. What was done is kept in a file, one line for each sample, so that a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tautograd

LARGEST = 4096  # elements of a sample's inputs: larger ones take long and show no more


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    options = _options()
    file = Path(options.file)
    if not options.summary:
        _run(options, file)
    _summarise(file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", default="pytorch_verified.jsonl", help="what was done so far")
    parser.add_argument("--only", default="", help="part of an operation's name")
    parser.add_argument("--samples", type=int, default=2, help="of each operation and dtype")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each sample")
    parser.add_argument("--minutes", type=float, default=0.0, help="for all of it; 0: no limit")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--again", action="store_true", help="also those that were found wrong")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    return parser.parse_args()


def _run(options: argparse.Namespace, file: Path) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = {row["name"]: row for row in _rows(file)}
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    with file.open("a") as out:
        for name, make in _samples(options):
            before = known.get(name)
            if before is not None and not (options.again and before["verdict"] != "correct"):
                continue
            if time.monotonic() > end:
                sys.stderr.write("the time is up; run it again to go on\n")
                return
            row = {"name": name, **_verified(make, options.seconds)}
            out.write(json.dumps(row) + "\n")
            out.flush()
            if row["verdict"] in ("wrong", "cut"):
                say(f"{name}: {row['verdict']}: {row['why'][:200]}")


def _verified(make: Callable[[], tuple[Any, Any]], seconds: float) -> dict[str, Any]:
    begin = time.monotonic()
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    try:
        function, inputs = make()
        report = tautograd.verify(function, inputs, confirm=False, seconds=seconds)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return {"verdict": "not run", "why": said, "seconds": round(time.monotonic() - begin, 2)}
    failed = [f"{c.reference}: {c.note} ({c.error:.3g})" for c in report.checks if not c.ok]
    where = [f"{s.operation}: {s.note}" for s in report.suspects[:2]]
    why = "; ".join([*failed, *where, *(report.notes if report.verdict != "correct" else [])])
    return {
        "verdict": report.verdict, "why": why[:600], "seconds": round(time.monotonic() - begin, 2)
    }  # fmt: skip


# --- samples -------------------------------------------------------------------------------------


def _need_no_test_runner() -> None:
    """Stub out the package that runs PyTorch's tests: its tables import it, and only they are used here."""
    if importlib.util.find_spec("expecttest") is None:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in


def _samples(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """The name and a maker of each function with its inputs: operations first, then modules."""
    _need_no_test_runner()
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for name in options.dtypes.split(","):
        dtype = getattr(torch, name)
        operations: list[Any] = list(op_db)
        for op in operations:
            title = f"{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''}"
            if options.only in title and dtype in op.supported_backward_dtypes("cpu"):
                yield from _of_op(op, title, dtype, options.samples)
        for info in module_db:
            if options.only in info.formatted_name and dtype in info.dtypes:
                for number in range(options.samples):
                    yield (
                        f"nn.{info.formatted_name} {name} {number}",
                        lambda info=info, dtype=dtype, number=number: _module(info, dtype, number),
                    )


def _of_op(op: Any, title: str, dtype: Any, count: int) -> Iterator[tuple[str, Any]]:
    for number in range(count):

        def make(number: int = number) -> tuple[Any, Any]:
            return _operation(op, dtype, number)

        yield f"{title} {str(dtype).rpartition('.')[2]} {number}", make


def _operation(op: Any, dtype: Any, number: int) -> tuple[Any, Any]:
    """An operation as a function of the floating-point tensors among its sample's arguments."""
    fair = 0
    for sample in op.sample_inputs("cpu", dtype, requires_grad=True):
        tensors, fill = _opened((sample.input, sample.args, sample.kwargs))
        if not tensors or not 0 < sum(t.numel() for t in tensors) <= LARGEST:
            continue
        if fair < number:
            fair += 1
            continue

        def function(*given: Any, sample: Any = sample, fill: Any = fill) -> Any:
            first, args, kwargs = fill(given)
            # Makes inputs symmetric or triangular, where the operation reads only a part of them.
            result = op.gradcheck_wrapper(op.get_op(), first, *args, **kwargs)
            return sample.output_process_fn_grad(result)

        return function, tuple(t.detach().clone().requires_grad_() for t in tensors)
    raise LookupError(f"it has no sample number {number} of that size")


def _opened(nest: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """The tensors that require a gradient, and a function that substitutes others."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, spec = tree_flatten(nest)
    places = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor) and v.requires_grad]
    narrow = leaves[places[0]].dtype if places else None

    def fill(given: Any) -> Any:
        wide = given[0].dtype
        others = [v.to(wide) if _is_of(v, narrow) and wide is not narrow else v for v in leaves]
        for place, value in zip(places, given, strict=True):
            others[place] = value
        return tree_unflatten(others, spec)

    return [leaves[i] for i in places], fill


def _is_of(value: Any, dtype: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is dtype


def _module(info: Any, dtype: Any, number: int) -> tuple[Any, Any]:
    made = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=True
    )
    usable = [one for one in made if one.forward_input is not None]
    if len(usable) <= number:
        raise LookupError(f"it has no sample number {number}")
    built, given = usable[number].constructor_input, usable[number].forward_input
    module = info.module_cls(*built.args, **built.kwargs).to(dtype)
    with torch.no_grad():
        module(*given.args, **given.kwargs)  # a lazy one has its parameters from now on
    if not given.args:
        return module, dict(given.kwargs)
    if not given.kwargs:
        return module, tuple(given.args)
    return _with_arguments(module, given.kwargs), tuple(given.args)


def _with_arguments(module: Any, kwargs: Any) -> Any:
    """A module whose other arguments go by name, as a function of its inputs."""
    return lambda *args: module(*args, **kwargs)


# --- what was found ------------------------------------------------------------------------------


def _rows(file: Path) -> list[dict[str, Any]]:
    """The last line of each sample."""
    if not file.exists():
        return []
    rows = {}
    for line in file.read_text().splitlines():
        row = json.loads(line)
        rows[row["name"]] = row
    return list(rows.values())


def _summarise(file: Path) -> None:
    rows = _rows(file)
    ran = [row for row in rows if not row["why"].startswith("LookupError")]
    names = {row["name"].rpartition(" ")[0].rpartition(" ")[0] for row in ran}
    counts = Counter(row["verdict"] for row in ran)
    say(f"{len(ran)} samples of {len(names)} operations and modules: {dict(counts)}")
    for row in ran:
        if row["verdict"] in ("wrong", "cut", "unclear"):
            say(f"  {row['name']}: {row['verdict']}: {row['why'][:300]}")


if __name__ == "__main__":
    main()
