"""Compiled functions are recorded here as in `tests/compile`, whether or not it pays."""

from tests.compile.conftest import records_are_free

__all__ = ["records_are_free"]
