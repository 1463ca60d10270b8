"""Pipelines give PyTorch's losses, results and weights; 1F1B holds few microbatches at a time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tautograd.distributed.pipelining import Schedule1F1B, ScheduleGPipe
from tests.distributed.ranks import on_ranks
from tests.distributed.test_ddp import differences


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_same_as_pytorch(size):
    expected = on_ranks("torch", size, "pipeline")
    found = on_ranks("tautograd", size, "pipeline")
    for rank in range(size):
        assert found[rank].keys() == expected[rank].keys()
        for name, value in expected[rank].items():
            differences(found[rank][name], value, 2e-5, f"rank {rank}, {name}")


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("count", [1, 3, 8, 16])
def test_each_microbatch_once_and_few_at_a_time(stages, count):
    for schedule in (ScheduleGPipe, Schedule1F1B):
        for index in range(stages):
            stage = SimpleNamespace(num_stages=stages, stage_index=index)
            order = list(schedule(stage, count)._order())
            assert sorted(order) == sorted(
                (k, i) for k in ("forward", "backward") for i in range(count)
            )
            held = most = 0
            for kind, number in order:
                assert (
                    kind == "forward" or ("forward", number) in order[: order.index((kind, number))]
                )
                held += 1 if kind == "forward" else -1
                most = max(most, held)
            assert most == (count if schedule is ScheduleGPipe else min(count, stages - index))
