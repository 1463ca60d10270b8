"""The process with tautograd under the name `torch`, and PyTorch's table of operations run on that."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import signal
import sys
import warnings
from typing import Any

import numpy as np

from tools.pytorch_suite.loading import Loader

from .evaluated import SEED, evaluated

TABLE = "torch.testing._internal.common_methods_invocations"


def main() -> None:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    sys.argv[1:] = []
    loader = Loader("", "tautograd")
    table: Any = loader.module(TABLE)
    import torch as engine  # tautograd by that name

    ops = {(op.name, op.variant_test_name): op for op in table.op_db}
    while True:
        try:
            name, dtype, samples, seconds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        processes = _processes(ops.get(name), getattr(engine, dtype), len(samples))
        for sample, process in zip(samples, processes, strict=True):
            answer = _answer(ops.get(name), sample, engine, process, seconds)
            pickle.dump(answer, out)
        out.flush()


def _processes(op: Any, dtype: Any, count: int) -> list[Any]:
    """What each sample does to its result before differentiation: a function, which cannot be serialised.

    It is taken from the samples that the table makes here; there must be as many as were received.
    """
    if op is None:
        return [None] * count
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002
    try:
        made = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=True), count))
    except Exception:
        return [None] * count
    if len(made) != count:
        return [None] * count
    return [sample.output_process_fn_grad for sample in made]


def _answer(op: Any, sample: Any, engine: Any, process: Any, seconds: int) -> tuple[str, Any]:
    if op is None:
        return "missing", "the operation is not in the table"
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(seconds)
    try:
        return "done", evaluated(op, sample, engine, process=process)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()
        return "failed", said[0][:300] if said else ""
    finally:
        signal.alarm(0)


def _too_long(*_: Any) -> None:
    raise TimeoutError("no result in time")


if __name__ == "__main__":
    main()
