"""The tables of PyTorch's names are PyTorch's, and what is said of missing ones is true."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
import warnings

import pytest

from tautograd._names import reasons, table
from tautograd._names.resolve import is_here
from tautograd._nearest import missing_name


def _tool(project, name):
    spec = importlib.util.spec_from_file_location(name, project / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_names_are_pytorchs(project):
    """In a process of its own: it imports every module of PyTorch."""
    command = [sys.executable, str(project / "tools" / "make_names.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_coverage_page_is_up_to_date(project):
    tool = _tool(project, "make_coverage")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = tool.page()
    assert (project / "docs" / "coverage.md").read_text(encoding="utf-8") == text, (
        "run tools/make_coverage.py"
    )


@pytest.mark.parametrize("module", [reasons, table])
def test_the_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_reasons_are_given_for_what_pytorch_has_and_tautograd_lacks():
    whole, _ = reasons._by_path()
    for path in whole:
        assert table.is_public(path), f"{path} is no name of PyTorch's"
        assert not is_here(path), f"{path} is here: no reason is needed"


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("torch", "mtia", "tautograd has no 'torch.mtia', which PyTorch has: it is for Meta's accelerators"),
        ("tautograd", "mps", "tautograd has no 'tautograd.mps', which PyTorch has: it is for Apple's GPUs"),
        ("torch", "DataLoader", "did you mean 'torch.utils.data.DataLoader'?"),
        ("torch.nn", "clip_grad_norm_", "did you mean 'torch.nn.utils.clip_grad_norm_'?"),
        ("torch.nn", "one_hot", "did you mean 'torch.nn.functional.one_hot'?"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_missing_name(module, name, said):
    assert said in missing_name(module, name, ["Linear", "zeros"])
