"""Distributions composed of others: transformed, reinterpreted, mixed, relaxed."""
