"""The training step of every example, compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STEPS = 11


@pytest.mark.parametrize(
    ("backend", "calls"), [("numpy", 4), pytest.param("llvm", 12, marks=pytest.mark.slow)]
)
def test_every_example(backend: str, calls: int) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.compile.example_steps", backend, str(calls)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(found.stdout.split()) == STEPS
