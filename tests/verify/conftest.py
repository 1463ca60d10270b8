"""The trust kit speaks to both engines: `torch` is PyTorch and then tautograd in every test."""

from __future__ import annotations

import importlib

import pytest

from tests.both import ENGINES


@pytest.fixture(params=ENGINES)
def torch(request):
    """An engine, seeded."""
    engine = importlib.import_module(request.param)
    importlib.import_module(f"{request.param}.nn")
    engine.manual_seed(0)
    return engine
