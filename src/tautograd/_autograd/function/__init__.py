"""Custom operations: `autograd.Function`, its node and context, its `vmap` rule."""
