"""Every module of `nn` as a graph, beside our forward and PyTorch's with the same weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tests.onnx.exported import arrays_of, holds
from tests.onnx.modules import ROWS, arrays

# What onnx's own evaluator does not do, or does otherwise than ONNX's text and onnxruntime.
ONLY_RUNTIME = {
    "RNN relu": "does not know the activation Relu",
    **{
        f"ConvTranspose{r}d {{'groups': 2, 'dilation': 2}}": "does not know groups"
        for r in (1, 2, 3)
    },
}


def _is_slow(name: str) -> bool:
    """Of every kind of module, the first configuration is a fast test."""
    kind = name.split(" ", maxsplit=1)[0]
    first = next(row[0] for row in ROWS if row[0].split(" ")[0] == kind)
    return name != first or kind[-2:] in ("1d", "3d")


@pytest.mark.parametrize(
    ("name", "make", "given"),
    [pytest.param(*row, id=row[0], marks=[pytest.mark.slow] * _is_slow(row[0])) for row in ROWS],
)
def test_module(name: str, make: Any, given: Any) -> None:
    numbers = arrays(given)
    models = []
    for engine in (tautograd, torch):
        engine.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(make(engine).eval())
    ours, theirs = models

    def reference(*inputs: Any) -> list[np.ndarray]:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return arrays_of(theirs(*(torch.from_numpy(np.array(x.numpy())) for x in inputs)))

    runtimes = ("onnxruntime",) if name in ONLY_RUNTIME else ("reference", "onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        holds(ours, tuple(tautograd.tensor(a) for a in numbers), (), reference, runtimes)
