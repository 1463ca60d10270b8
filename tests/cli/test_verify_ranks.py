"""`taut verify --ranks`: the gradient of a wrapped model on ranks is that on one, or it says where not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tautograd._evidence.on_ranks import compare
from tests.both import ENGINES

NETS = """
import torch
import torch.distributed as dist
from torch import nn

class Sound(nn.Module):
    middle = nn.Tanh
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), self.middle(), nn.Linear(8, 2))
    def forward(self, x):
        return self.body(x)

class Norm(Sound):
    middle = staticmethod(lambda: nn.BatchNorm1d(8))

class Drop(Sound):
    middle = nn.Dropout

def bypassed(model):
    return model

def sharded(model):
    from torch.distributed.fsdp import fully_shard
    for layer in model.body:
        fully_shard(layer)
    fully_shard(model)

def doubled_on_rank_1(model):
    wrapped = nn.parallel.DistributedDataParallel(model)
    if dist.get_rank() == 1:
        model.body[2].bias.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
    return wrapped

def double(x):
    return 2 * x
"""


@pytest.fixture
def taut(workshop):
    workshop.write("nets.py", NETS)

    def run(engine, target, *options):
        return workshop.taut(
            "verify", "--engine", engine, f"nets.py:{target}", "--inputs", "8x3", "--ranks", "2", *options
        )  # fmt: skip

    run.workshop = workshop
    return run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrap", [(), ("--wrap", "nets.py:sharded")])
def test_a_sound_wrapper(taut, engine, wrap):
    got = taut(engine, "Sound", *wrap, "--json")
    assert got.returncode == 0, got.stderr
    check = json.loads(got.stdout)["results"][0]["report"]["checks"][-1]
    assert check["compares"] == "gradients on 2 ranks"
    assert check["verdict"] == "agrees"
    assert check["entries"] == 2 * (3 * 8 + 8 + 8 * 2 + 2)
    assert check["error"] < 1e-14


@pytest.mark.parametrize("engine", ENGINES)
def test_wrappers_that_are_wrong(taut, engine):
    got = taut(engine, "Sound", "--wrap", "nets.py:bypassed")
    assert got.returncode == 1
    assert "'body.0.weight' on every rank" in got.stdout
    got = taut(engine, "Norm")
    assert got.returncode == 1
    assert "SyncBatchNorm" in got.stdout


def test_a_single_rank_and_parameter_are_named():
    grads = {"a": np.ones(3), "b": np.ones((2, 2))}
    sound = compare(grads, [grads, grads, grads])
    assert sound.verdict == "agrees"
    assert sound.error == 0
    for other in (grads["b"] * 2, grads["b"] * np.nan, np.ones(4)):
        found = compare(grads, [grads, {**grads, "b": other}, grads])
        assert found.verdict == "wrong"
        assert found.note.endswith("'b' on rank 1")
    assert compare(grads, [grads, {"a": grads["a"]}]).note.endswith("'b' on rank 1")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("Drop", ["--train"], "draws random numbers"),
        ("double", [], "only a model"),
        ("Sound", ["--ranks", "3"], "a batch of 8 cannot be shared out equally"),
        ("Sound", ["--ranks", "1"], "below 2"),
        ("Sound", ["--wrap", "nets.py"], "names no function"),
    ],
)
def test_refused(taut, target, options, words):
    got = taut("tautograd", target, *options)
    assert got.returncode == 2
    assert words in got.stderr
    assert "Traceback" not in got.stderr


def test_evidence_holds_the_ranks_and_is_replayed_on_them(taut):
    assert taut("tautograd", "Sound", "--evidence", "sound.json").returncode == 0
    content = json.loads((taut.workshop.folder / "sound.json").read_text())
    assert content["settings"]["ranks"] == 2
    topology = {"world_size": 2, "machines": [2], "backend": "mpi"}
    assert content["runtime"]["distributed"] == topology
    assert content["figures"]["checks"][-1]["compares"] == "gradients on 2 ranks"
    again = taut.workshop.taut("replay", "sound.json")
    assert again.returncode == 0, again.stdout + again.stderr
    got = taut("tautograd", "Sound", "--wrap", "nets.py:sharded", "--evidence", "sharded.json")
    assert got.returncode == 0
    again = taut.workshop.taut("replay", "sharded.json")
    assert again.returncode == 2
    assert "wrapper of its own" in again.stderr
