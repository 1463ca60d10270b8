"""`assert_gradients` and the pytest fixture, on both engines and in a small project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from tautograd.testing import assert_gradients


def wrong_square(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x  # a factor of 2 is missing

    return lambda x: Square.apply(x).sum()


def test_a_right_gradient_gives_its_report(torch):
    report = assert_gradients(lambda x: (x * x).sum(), torch.randn(3, dtype=torch.float64))
    assert report.ok
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    assert assert_gradients(model, (torch.randn(4, 3),), mode="fast").ok


def test_a_wrong_one_raises_with_the_report(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    with pytest.raises(AssertionError) as caught:
        assert_gradients(wrong_square(torch), x)
    text = str(caught.value)
    assert "expected 2" in text
    assert "got 1" in text


def test_options_are_those_of_verify(torch):
    with pytest.raises(ValueError, match=r"^mode: "):
        assert_gradients(torch.sin, torch.ones(2), mode="slow")


# --- the plugin ----------------------------------------------------------------------------------

PROJECT = """
import {engine} as torch

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * 2

def test_right(verify_gradients):
    verify_gradients(torch.sin, torch.randn(3, dtype=torch.float64))

def test_wrong(verify_gradients):
    verify_gradients(lambda x: Wrong.apply(x) + 0, torch.randn(3, dtype=torch.float64))
"""


def run_pytest(folder, *options, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def installed(tmp_path, project):
    """A folder with the entry points of pyproject.toml, as an installation would have them."""
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    points = declared["project"]["entry-points"]["pytest11"]
    folder = tmp_path / "site" / "declared_entry_points-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return str(tmp_path / "site")


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_a_project_has_gradient_tests_in_two_lines(tmp_path, installed, engine):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_layers.py").write_text(PROJECT.format(engine=engine))
    got = run_pytest(folder, PYTHONPATH=installed)
    assert got.returncode == 1, got.stdout + got.stderr
    assert "1 failed, 1 passed" in got.stdout
    assert "FAILED test_layers.py::test_wrong" in got.stdout
    assert "expected 3" in got.stdout
    assert "test_layers.py:17: AssertionError" in got.stdout  # the line of the test, not of the kit


def test_pytest_itself_loads_neither_numpy_nor_the_engine(tmp_path, installed):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_modules.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    assert 'tautograd_pytest' in sys.modules\n"
        "    assert not {'numpy', 'tautograd', 'torch'} & set(sys.modules)\n"
    )
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
    got = run_pytest(folder, "-p", "no:hypothesispytest", PYTHONPATH=installed, **plain)
    assert got.returncode == 0, got.stdout + got.stderr


def test_the_fixture_is_listed_with_what_it_does(tmp_path, installed):
    got = run_pytest(tmp_path, "--fixtures", PYTHONPATH=installed)
    assert "verify_gradients [session scope]" in got.stdout
    assert "Check the gradient of a function or module" in got.stdout
