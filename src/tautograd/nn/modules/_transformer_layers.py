"""The layers that transformers stack: attention and a position-wise network, each
with a residual connection, and a norm before or after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._ops.nn.multi_head_attention import canonical_mask, dtype_of
from ..._tensor.tensor import Tensor
from .. import functional as F
from ._shared.constructors import own_constructor
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    """What encoder and decoder layers share: self-attention, a position-wise network,
    and a norm and dropout for each block."""

    _blocks: int  # residual blocks; the one that an encoder lacks is cross-attention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        attentions = ("self_attn", "multihead_attn")[: self._blocks - 1]
        numbers = range(1, self._blocks + 1)
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
            )
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        for number in numbers:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.add_module(f"norm{number}", norm)
        for number in numbers:
            self.add_module(f"dropout{number}", Dropout(dropout))
        self._activate(
            _get_activation_fn(activation) if isinstance(activation, str) else activation
        )

    def _activate(self, activation: Callable[[Tensor], Tensor]) -> None:
        self.activation = activation

    def _attend(
        self, attention: Any, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool
    ) -> Any:
        return attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )[0]

    def _sa_block(
        self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        return self.dropout1(
            self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        )

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


@own_constructor
class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then a position-wise network."""

    _blocks = 2

    def _activate(self, activation: Callable[[Tensor], Tensor]) -> None:
        if activation is F.relu or isinstance(activation, ReLU):
            self.activation_relu_or_gelu = 1
        elif activation is F.gelu or isinstance(activation, GELU):
            self.activation_relu_or_gelu = 2
        else:
            self.activation_relu_or_gelu = 0
        super()._activate(activation)

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", dtype_of(src_mask), "src_mask", src.dtype
        )
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))  # type: ignore[no-any-return]
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))  # type: ignore[no-any-return]

    def _ff_block(self, x: Any) -> Any:
        return self.dropout2(self._feed_forward(x))


@own_constructor
class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, then cross-attention to a memory, then a position-wise network."""

    _blocks = 3

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))  # type: ignore[no-any-return]
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))  # type: ignore[no-any-return]

    def _mha_block(
        self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        return self.dropout2(
            self._attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        )

    def _ff_block(self, x: Any) -> Any:
        return self.dropout3(self._feed_forward(x))
