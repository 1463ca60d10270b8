"""`torch.multiprocessing`: tensors that several processes share, and functions run in several."""

from __future__ import annotations

import gc
import os
import signal
import warnings

import pytest

import tautograd
import tautograd.multiprocessing as mp
from tests.both import same
from tests.utils.process_work import add_one, answer, fail, leave, train


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_one_process_writes_the_other_reads(method):
    x = tautograd.zeros(3).share_memory_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork among the test's own threads
        mp.start_processes(add_one, (x,), nprocs=2, start_method=method)
    assert x.tolist() == [1.0, 1.0, 0.0]


def test_sending_a_tensor_shares_it():
    context = mp.get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(requests, answers))
    process.start()
    param = tautograd.nn.Parameter(tautograd.ones(2, 3), requires_grad=False)
    assert not param.is_shared()
    requests.put(param)
    assert answers.get(timeout=60) == ("seen", 12.0, False, "Parameter")
    requests.put(None)
    process.join(60)
    assert param.is_shared()
    assert param.tolist() == [[2.0] * 3] * 2


def test_a_whole_model():
    model = tautograd.nn.Linear(2, 2)
    assert model.share_memory() is model
    assert all(param.is_shared() for param in model.parameters())
    mp.spawn(train, (model,), nprocs=1)
    assert {float(v) for param in model.parameters() for v in param.view(-1)} == {1.0}


def test_views_and_layouts_of_shared_memory():
    base = tautograd.arange(12.0).reshape(3, 4).share_memory_()
    column = base.t()[1:3, ::2]
    assert column.is_shared()
    base[0, 1] = 50
    assert column[0, 0].item() == 50.0
    strided = tautograd.arange(6.0).reshape(2, 3).t().share_memory_()
    assert strided.stride() == (1, 3)
    assert strided.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    for dtype in (tautograd.bfloat16, tautograd.bool, tautograd.complex64):
        assert tautograd.ones(2, dtype=dtype).share_memory_().sum().item() == 2
    assert tautograd.empty(0).share_memory_().is_shared()


def test_training_goes_on_in_shared_memory():
    layer = tautograd.nn.Linear(3, 1).share_memory()
    optimizer = tautograd.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.tolist()
    layer(tautograd.ones(1, 3)).sum().backward()
    optimizer.step()
    assert layer.weight.is_shared()
    assert layer.weight.tolist() != before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files by Linux's list")
def test_nothing_is_left_open():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        tautograd.ones(100).share_memory_()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_the_error_of_a_process():
    with pytest.raises(mp.ProcessRaisedException, match="process 1 is not well") as error:
        mp.spawn(fail, (1,), nprocs=2)
    assert error.value.error_index == 1
    assert "-- Process 1 terminated with the following error:" in str(error.value)


@pytest.mark.parametrize(
    ("code", "said"), [(3, "exit code 3"), (-signal.SIGTERM, "signal SIGTERM")]
)
def test_a_process_that_leaves(code, said):
    with pytest.raises(mp.ProcessExitedException, match=said) as error:
        mp.start_processes(leave, (code,), start_method="spawn")
    assert error.value.exit_code == code


def test_not_waiting():
    context = mp.spawn(fail, (5,), nprocs=2, join=False)
    assert len(context.pids()) == 2
    while not context.join():
        pass
    assert context.join()


@same
def test_names(torch):
    mp = __import__(f"{torch.__name__}.multiprocessing", fromlist=["x"])
    strategies = sorted(mp.get_all_sharing_strategies())
    mp.set_sharing_strategy("file_system")
    seen = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("telepathy")
    x = torch.ones(2)
    shared = [x.is_shared(), x.share_memory_() is x, x.is_shared(), x[0].is_shared()]
    return [strategies, seen, shared, mp.cpu_count(), hasattr(mp, "Queue")]


def test_graphs_do_not_cross():
    y = tautograd.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.reduce_tensor(y)
