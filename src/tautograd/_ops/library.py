"""The families of operations that only neural networks use, imported with `tautograd.nn.functional`.

A program that has no use for them does not wait for them; `tautograd.conv2d` and its like are found
when they are first named.
"""

# ruff: noqa: F401

from . import (
    adaptive_pooling,
    affine_grids,
    attention_functions,
    batch_norms,
    binary_losses,
    class_losses,
    convolution_functions,
    ctc,
    dropouts,
    embedding,
    embedding_bags,
    fractional_pooling,
    grid_sampling,
    group_norms,
    interpolation,
    layer_norms,
    likelihood_losses,
    margin_losses,
    multi_head_attention,
    norm_pools,
    packed_sequences,
    padding,
    pair_losses,
    patches,
    pooling,
    recurrent_functions,
    regression_losses,
    unpooling,
    weight_norms,
)
