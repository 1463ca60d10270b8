"""Distributions of single real numbers."""
