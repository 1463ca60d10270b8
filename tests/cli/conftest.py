"""Running `taut` as a user does: in a process of its own, on files in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import processes

Outcome = subprocess.CompletedProcess[str]


class Workshop:
    """A folder with scripts in it, and ways to run them."""

    def __init__(self, folder: Path, package_path: Path, *, is_miniature: bool = False) -> None:
        self.folder = folder
        self._is_miniature = is_miniature
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(package_path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def python(self, *arguments: str) -> Outcome:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def program(self, *arguments: str) -> Outcome:
        """`python script.py …`, for what it prints: without waiting for PyTorch to be loaded."""
        return processes.run(arguments, cwd=self.folder, env=self._environment)

    def taut(self, *arguments: str) -> Outcome:
        # The text of the console script that an install makes.
        command = ("-c", "import sys; from tautograd._cli.main import main; sys.exit(main())")
        if self._is_miniature:
            return self.python(*command, *arguments)
        return processes.run([*command, *arguments], cwd=self.folder, env=self._environment)


@pytest.fixture
def workshop(tmp_path: Path, project: Path) -> Workshop:
    """A folder in which `taut` runs on tautograd as it is."""
    return Workshop(tmp_path, project / "src")


@pytest.fixture(scope="session")
def miniature(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Path:
    """A search path with a tautograd of a dozen names.

    What `import torch.x.y` does must not depend on which modules tautograd happens to have: the
    command under test is the real one, the package it maps to is this one.
    """
    root = tmp_path_factory.mktemp("miniature")
    package = root / "tautograd"
    source = project / "src" / "tautograd"
    for name in ("_cli", "_files", "_names", "_user_code"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / name, package / name, ignore=ignored)
    for name in (
        "_launch_options.py",
        "_nearest.py",
        "_version.py",
        "torch_version.py",
        "version.py",
    ):
        shutil.copy(source / name, package / name)
    files = {
        "__init__.py": """
            from tautograd._version import __version__
            from tautograd import nn, optim
            from tautograd._private import linalg
            def relu(x): return max(x, 0)
            def __getattr__(name):
                if name == "lazy": return 42
                raise AttributeError(f"module 'tautograd' has no attribute {name!r}")
        """,
        "nn/__init__.py": "from tautograd.nn import functional\nclass Linear: pass\n",
        "nn/functional.py": "def relu(x): return max(x, 0)\n",
        "optim/__init__.py": "class Adam: pass\n",
        "optim/lr_scheduler.py": "class StepLR: pass\n",
        "autograd/__init__.py": "from tautograd.autograd.gradcheck import gradcheck\n",
        "autograd/gradcheck.py": "def gradcheck(): return True\n",
        "utils/__init__.py": "",
        "utils/data.py": "class DataLoader: pass\n",
        "_private/__init__.py": "",
        "_private/linalg.py": "def det(x): return x\n",
    }
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return root


@pytest.fixture
def aliased(tmp_path: Path, miniature: Path) -> Callable[[str], Outcome]:
    """Runs the text of a script under `taut run --as-torch`, on the miniature tautograd."""
    workshop = Workshop(tmp_path, miniature, is_miniature=True)

    def run(text: str) -> Outcome:
        workshop.write("script.py", text)
        return workshop.taut("run", "--as-torch", "script.py")

    return run
