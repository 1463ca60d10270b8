"""PyTorch's distributed tutorials as scripts, unchanged: the same text on PyTorch with gloo and on tautograd."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import HERE, on_ranks

SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.py"))
QUICK = {
    "dtensor_gradients",
    "fsdp_resume",
    "local_sgd",
    "app_state",
    "gathered_gradients",
    "join_uneven",
    "object_logging",
    "powersgd",
}


@pytest.mark.parametrize(
    "script",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCRIPTS],
)
def test_same_text(script):
    expected = on_ranks("torch", 2, f"scripts/{script}")
    found = on_ranks("tautograd", 2, f"scripts/{script}")
    for rank in range(2):
        assert expected[rank]
        assert found[rank] == expected[rank]
