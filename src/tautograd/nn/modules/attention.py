"""Multi-head attention as a module."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from ..._ops.nn.multi_head_attention import canonical_mask, dtype_of, multi_head_attention_forward
from ..._tensor.tensor import Tensor
from ..init import constant_, xavier_normal_, xavier_uniform_
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Multi-head attention: averages of the values, weighted by how well queries match their keys.

    Inputs are projected for each head, and the heads' outputs are projected back. Masks: true,
    or minus infinity, where a query must not attend.
    """

    bias_k: Tensor | None
    bias_v: Tensor | None
    in_proj_bias: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        place = {"device": device, "dtype": dtype}
        shapes = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(torch.empty((3 * embed_dim, embed_dim), **place))
        for name, shape in shapes.items():
            own = None if self._qkv_same_embed_dim else Parameter(torch.empty(shape, **place))
            self.register_parameter(name, own)
        if not self._qkv_same_embed_dim:
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = Parameter(torch.empty(3 * embed_dim, **place))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        if add_bias_kv:
            self.bias_k = Parameter(torch.empty((1, 1, embed_dim), **place))
            self.bias_v = Parameter(torch.empty((1, 1, embed_dim), **place))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                constant_(bias, 0.0)
        if self.bias_k is not None:
            xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", dtype_of(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        turned = self.batch_first and query.dim() == 3
        if turned:  # keep identical tensors identical
            q = query.transpose(1, 0)
            k = q if key is query else key.transpose(1, 0)
            query, key, value = q, k, k if value is key else value.transpose(1, 0)
        own = self._parameters
        out, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=own.get("q_proj_weight"),
            k_proj_weight=own.get("k_proj_weight"),
            v_proj_weight=own.get("v_proj_weight"),
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights

    def merge_masks(
        self, attn_mask: Any, key_padding_mask: Any, query: Any
    ) -> tuple[Tensor | None, int | None]:
        """Both masks merged, and the kind: 1 for key padding, 2 for any."""
        batch, length, _ = query.shape
        padding = key_padding_mask
        if attn_mask is None:
            return padding, None if padding is None else 1
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if padding is not None:
            wide = padding.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + wide
        return merged, 2
