"""Arrays on a GPU: CuPy's, behind NumPy's dispatch protocols."""
