"""Matrices as products of simpler ones: Cholesky, LU, LDL, QR, singular values, eigenvalues."""
