"""Vectors divided by their length: `torch.nn.functional.normalize`."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ..declare.out_argument import write_result
from ..declare.public import NN_FUNCTIONAL, public


@public(namespace=NN_FUNCTIONAL, method=False)
def normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """`input` divided by its p-norm along a dimension, or by `eps` if that is larger."""
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result: Tensor = input / length
    return result if out is None else write_result("div", result, out)
