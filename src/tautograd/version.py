"""Versions, as programs ask for them: the package's, and those of libraries it is not built with."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__", "cuda", "hip"]

cuda: str | None = None
hip: str | None = None
