"""Products of matrices, vectors and whole tensors."""
