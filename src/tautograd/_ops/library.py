"""The families of operations that only neural networks use, imported with `tautograd.nn.functional`.

A program that has no use for them does not wait for them; `tautograd.conv2d` and its like are found
when they are first named.
"""

# ruff: noqa: F401

from . import (
    adaptive_pooling,
    affine_grids,
    convolution_functions,
    dropouts,
    grid_sampling,
    interpolation,
    norm_pools,
    padding,
    patches,
    pooling,
    unpooling,
    weight_norms,
)
