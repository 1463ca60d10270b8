"""What linear maps and convolutions share: a weight, an optional bias, and their initialisation."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ...._tensor.tensor import Tensor
from ... import init
from ...parameter import Parameter
from ..module import Module


class WeightAndBias(Module):
    """A module with a weight and an optional bias of one number per output."""

    weight: Tensor
    bias: Tensor | None

    def _make_parameters(
        self, shape: tuple[int, ...], outputs: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        self.weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(outputs, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialise weights and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)
