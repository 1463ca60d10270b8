"""The families of operations that only neural networks use, imported with `tautograd.nn.functional`.

A program that has no use for them does not wait for them; `tautograd.conv2d` and its like are found
when they are first named.
"""

# ruff: noqa: F401

from .nn import (
    affine_grids,
    attention_functions,
    batch_norms,
    dropouts,
    embedding,
    embedding_bags,
    grid_sampling,
    group_norms,
    grouped_products,
    interpolation,
    layer_norms,
    multi_head_attention,
    weight_norms,
)
from .nn.convolution import conv_functions, time_first, unfold
from .nn.losses import binary, classes, cross_entropy, ctc, likelihood, margin, pairs, regression
from .nn.pooling import adaptive, fractional, lp_pool, max_unpool, pool_functions
from .nn.recurrent import packed_sequences, recurrent_functions
from .shape import padding
