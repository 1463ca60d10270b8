"""PyTorch's own samples of its operations, on PyTorch and on tautograd: values and gradients compared."""
