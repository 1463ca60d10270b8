"""Large parameters are updated by a few threads at once, or by one where there are no more: the same numbers."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tautograd as torch
from tautograd._ops import thread_pool as pool


def _updated(threads: int) -> np.ndarray:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(4 * pool.WORTH_A_THREAD + 7))
        optimizer = torch.optim.Adam([weight], lr=0.1)
        for _ in range(3):
            weight.grad = torch.sin(weight.detach())
            optimizer.step()
        return weight.detach().numpy()
    finally:
        torch.set_num_threads(before)


def test_several_threads_give_the_same_bits() -> None:
    np.testing.assert_array_equal(_updated(3), _updated(1))


def test_without_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python starts none once the main thread has ended."""
    expected = _updated(3)

    def cannot(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(pool, "_pool", pool._Pool())
    monkeypatch.setattr(threading.Thread, "start", cannot)
    np.testing.assert_array_equal(_updated(3), expected)
