"""Checks a gradient against independent references, and locates the operation behind a wrong one."""
