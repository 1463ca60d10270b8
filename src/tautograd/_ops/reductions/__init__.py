"""Reductions along dimensions, cumulative operations, sorting and counting."""
