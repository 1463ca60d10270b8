"""Nested arguments and results: looked into, walked, and put together again."""
