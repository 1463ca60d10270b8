"""The pytest plugin: a fixture that checks gradients, found by pytest once tautograd is installed.

It is a package of its own because pytest imports every plugin when it starts: importing this one
loads neither NumPy nor the engine, until a test asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tautograd._verify.report.report import Report

__all__ = ["verify_gradients"]


@pytest.fixture(scope="session")
def verify_gradients() -> Callable[..., Report]:
    """Check the gradient of a function or module: `verify_gradients(fn, inputs)`.

    It is `tautograd.testing.assert_gradients`: the test fails with the whole report if the gradient
    is wrong, and goes on with the report if it is right. PyTorch's tensors and tautograd's will do.
    """
    from tautograd.testing import assert_gradients

    return assert_gradients
