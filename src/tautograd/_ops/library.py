"""The families of operations that only neural networks use, imported with `tautograd.nn.functional`.

A program that has no use for them does not wait for them; `tautograd.conv2d` and its like are found
when they are first named.
"""

# ruff: noqa: F401

from . import (
    convolution_functions,
    dropouts,
    norm_pools,
    padding,
    patches,
    pooling,
    weight_norms,
)
