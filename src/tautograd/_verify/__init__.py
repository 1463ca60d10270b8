"""Proving a gradient: the check, its references, and where a wrong one comes from."""
