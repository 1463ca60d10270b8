"""Linear maps of the last dimension."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ..._autograd.autocast_state import EVER_USED
from ..._autograd.modes import modes, set_lower
from ..._ops.declare.autocasting import cast_tensor
from ..._ops.declare.subclasses import looks_for_others
from ..._ops.nn.linear import bilinear, linear, quick_linear
from ..._tensor.tensor import Tensor
from .. import init
from ..parameter import Parameter, UninitializedParameter
from ._shared.weight_and_bias import WeightAndBias
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input, whatever its constructor arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


def _cast_linear(input: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """The layer under `autocast`: does what the function does there on a GPU, in fewer steps."""
    quick = hasattr(type(input._data), "raw") and modes.way[0] is not None
    if quick and type(weight) is Parameter and (bias is None or type(bias) is Parameter):
        lower = modes.lower
        x, w = cast_tensor(input, lower), cast_tensor(weight, lower)
        b = None if bias is None else cast_tensor(bias, lower)
        set_lower(None)
        try:
            plain = quick_linear(x, w, b)
        finally:
            set_lower(lower)
        if plain is not None:
            return plain
    out: Tensor = linear(input, weight, bias)
    return out


class Linear(WeightAndBias):
    """y = x Wᵀ + b."""

    in_features: int
    out_features: int

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shape = (out_features, in_features)
        self._make_parameters(shape, out_features, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        try:  # bypasses attribute lookup, which is slower
            own = self._parameters
            weight, bias = own["weight"], own["bias"]
        except KeyError:  # computed, for example by a parametrization
            weight, bias = self.weight, self.bias  # type: ignore[assignment]
        if type(input) is Tensor and weight is not None and not looks_for_others:
            if EVER_USED and modes.lower is not None:
                return _cast_linear(input, weight, bias)
            plain = quick_linear(input, weight, bias)
            if plain is not None:
                return plain
        out: Tensor = linear(input, weight, bias)
        return out

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of attention, which PyTorch makes a separate class."""


class Bilinear(WeightAndBias):
    """y = x₁ᵀ A x₂ + b, with a separate A for each output feature."""

    in1_features: int
    in2_features: int
    out_features: int

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self._make_parameters(shape, out_features, bias, device, dtype)

    def reset_parameters(self) -> None:
        """Reinitialise weights and bias."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that learns `in_features` from its first input."""

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        # The weight has no shape to draw for yet, so the parent draws nothing.
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
