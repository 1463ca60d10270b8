"""Convolution, transposed convolution, and sliding windows laid out as columns."""
