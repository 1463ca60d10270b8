"""Imports point down only: the contracts in pyproject.toml, kept."""

from __future__ import annotations

import subprocess
import sys


def test_imports_point_down_only(project):
    got = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert got.returncode == 0, got.stdout + got.stderr
