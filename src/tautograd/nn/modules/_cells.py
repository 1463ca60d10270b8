"""One step of a recurrence: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ..._ops.nn.recurrent import recurrent_functions as functions
from ..._tensor.tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """Weights and biases for the input and for the hidden state."""

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        place = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(torch.empty((rows, input_size), **place))
        self.weight_hh = Parameter(torch.empty((rows, hidden_size), **place))
        if bias:
            self.bias_ih = Parameter(torch.empty(rows, **place))
            self.bias_hh = Parameter(torch.empty(rows, **place))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialise all parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check_rank(self, value: Any, what: str) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {value.dim()}D instead"
            )

    def _check_ranks(self, input: Any, hx: Any) -> None:
        self._check_rank(input, "input")
        if hx is not None:
            self._check_rank(hx, "hidden")

    def _one_state(self, step: Any, input: Any, hx: Any) -> Tensor:
        """One step from state to state, for a batch or a single example."""
        self._check_ranks(input, hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
        elif not batched:
            hx = hx.unsqueeze(0)
        result = step(input, hx, *self._weights())
        found: Tensor = result if batched else result.squeeze(0)
        return found


class RNNCell(RNNCellBase):
    """One step of `RNN`."""

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        steps = {"tanh": functions.rnn_tanh_cell, "relu": functions.rnn_relu_cell}
        chosen: Any = self.nonlinearity
        step = steps.get(chosen) if isinstance(chosen, str) else None
        if step is None:
            self._check_ranks(input, hx)
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._one_state(step, input, hx)


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._one_state(functions.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: the new h and c."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, Tensor]:
        self._check_rank(input, "input")
        for i, state in enumerate(hx or ()):
            self._check_rank(state, f"hx[{i}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = functions.lstm_cell(input, hx, *self._weights())
        if batched:
            return h, c
        return h.squeeze(0), c.squeeze(0)
