"""Arrays with a hidden batch dimension, and NumPy's functions on them: the basis of `vmap`."""
