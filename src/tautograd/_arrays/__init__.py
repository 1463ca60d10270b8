"""The lowest layer: dtypes, devices and the arrays that hold a tensor's numbers."""
