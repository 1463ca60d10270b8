"""A catalogue of wrong gradients and of right but hard ones, as tables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from .table import RIGHT, WRONG

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem.startswith(("right_", "wrong_", "public_")):
        import_module(f".{_path.stem}", __name__)

__all__ = ["RIGHT", "WRONG"]
