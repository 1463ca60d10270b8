"""Pooling: maxima, means and norms of windows, and the way back."""
