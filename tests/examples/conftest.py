"""Running the programs under examples/ as a user does, on either engine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import processes

Run = Callable[..., subprocess.CompletedProcess[str]]

# The text of the console script `taut`, and before it a finder that refuses PyTorch: what is run
# under --as-torch must do without it, even where it is installed.
TAUT = """
import sys

class NoPyTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "functorch", "torchgen"):
            raise ModuleNotFoundError(f"{name} is PyTorch's, which is hidden here")

sys.meta_path.insert(0, NoPyTorch())
from tautograd._cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="session")
def run(project: Path) -> Run:
    """Runs a program on "torch" or on "tautograd"; it must end well and say nothing on stderr."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(project / "src"),
        "NO_COLOR": "1",
        # One order of summation on any machine.
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }

    def run(engine: str, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        program = str(project / "examples" / f"{name}.py")
        command = {"torch": [program], "tautograd": ["-c", TAUT, "run", "--as-torch", program]}
        result = processes.run(
            [*command[engine], *map(str, arguments)], cwd=os.getcwd(), env=environment, timeout=600
        )
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        return result

    return run
