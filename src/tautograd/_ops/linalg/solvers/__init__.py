"""Inverses and systems of equations, with a factorisation or without."""
