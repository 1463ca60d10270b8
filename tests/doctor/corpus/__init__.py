"""Training loops to judge the doctor by: mistakes it must find, and sound ones it must not accuse."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from .case import PAIRS, SOUND, Pair, Sound

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem.startswith(("pairs_", "sound_")):
        import_module(f".{_path.stem}", __name__)

__all__ = ["PAIRS", "SOUND", "Pair", "Sound"]
