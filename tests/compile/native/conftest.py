"""Where object code is kept, for the tests of what is kept there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tautograd._compile.native.llvm import player


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache of the test's own, which is not there yet."""
    player.player()  # its code is kept too: let it be loaded before
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tautograd" / "native"
