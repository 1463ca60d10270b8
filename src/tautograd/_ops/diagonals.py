"""Declared in this file: see `_ops/families.py`."""
