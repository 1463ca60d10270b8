"""`nn.parallel` on a machine without GPUs: `DataParallel` passes on, the rest is refused."""

from __future__ import annotations

import pickle

import pytest
import torch.nn.parallel  # noqa: F401  (PyTorch does not load it by itself)

import tautograd
from tests.both import same


@same
def test_data_parallel(torch):
    model = torch.nn.DataParallel(torch.nn.Linear(3, 2), device_ids=None, dim=0)
    x = torch.randn(4, 3)
    out = model(x)
    out.sum().backward()
    seen = [repr(model), model.device_ids, list(model.state_dict()), out, model.module(x)]
    return [*seen, [p.grad for p in model.parameters()], isinstance(model, torch.nn.Module)]


@same
def test_arguments_by_name(torch):
    class Model(torch.nn.Module):
        def forward(self, x, *, scale, also=None):
            return {"x": x * scale, "also": also}

    return torch.nn.parallel.DataParallel(Model())(torch.ones(2), scale=3, also=[1, "two"])


REFUSED = [
    "data_parallel(torch.nn.Linear(2, 2), torch.ones(1, 2))",
    "parallel_apply([torch.nn.Linear(2, 2)], [(torch.ones(1, 2),)])",
    "parallel_apply([torch.nn.Linear(2, 2)], [])",
    "parallel_apply([torch.nn.Linear(2, 2)], [1], [1, 2])",
    "replicate(torch.nn.Linear(2, 2), [0])",
    "gather([torch.ones(2)], 0)",
    "gather([{'a': 1}, {}], 0)",
    "DistributedDataParallel(torch.nn.Linear(2, 2))",
]


@pytest.mark.parametrize("call", REFUSED)
@same
def test_refused(torch, call):
    """Before any device is needed: PyTorch's class and words."""
    with pytest.raises((RuntimeError, AssertionError, ValueError)) as error:
        eval(f"torch.nn.parallel.{call}", {"torch": torch})
    return [type(error.value).__name__, str(error.value).split(" (")[0]]


def test_nests_are_cut_up_and_put_together(monkeypatch):
    """The nests by themselves, with the CPU in the place of each device."""
    from tautograd.nn.parallel import scatter_gather

    cpu = tautograd.device("cpu")
    monkeypatch.setattr(scatter_gather, "as_device", lambda given: cpu)
    monkeypatch.setattr(scatter_gather, "_refuse_cpu", lambda what, tensors: None)
    nest = {"x": tautograd.arange(5), "more": [tautograd.ones(2, 2), (3, "text")]}
    parts = scatter_gather.scatter(nest, [0, 1])
    assert [part["x"].tolist() for part in parts] == [[0, 1, 2], [3, 4]]
    assert [part["more"][1] for part in parts] == [(3, "text")] * 2
    joined = scatter_gather.gather([part["x"] for part in parts], 0)
    assert joined.tolist() == [0, 1, 2, 3, 4]
    by_place, by_name = scatter_gather.scatter_kwargs((), {"a": tautograd.arange(4)}, [0, 1])
    assert by_place == ((), ())
    assert [named["a"].tolist() for named in by_name] == [[0, 1], [2, 3]]


def test_pickle():
    model = tautograd.nn.DataParallel(tautograd.nn.Linear(2, 2))
    again = pickle.loads(pickle.dumps(model))
    x = tautograd.ones(1, 2)
    assert again(x).equal(model(x))
