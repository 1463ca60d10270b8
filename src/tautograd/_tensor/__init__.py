"""The Tensor class, and how tensors are created, printed and given their methods."""
