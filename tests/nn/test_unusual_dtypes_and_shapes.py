"""Flexible attention of mixed dtypes, and batch norms of nothing, as PyTorch has them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch

import tautograd


def attend(m: Any, dtypes: tuple[str, str, str]) -> Any:
    flex = import_module(f"{m.__name__}.nn.attention.flex_attention").flex_attention
    numbers = m.linspace(-2, 2, 24).reshape(1, 1, 6, 4)
    query, key, value = ((numbers * (i + 1)).to(getattr(m, kind)) for i, kind in enumerate(dtypes))
    return flex(query, key, value, return_lse=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dtypes",
    [
        ("float16", "float16", "float16"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("float32", "float32", "float64"),
        ("float64", "float32", "float16"),
        ("float16", "float32", "float64"),
        ("int64", "int64", "int64"),
    ],
    ids=" ".join,
)
def test_attention_has_the_dtype_of_its_query(dtypes: tuple[str, str, str]) -> None:
    for theirs, ours in zip(attend(torch, dtypes), attend(tautograd, dtypes), strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        assert ours.double().flatten().tolist() == pytest.approx(
            theirs.double().flatten().tolist(), rel=1e-2 if "float16" in dtypes[0] else 1e-5
        )


def normalised(m: Any, x: Any, weight: Any, training: bool) -> Any:
    channels = x[1]
    try:
        found = m.nn.functional.batch_norm(
            m.zeros(x), m.zeros(channels), m.ones(channels), m.ones(weight), training=training
        )
    except (IndexError, RuntimeError) as error:
        return type(error)
    return tuple(found.shape)


@pytest.mark.parametrize("x", [(0, 3), (0, 3, 2), (2, 0), (0, 0, 2), (2, 3, 0)], ids=str)
@pytest.mark.parametrize("weight", [(3,), (1,), (0,), (1, 3), (3, 1, 1), (1,) * 6 + (3,)], ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_of_nothing(x: Any, weight: Any, training: bool) -> None:
    assert normalised(tautograd, x, weight, training) == normalised(torch, x, weight, training)
