"""`torch._subclasses`: what libraries ask of PyTorch's tensors without values."""
