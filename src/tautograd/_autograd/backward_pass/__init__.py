"""The walk backward: the engine, one step of the chain rule, where gradients arrive, which are wanted."""
