"""Monkeypatching: the only package that replaces names with our functions, and restores them."""
