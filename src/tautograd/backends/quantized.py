"""Engines of quantized arithmetic, of which this one has none."""

from __future__ import annotations

__all__ = ["engine", "supported_engines"]

engine = "none"
supported_engines: list[str] = ["none"]
