"""Recurrent layers over whole sequences: RNN, LSTM and GRU. Cells, for one step, are in `_cells.py`."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import tautograd as torch

from ..._ops.nn.recurrent import recurrent_functions as functions
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {
    "LSTM": functions.lstm,
    "GRU": functions.gru,
    "RNN_TANH": functions.rnn_tanh,
    "RNN_RELU": functions.rnn_relu,
}


def apply_permutation(tensor: Any, permutation: Tensor, dim: int = 1) -> Tensor:
    """The deprecated name of `index_select`."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
        "instead",
        category=FutureWarning,
        stacklevel=warning_level(),
    )
    found: Tensor = tensor.index_select(dim, permutation)
    return found


class RNNBase(Module):
    """What recurrent layers share: their parameters, and argument checks."""

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    _all_weights: list[list[str]]
    _flat_weights_names: list[str]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_dropout(dropout)
        self._check_options()
        if mode not in tuple(_GATES):  # compared, not hashed
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._all_weights = []
        self._flat_weights_names = []
        for layer in range(num_layers):
            for direction in range(self._directions):
                self._register(layer, direction, {"device": device, "dtype": dtype})
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def _check_dropout(self, dropout: Any) -> None:
        if not _is_number(dropout) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
                f"expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=warning_level(),
            )

    def _check_options(self) -> None:
        for name, kind in (
            ("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def _register(self, layer: int, direction: int, place: dict[str, Any]) -> None:
        """The parameters of one layer in one direction."""
        gates = _GATES[self.mode] * self.hidden_size
        below = self.input_size if layer == 0 else self._output_size * self._directions
        shapes = {"weight_ih": (gates, below), "weight_hh": (gates, self._output_size)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}  # type: ignore[dict-item]
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for name, shape in shapes.items():
            names.append(f"{name}_l{layer}" + ("_reverse" if direction else ""))
            setattr(self, names[-1], Parameter(torch.empty(shape, **place)))
        self._all_weights.append(names)
        self._flat_weights_names.extend(names)

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, as a list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Any]:
        own = self._parameters
        return [
            own[name] if name in own else getattr(self, name, None)
            for name in self._flat_weights_names
        ]

    def flatten_parameters(self) -> None:
        """A no-op: parameters stay where they are."""

    def reset_parameters(self) -> None:
        """Reinitialise all parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # --- checks ----------------------------------------------------------------------------------

    def check_input(self, input: Any, batch_sizes: Tensor | None) -> None:
        wanted = self._flat_weights[0].dtype
        if input.dtype != wanted and not _autocasting():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). Convert "
                f"input: input.to({wanted}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _expected(self, input: Any, batch_sizes: Any, size: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions, batch, size

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        return self._expected(input, batch_sizes, self._output_size)

    def check_hidden_size(
        self,
        hx: Any,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else hx.index_select(1, permutation)

    # --- states: one for RNN and GRU, two for LSTM -----------------------------------------------

    def _zeros(self, input: Any, batch: int) -> Any:
        shape = (self.num_layers * self._directions, batch, self.hidden_size)
        return torch.zeros(shape, dtype=input.dtype, device=input.device)

    def _given_state(self, hx: Any, batched: bool) -> Any:
        wanted, kind = (3, "batched") if batched else (2, "unbatched")
        if hx.dim() != wanted:
            raise RuntimeError(
                f"For {kind} {wanted}-D input, hx should also be {wanted}-D but got {hx.dim()}-D "
                "tensor"
            )
        return hx if batched else hx.unsqueeze(1)

    def _squeezed(self, hidden: Any) -> Any:
        return hidden.squeeze(1)

    # --- running ---------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The output of the last layer at each step, and the final states of all layers."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            kind = self.mode.partition("_")[0]
            what = "tensor instead" if kind == "RNN" else "instead"
            raise ValueError(f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D {what}")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zeros(input, input.size(batch_dim))
        else:
            hx = self._given_state(hx, batched)
        self.check_forward_args(input, hx, None)
        output, *hidden = _FUNCTIONS[self.mode](
            input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        state: Any = tuple(hidden) if self.mode == "LSTM" else hidden[0]
        if not batched:
            output, state = output.squeeze(batch_dim), self._squeezed(state)
        return output, state

    def _forward_packed(self, sequence: PackedSequence, hx: Any) -> Any:
        input, batch_sizes, order, original = sequence
        if hx is None:
            hx = self._zeros(input, int(batch_sizes[0]))
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(input, hx, batch_sizes)
        output, *hidden = _FUNCTIONS[self.mode](
            input, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional,
        )  # fmt: skip
        state: Any = tuple(hidden) if self.mode == "LSTM" else hidden[0]
        packed = PackedSequence(output, batch_sizes, order, original)
        return packed, self.permute_hidden(state, original)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0), ("bidirectional", False),
        ):  # fmt: skip
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value}"
        return text


def _is_number(value: Any) -> bool:
    truth = isinstance(value, bool)
    return not truth and isinstance(value, numbers.Number)


def _autocasting() -> bool:
    asked = getattr(torch, "is_autocast_enabled", None)
    return asked is not None and bool(asked("cpu"))


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or relu instead of tanh, at each step."""

    nonlinearity: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        self.__dict__["nonlinearity"] = nonlinearity
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units: gates for resetting and updating the state."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: a cell state with gates for writing, keeping and exposing it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        return self._expected(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        sizes = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, expected in enumerate(sizes):
            self.check_hidden_size(hidden[i], expected, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return tuple(state.index_select(1, permutation) for state in hx)

    def _zeros(self, input: Any, batch: int) -> Any:
        count = self.num_layers * self._directions
        return tuple(
            torch.zeros((count, batch, size), dtype=input.dtype, device=input.device)
            for size in (self._output_size, self.hidden_size)
        )

    def _given_state(self, hx: Any, batched: bool) -> Any:
        wanted, kind = (3, "batched") if batched else (2, "unbatched")
        if hx[0].dim() != wanted or hx[1].dim() != wanted:
            raise RuntimeError(
                f"For {kind} {wanted}-D input, hx and cx should also be {wanted}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _squeezed(self, hidden: Any) -> Any:
        return tuple(state.squeeze(1) for state in hidden)
