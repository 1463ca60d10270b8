"""Distributions of counts and classes."""
