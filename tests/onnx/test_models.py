"""Whole models with dynamic dimensions: the graph at other sizes, beside our forward and PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tests.onnx import models
from tests.onnx.exported import arrays_of, holds

RNG = np.random.default_rng(0)


def ids(*shape: int) -> Any:
    return RNG.integers(0, 50, shape)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape, dtype=np.float32)


def lengths(*kept: int, of: int) -> Any:
    return (np.arange(of)[None] < np.array(kept)[:, None]).astype(np.int64)


BT = {0: "batch", 1: "length"}
IMAGE = {0: "batch", 2: "height", 3: "width"}
ROWS: list[tuple[Callable[[Any], Any], Any, list[Any], Any]] = [
    (models.mlp, (normal(2, 6),), [(normal(5, 6),), (normal(1, 6),)], ({0: "batch"},)),
    (
        models.resnet,
        (normal(2, 3, 32, 32),),
        [(normal(1, 3, 40, 28),), (normal(3, 3, 32, 32),)],
        (IMAGE,),
    ),
    (models.tagger, (ids(2, 7),), [(ids(3, 4),), (ids(1, 1),)], (BT,)),
    (models.gpt, (ids(2, 8),), [(ids(1, 5),), (ids(3, 32),), (ids(4, 1),)], (BT,)),
    (
        models.vit,
        (normal(2, 3, 16, 16),),
        [(normal(1, 3, 16, 16),), (normal(4, 3, 16, 16),)],
        ({0: "batch"},),
    ),
    (models.unet, (normal(2, 1, 16, 16),), [(normal(1, 1, 24, 8),)], (IMAGE,)),
    (models.bert, (ids(2, 6),), [(ids(3, 9),)], (BT,)),
    (
        models.bert,
        (ids(2, 6), lengths(4, 6, of=6)),
        [(ids(3, 9), lengths(9, 2, 5, of=9)), (ids(2, 4), np.array([[1, 0, 1, 1], [1, 1, 1, 1]]))],
        (BT, BT),
    ),
]


@pytest.mark.parametrize(
    ("make", "example", "others", "shapes"),
    [
        pytest.param(*row, id=f"{row[0].__name__}{i}", marks=[pytest.mark.slow] * (i not in (0, 3)))
        for i, row in enumerate(ROWS)
    ],
)
def test_model(make: Any, example: Any, others: Any, shapes: Any) -> None:
    made = []
    for engine in (tautograd, torch):
        engine.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(make(engine).eval())
    ours, theirs = made

    def reference(*inputs: Any) -> list[np.ndarray]:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return arrays_of(theirs(*(torch.from_numpy(np.array(x.numpy())) for x in inputs)))

    def tensors(arrays: Any) -> Any:
        return tuple(map(tautograd.tensor, arrays))

    # PyTorch's fast path for padding leaves rows without a word as NaN, so the example has none.
    given = tensors(example), [tensors(o) for o in others]
    holds(ours, *given, reference, dynamic_shapes=shapes)


def test_weights_have_their_names_and_shared_ones_are_there_once() -> None:
    tautograd.manual_seed(0)
    model = models.gpt(tautograd).eval()
    program = tautograd.onnx.export(model, (tautograd.tensor(ids(2, 4)),))
    names = [w.name for w in program.model_proto.graph.initializer]
    assert "wte.weight" in names
    assert "lm_head.weight" not in names
    assert {n for n in names if "constant" not in n} <= set(model.state_dict())
    nodes = [n.name for n in program.model_proto.graph.node]
    assert "/blocks/0/attn/Gemm" in nodes
    assert len(set(nodes)) == len(nodes)
