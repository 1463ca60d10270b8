"""Transformers: stacked layers of attention and position-wise networks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import tautograd as torch

from ..._autograd.modes import modes
from ..._ops.nn.multi_head_attention import canonical_mask, dtype_of
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from .. import functional as F
from ..init import xavier_uniform_
from ._transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer
from .container import ModuleList
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    mask: Any = torch.full((sz, sz), float("-inf"), dtype=dtype, device=device)
    return torch.triu(mask, diagonal=1)


def _length(src: Any, batch_first: bool) -> int:
    return int(src.size(1 if batch_first and src.dim() == 3 else 0))


def _is_causal(mask: Any, is_causal: bool | None, size: int) -> bool:
    """Whether a mask hides exactly the future, if the caller does not say."""
    if is_causal is not None or mask is None:
        return is_causal is True
    if modes.exporter is not None:  # an exported graph takes the mask itself
        return False
    causal = _generate_square_subsequent_mask(size, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that attends to the encoded one."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias,
        )  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*options, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            other = TransformerDecoderLayer(*options, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.decoder = TransformerDecoder(other, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that hides the future: minus infinity above the diagonal, zeros elsewhere."""
        return _generate_square_subsequent_mask(sz, device, dtype)


class TransformerEncoder(Module):
    """A stack of encoder layers, with a norm at the end."""

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{why_not}",
                stacklevel=warning_level(),
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Any,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", dtype_of(mask), "mask", src.dtype
        )
        mask = canonical_mask(mask, "mask", None, "", src.dtype, False)
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, _length(src, batch_first))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None:
            if modes.exporter is not None:  # decided in the graph, by its input values
                out = self._without_padding(out, src, padding)
            elif self._skips_padding(src, padding):
                out = out.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        found: Tensor = out if self.norm is None else self.norm(out)
        return found

    def _skips_padding(self, src: Any, padding: Any) -> bool:
        """Whether PyTorch would skip padding in the computation, and give zeros for it."""
        if not self._may_skip_padding(src):
            return False
        return not self.mask_check or bool(_is_at_the_end(padding))

    def _may_skip_padding(self, src: Any) -> bool:
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        return not (
            torch.is_grad_enabled() and any(x.requires_grad for x in (src, *first.parameters()))
        )

    def _without_padding(self, out: Any, src: Any, padding: Any) -> Any:
        """Zeros where padding would be skipped."""
        if not self._may_skip_padding(src):
            return out
        hidden = (padding != 0).unsqueeze(-1)
        if self.mask_check:
            hidden = hidden & _is_at_the_end(padding)
        return out.masked_fill(hidden, 0.0)


def _is_at_the_end(padding: Any) -> Any:
    """Whether nothing follows padding."""
    kept = padding == 0
    return (kept[:, :-1] | ~kept[:, 1:]).all()


def _why_not_nested(layer: Any) -> str:
    """The reason why these layers will not skip padding, if there is one."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    attention = layer.self_attn
    if not attention.batch_first:
        return (
            "encoder_layer.self_attn.batch_first was not True"
            "(use batch_first for better inference performance)"
        )
    if not attention._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    return "encoder_layer.self_attn.num_heads is odd" if attention.num_heads % 2 else ""


class TransformerDecoder(Module):
    """A stack of decoder layers, with a norm at the end."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        found: Tensor = out if self.norm is None else self.norm(out)
        return found
