"""Gradients to judge `verify` by: wrong ones it must find and locate, right ones it must not accuse."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from .case import RIGHT, WRONG, Case, Check

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem.startswith(("right_", "wrong_")):
        import_module(f".{_path.stem}", __name__)

__all__ = ["RIGHT", "WRONG", "Case", "Check"]
