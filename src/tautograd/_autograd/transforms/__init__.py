"""`torch.func`: functions from functions, Jacobians, `vmap`, modules called with other parameters."""
