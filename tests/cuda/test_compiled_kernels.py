"""Compiled steps where declared and generated kernels meet (`compiled_here`): what they give, and how."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulated import needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]


@pytest.fixture(scope="module")
def found() -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "tests.cuda.compiled_here"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("kind", "bound"), [("float32", 1e-6), ("half", 2e-4)])
def test_losses_are_those_of_the_step_as_it_is(found: Any, kind: str, bound: float) -> None:
    plain, compiled = found[kind]["losses"]
    np.testing.assert_allclose(compiled, plain, rtol=bound)
    assert plain[-1] < plain[0] - 1


def test_scores_have_even_rows_and_products_their_bias(found: Any) -> None:
    half = found["half"]
    assert half["biased"] == 4
    assert not any(step % 16 for step in half["steps_of_rows"])
    assert "cross_entropy" in half["calls"]
    assert half["packs"] > found["float32"]["packs"] > 0


@pytest.mark.parametrize("kind", ["float32", "half"])
def test_results_lie_where_memory_was_planned(found: Any, kind: str) -> None:
    """Also of calls that ask for memory of the same size for themselves, which has a room of its own."""
    assert found[kind]["moved"] == []
    assert found[kind]["rooms"] >= 2
    assert found[kind]["over_scores"]
