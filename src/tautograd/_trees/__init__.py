"""Nested arguments and results: traversed, mapped and rebuilt."""
