"""Distributions that are made of others: transformed, reinterpreted, mixed, relaxed."""
