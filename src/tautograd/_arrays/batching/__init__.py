"""Arrays with a hidden batch dimension, and what NumPy's functions do to them: what `vmap` stands on."""
