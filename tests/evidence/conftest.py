"""Evidence to test with: a small project, and verifications of it in this process."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tautograd import evidence
from tautograd._verify.verify import verify
from tests import processes

ENGINES = ("tautograd", "torch")

MODEL = """
import {engine} as torch
from {engine} import nn

import helper
from package import part


def fn(x, y):
    return helper.scaled(x) * torch.sin(y) + part.shift(x)


def fn_inputs():
    return torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0] ** 2


def wrong(x):
    return Wrong.apply(x)


def noisy(x):
    return x * torch.rand(3, dtype=torch.float64)
"""


class Project:
    """A folder with a small project in it, and `taut` run there in a process of its own."""

    def __init__(self, folder: Path, source: Path, engine: str) -> None:
        self.folder, self.engine = folder, engine
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def fill(self) -> Project:
        self.write("model.py", MODEL.format(engine=self.engine))
        self.write("helper.py", "def scaled(x):\n    return 2 * x\n")
        self.write("package/__init__.py", "")
        self.write(
            "package/part.py", "from . import deep\n\n\ndef shift(x):\n    return x + deep.ONE\n"
        )
        self.write("package/deep.py", "ONE = 1.0\n")
        self.write("unrelated.py", "raise RuntimeError('this was imported')\n")
        return self

    def taut(
        self, *arguments: str, status: int | None = None, is_fresh: bool = False, **more: str
    ) -> Any:
        command, environment = ["-m", "tautograd", *arguments], {**self._environment, **more}
        if is_fresh:  # imports of its own, not those that were done beforehand
            got = subprocess.run(
                [sys.executable, *command], cwd=self.folder, env=environment, capture_output=True,
                text=True, timeout=120, check=False,
            )  # fmt: skip
        else:
            got = processes.run(command, cwd=self.folder, env=environment)
        if status is not None:
            assert got.returncode == status, got.stdout + got.stderr
        return got

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        got = subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return got.stdout


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Path:
    """A search path with tautograd as it is now: a replay would notice if it changed meanwhile."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(project / "src" / "tautograd", folder / "tautograd")
    return folder


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Callable[[str], Path]:
    """The small project with the evidence `fn.json` of `model.py:fn`, made once per engine."""
    made: dict[str, Path] = {}

    def folder_of(engine: str) -> Path:
        if engine not in made:
            made[engine] = tmp_path_factory.mktemp(f"template-{engine}")
            small = Project(made[engine], source, engine).fill()
            small.taut("verify", "model.py:fn", "--evidence", "fn.json", "--quiet", status=0)
        return made[engine]

    return folder_of


@pytest.fixture
def made_project(
    tmp_path: Path, source: Path, template: Callable[[str], Path]
) -> Callable[[str], Project]:
    """A copy of it, somewhere else."""

    def make(engine: str) -> Project:
        folder = tmp_path / "copy"
        shutil.copytree(template(engine), folder)
        return Project(folder, source, engine)

    return make


@pytest.fixture
def small_project(tmp_path: Path, source: Path) -> Callable[[str], Project]:
    """A project for an engine, filled with files."""

    def make(engine: str) -> Project:
        return Project(tmp_path, source, engine).fill()

    return make


@pytest.fixture(params=ENGINES)
def torch(request: pytest.FixtureRequest) -> Any:
    """Each engine in turn."""
    return importlib.import_module(request.param)


def product(x: Any, y: Any) -> Any:
    return (x * y).sin().sum(0)


@pytest.fixture
def report(torch: Any) -> Any:
    """A verification of `product`, on each engine."""
    torch.manual_seed(3)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    return verify(product, (x, torch.randn(4, dtype=torch.float64)))


@pytest.fixture
def saved(report: Any, tmp_path: Path) -> Path:
    """Its evidence, in a file."""
    return evidence.save(report, tmp_path / "product.json")
