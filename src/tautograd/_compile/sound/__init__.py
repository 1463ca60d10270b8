"""Compiled functions whose own Python runs at every call, on tensors that compute nothing: see `following`."""
