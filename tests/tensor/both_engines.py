"""The same program on PyTorch and on tautograd, compared by what a user can see of its results.

A program is a function of the engine's module. It returns tensors, plain values, or lists of them;
`agree` runs it on both and compares values, dtypes, strides, offsets, versions, whether a tensor is
a view, and the names of nodes. Where PyTorch raises, tautograd must raise the same class, with
PyTorch's first sentence in its message. Programs compute with small integers, so values are
compared exactly.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import torch

import tautograd

Program = Callable[[Any], Any]


def agree(program: Program) -> None:
    """Fail unless both engines give the same results, or the same error."""
    want, got = run(torch, program), run(tautograd, program)
    if not isinstance(want, Exception):
        assert not isinstance(got, Exception), f"raised {type(got).__name__}: {got}"
        assert got == want
        return
    said = f"PyTorch raises {type(want).__name__}: {want}"
    assert isinstance(got, Exception), f"gave {got}, where {said}"
    assert type(got).__name__ == type(want).__name__, f"raised {got!r}, where {said}"
    assert key_phrase(want) in _one_line(got), f"raised {got}, where {said}"


def run(engine: Any, program: Program) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(program(engine))
        except Exception as error:
            return error


def key_phrase(error: Exception) -> str:
    """The first sentence of a message; of one about arguments, what precedes their list."""
    return re.split(r"(?<=[a-z\])])\. |(?<=[a-z\])])\.$| - got \(|: \[torch", _one_line(error))[0]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def seen(value: Any) -> Any:
    """Tensors as dictionaries of what can be seen of them, alike on both engines."""
    if isinstance(value, (torch.Tensor, tautograd.Tensor)):
        return look(value)
    if isinstance(value, (torch.Size, tautograd.Size)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [seen(v) for v in value]
    if isinstance(value, dict):
        return {k: seen(v) for k, v in value.items()}
    return str(value) if isinstance(value, (torch.dtype, tautograd.dtype)) else value


def look(x: Any) -> dict[str, Any]:
    """One tensor as a user sees it."""
    node = x.grad_fn
    inference = x.is_inference()
    return {
        "values": x.detach().tolist(),
        "dtype": str(x.dtype),
        "shape": tuple(x.shape),
        "stride": tuple(x.stride()),
        "offset": x.storage_offset(),
        "view": x._is_view(),
        "version": None if inference else x._version,
        "node": None if node is None else node.name(),
        "requires_grad": x.requires_grad,
        "leaf": x.is_leaf,
        "inference": inference,
    }


def attempt(action: Callable[[], Any]) -> Any:
    """What a step of a program gives, or the class and first sentence of its error."""
    try:
        return action()
    except Exception as error:
        return [type(error).__name__, key_phrase(error)]
