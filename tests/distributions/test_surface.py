"""All of PyTorch's names are here, with its arguments, and loaded only when first named."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.distributions

import tautograd
import tautograd.distributions

THEIRS, OURS = torch.distributions, tautograd.distributions
MODULES = sorted(info.name for info in pkgutil.iter_modules(THEIRS.__path__))
CLASSES = sorted(name for name in THEIRS.__all__ if isinstance(getattr(THEIRS, name), type))


def test_names() -> None:
    assert sorted(OURS.__all__) == sorted(THEIRS.__all__)
    public = {name for name in vars(THEIRS) if not name.startswith("_")}
    assert public <= set(dir(OURS))


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    theirs = importlib.import_module(f"torch.distributions.{name}")
    ours = importlib.import_module(f"tautograd.distributions.{name}")
    for public in theirs.__all__:
        assert hasattr(ours, public), public
        kind = getattr(ours, public)
        if isinstance(kind, type) and not public[0].islower():
            assert kind.__module__ == f"tautograd.distributions.{name}"


@pytest.mark.parametrize("name", CLASSES)
def test_attributes_and_arguments(name: str) -> None:
    theirs, ours = getattr(THEIRS, name), getattr(OURS, name)
    for attribute in dir(theirs):
        if attribute.startswith("_"):
            continue
        assert hasattr(ours, attribute), attribute
        one, other = getattr(theirs, attribute), getattr(ours, attribute)
        if inspect.isfunction(one):
            assert _parameters(other) == _parameters(one), attribute
    assert _parameters(ours.__init__) == _parameters(theirs.__init__)
    assert [b.__name__ for b in _bases(ours)] == [b.__name__ for b in _bases(theirs)]


def _parameters(function: Any) -> list[tuple[str, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind) for p in found if p.name != "self"]


def _bases(kind: type) -> list[type]:
    """The public classes that it is a kind of."""
    return [b for b in kind.__mro__ if b.__name__ in THEIRS.__all__ or b.__name__ == "Generic"]


def test_loaded_when_first_named() -> None:
    program = (
        "import sys, tautograd\n"
        "assert not any(m.startswith('tautograd.distributions') for m in sys.modules)\n"
        "assert tautograd.distributions.normal.Normal is tautograd.distributions.Normal\n"
        "import tautograd.distributions.normal as module\n"
        "assert module.Normal.__module__ == 'tautograd.distributions.normal'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_as_torch(tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from torch.distributions import Normal, kl_divergence\n"
        "from torch.distributions.normal import Normal as again\n"
        "from torch.distributions.utils import broadcast_all\n"
        "import torch.distributions.constraints as constraints\n"
        "assert again is Normal and constraints.positive.check(torch.ones(1)).all()\n"
        "torch.manual_seed(1)\n"
        "print(Normal(0., 1.).sample((3,)), kl_divergence(Normal(0., 1.), Normal(1., 2.)))\n"
    )
    command = [sys.executable, "-m", "tautograd", "run", "--as-torch", str(script)]
    ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = subprocess.run(
        [sys.executable, str(script)], check=True, capture_output=True, text=True
    ).stdout
    assert ours == theirs
