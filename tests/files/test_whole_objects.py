"""Modules and optimizers in files: both ways with PyTorch, and nothing in a file is run."""

import io
import os

import pytest
import torch

import tautograd


class Net(tautograd.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = tautograd.nn.Linear(2, 3), tautograd.nn.BatchNorm1d(3)
        self.act = tautograd.nn.functional.gelu

    def forward(self, x):
        return self.act(self.norm(self.layer(x)))


class Harmful:
    def __reduce__(self):
        return os.mkdir, (Harmful.folder,)


def saved(engine, obj):
    file = io.BytesIO()
    engine.save(obj, file)
    file.seek(0)
    return file


def test_a_module_and_its_optimizer_stay_together():
    net = Net()
    optimizer = tautograd.optim.Adam(net.parameters(), lr=0.5)
    net(tautograd.rand(4, 2)).sum().backward()
    optimizer.step()
    found = tautograd.load(saved(tautograd, {"net": net, "opt": optimizer}), weights_only=False)
    x = tautograd.rand(4, 2)
    assert tautograd.equal(found["net"].eval()(x), net.eval()(x))
    assert found["opt"].param_groups[0]["params"][0] is found["net"].layer.weight
    assert found["opt"].param_groups[0]["lr"] == 0.5


def test_files_go_both_ways_with_pytorch():
    def make(engine):
        return engine.nn.Sequential(engine.nn.Linear(2, 3), engine.nn.ReLU())

    theirs = make(torch)
    ours = tautograd.load(saved(torch, theirs), weights_only=False)
    x = [[1.0, -2.0]]
    assert ours(tautograd.tensor(x))[0].tolist() == pytest.approx(
        theirs(torch.tensor(x))[0].tolist()
    )
    back = torch.load(saved(tautograd, ours), weights_only=False)
    assert torch.equal(back[0].weight, theirs[0].weight)


def test_without_leave_a_module_is_refused():
    file = saved(tautograd, Net())
    with pytest.raises(tautograd.serialization.UnsafeFile, match="Weights only load failed"):
        tautograd.load(file)
    file = saved(tautograd, tautograd.nn.ReLU())
    with tautograd.serialization.safe_globals([tautograd.nn.ReLU]):
        assert isinstance(tautograd.load(file), tautograd.nn.ReLU)
    file.seek(0)
    with pytest.raises(tautograd.serialization.UnsafeFile):
        tautograd.load(file)


@pytest.mark.parametrize("options", [{}, {"weights_only": True}, {"weights_only": False}])
def test_what_a_file_would_run_is_not_run(tmp_path, options):
    Harmful.folder = str(tmp_path / "made")
    file = saved(tautograd, Harmful())
    with pytest.raises(tautograd.serialization.UnsafeFile):
        tautograd.load(file, **options)
    assert not os.path.exists(Harmful.folder)


def test_code_runs_only_where_the_caller_says_so(tmp_path):
    Harmful.folder = str(tmp_path / "made")
    file = saved(tautograd, Harmful())
    with pytest.raises(ValueError, match="may_run_code=True goes with weights_only=False"):
        tautograd.load(file, may_run_code=True)
    tautograd.load(file, weights_only=False, may_run_code=True)
    assert os.path.exists(Harmful.folder)


def test_a_class_that_is_no_module_is_refused_even_if_imported():
    file = saved(tautograd, io.BytesIO)
    with pytest.raises(tautograd.serialization.UnsafeFile):
        tautograd.load(file, weights_only=False)
