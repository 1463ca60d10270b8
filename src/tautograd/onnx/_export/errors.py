"""The errors of an export that cannot continue: what, at which line of the program, and what to do."""

from __future__ import annotations

from typing import Any

from ..errors import OnnxExporterError, UnsupportedOperatorError


def at_line(site: Any) -> str:
    """`, at model.py:12 in forward: …`; empty if no line is known."""
    return "" if site is None else f"\n  at {site.in_a_line}"


def refused(what: str, site: Any = None) -> OnnxExporterError:
    return OnnxExporterError(what + at_line(site))


def unsupported(name: str, detail: str, site: Any) -> UnsupportedOperatorError:
    """The error for an operation that cannot be expressed in ONNX here."""
    said = f"Exporting the operation '{name}' to ONNX is not supported{detail}."
    return UnsupportedOperatorError(
        said + at_line(site) + "\nSay what it becomes by `custom_translation_table={torch."
        f"{name}: rule}}` (docs/onnx.md), or compute it otherwise."
    )
