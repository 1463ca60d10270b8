"""Checkpoints: each rank its share, whole or not at all, read by any number of ranks; restarts that lose nothing."""

from __future__ import annotations

import json
import shutil

import pytest

import tautograd as torch
from tautograd.distributed import checkpoint
from tests.distributed.ranks import on_ranks
from tests.distributed.test_failures import launched


def test_written_by_three_and_read_by_one(tmp_path):
    for rank, said in enumerate(on_ranks("tautograd", 3, "checkpoints", tmp_path)):
        equal, step, shards, files, refused = said
        assert equal
        assert step == 7
        assert shards == {f"of rank {rank}": [float(rank)] * 2}
        assert files == [".metadata", "__0_0.distcp", "__1_0.distcp", "__2_0.distcp"]
        assert "Missing key in checkpoint state_dict: other" in refused
    state = {"model": torch.nn.Linear(4, 3).state_dict(), "shards": {"of rank 2": torch.zeros(2)}}
    checkpoint.load(state, checkpoint_id=tmp_path / "first")
    torch.manual_seed(0)
    assert state["model"]["weight"].equal(torch.nn.Linear(4, 3).weight)
    assert state["shards"]["of rank 2"].tolist() == [2.0, 2.0]
    assert checkpoint.latest(tmp_path) == tmp_path / "first"


def test_a_checkpoint_that_was_not_finished_is_none(tmp_path):
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "__0_0.distcp").write_bytes(b"half")
    assert checkpoint.latest(tmp_path) == tmp_path / "one"
    with pytest.raises(checkpoint.CheckpointException, match="no whole checkpoint"):
        checkpoint.load({"x": torch.ones(2)}, checkpoint_id=tmp_path / "two")


def test_a_save_takes_only_the_old_checkpoint_away(tmp_path):
    """Whatever else lies in the folder or beside it is somebody else's."""
    folder = tmp_path / "run"
    beside = [tmp_path / "run.before" / "mine", tmp_path / "run.unfinished" / "mine"]
    inside = [folder / "log.txt", folder / "notes" / "mine", folder / "__x_0.distcp"]
    for path in (*beside, *inside):
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    for value in (1.0, 2.0, 3.0):
        (folder / "__7_0.distcp").write_text("of a save of more ranks that was killed")
        checkpoint.save({"x": torch.full((2,), value)}, checkpoint_id=folder)
        state = {"x": torch.zeros(2)}
        checkpoint.load(state, checkpoint_id=folder)
        assert state["x"].tolist() == [value, value]
    assert all(path.read_text() == "mine" for path in (*beside, *inside))
    shares = sorted(path.name for path in folder.glob("__[0-9]*"))
    assert shares == ["__0_2.distcp"]


def test_a_save_that_fails_leaves_the_old_checkpoint(tmp_path):
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path / "one")
    before = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    with pytest.raises(TypeError):
        checkpoint.save({"x": torch.zeros(2), "y": (i for i in ())}, checkpoint_id=tmp_path / "one")
    assert {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()} == before
    with pytest.raises(checkpoint.CheckpointException, match="File exists"):
        checkpoint.save({"x": torch.zeros(2)}, checkpoint_id=tmp_path / "one" / "__0_0.distcp")


TABLES = [
    "", "[]", "3", "{}", '{"values": []}', '{"values": {"x": 3}}', '{"values": {"x": {}}}', "[" * 100_000,
    *(json.dumps({"values": {"x": {"file": name}}})
      for name in ("../../secret", "..", "", ".metadata", "/etc/passwd", "__0_0.distcp/../../secret",
                   "__0_0.distcp\n", "__9_9.distcp", "__1_0.distcp", 3, None, ["__0_0.distcp"])),
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_a_table_leads_nowhere_else_and_lies_in_vain(table, tmp_path):
    """Refused in words, and the state is as it was: also what came before the entry that is wrong."""
    folder = tmp_path / "one"
    checkpoint.save({"a": torch.ones(2), "x": torch.ones(2)}, checkpoint_id=folder)
    torch.save({"x": torch.ones(2)}, tmp_path / "secret")
    torch.save(["no dictionary"], folder / "__1_0.distcp")
    good = json.loads((folder / ".metadata").read_text())["values"]["a"]
    try:
        content = json.loads(table)
        content["values"]["a"] = good
        table = json.dumps(content)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    (folder / ".metadata").write_text(table)
    state = {"a": torch.zeros(2), "x": torch.zeros(2)}
    with pytest.raises(checkpoint.CheckpointException):
        checkpoint.load(state, checkpoint_id=folder)
    assert state["a"].tolist() == [0.0, 0.0]


def test_a_value_of_another_kind_is_refused(tmp_path):
    checkpoint.save({"x": 3, "y": torch.ones(2)}, checkpoint_id=tmp_path / "one")
    with pytest.raises(checkpoint.CheckpointException, match="'x' is a tensor here and a int"):
        checkpoint.load({"x": torch.zeros(2)}, checkpoint_id=tmp_path / "one")
    with pytest.raises(checkpoint.CheckpointException, match=r"\[2\] in the checkpoint and \[3\]"):
        checkpoint.load({"y": torch.zeros(3)}, checkpoint_id=tmp_path / "one")


ELASTIC = """
import os, signal, torch, torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
dist.init_process_group("gloo")
rank, start = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2))
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
first = 0
kept = checkpoint.latest("kept")
def state(step):
    return {"model": model.state_dict(), "step": step, "random": {f"rank{rank}": torch.get_rng_state()}}
if kept is not None:
    found = state(0)
    checkpoint.load(found, checkpoint_id=kept)
    torch.set_rng_state(found["random"][f"rank{rank}"])
    optimizer.load_state_dict(torch.load(str(kept) + ".optimizer", weights_only=True))
    first = found["step"]
for step in range(first, 8):
    x = torch.randn(4, 5)
    model(x).pow(2).mean().backward()
    if os.environ.get("KILL") and start == 0 and step == 5 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        torch.save(optimizer.state_dict(), f"kept_{step}.tmp")
        os.makedirs("kept", exist_ok=True)
        os.rename(f"kept_{step}.tmp", f"kept/{step}.optimizer")
    checkpoint.save(state(step + 1), checkpoint_id=f"kept/{step}")
if rank == 0:
    print([p.flatten().tolist() for p in model.parameters()], flush=True)
"""


@pytest.mark.slow
def test_a_restarted_run_is_the_uninterrupted_one(tmp_path, monkeypatch):
    """A rank is killed in backward; the job starts again from the last checkpoint: the same bits at the end."""
    results = []
    for kill in ("", "1"):
        folder = tmp_path / f"run{kill}"
        folder.mkdir()
        monkeypatch.setenv("KILL", kill)
        job = launched(folder, "-n", "2", "--max-restarts", "2", text=ELASTIC)
        out, said = job.communicate(timeout=200)
        assert job.returncode == 0, said
        assert ("restart 1 of 2" in said) == bool(kill)
        results.append(out)
    assert results[0] == results[1]
    assert results[0].strip()


@pytest.mark.slow
def test_a_place_that_fails_again_is_given_up(tmp_path, monkeypatch):
    """Rank 1 is killed at every start of two: the third goes on from the last checkpoint with one, to the end."""
    monkeypatch.setenv("KILL", "always")
    job = launched(
        tmp_path,
        "-n",
        "2",
        "--max-restarts",
        "3",
        "--min-ranks",
        "1",
        text=ELASTIC.replace("start == 0 and ", ""),
    )
    out, said = job.communicate(timeout=200)
    assert job.returncode == 0, said
    assert "restart 1 of 3 with 2 ranks" in said
    assert "restart 2 of 3 with 1 ranks" in said
    assert said.count("rank 1 has ended") == 2  # what rank 0 says of it, with the line
    assert out.strip()


def test_one_progress_bar():
    """tqdm draws a bar on rank 0 alone, unless the user has said otherwise."""
    from tautograd.distributed._launcher import Options, environment

    bars = [environment(Options([], 3), rank, 3, 1, 0).get("TQDM_DISABLE") for rank in range(3)]
    assert bars == [None, "1", "1"]


TUTORIAL = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

def demo(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "@"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(rank)
    model = DDP(torch.nn.Linear(10, 5))
    torch.nn.functional.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
    if rank == 0:
        print(model.module.weight.grad.sum())
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(demo, args=(2,), nprocs=2, join=True)
"""


@pytest.mark.slow
def test_processes_that_a_script_spawns(tmp_path):
    """PyTorch's tutorial starts its ranks itself, with `mp.spawn`: unchanged, with the same numbers."""
    import os
    import subprocess
    import sys

    from tautograd.distributed._launcher import free_port

    script = tmp_path / "demo.py"
    script.write_text(TUTORIAL.replace("@", str(free_port())))
    own = [sys.executable, "-m", "tautograd", "run", "--as-torch", str(script)]
    said = [
        subprocess.run(
            call, capture_output=True, text=True, timeout=200, env=dict(os.environ), check=False
        )
        for call in (own, [sys.executable, str(script)])
    ]
    assert said[0].returncode == 0, said[0].stderr
    assert said[0].stdout == said[1].stdout != ""


@pytest.mark.parametrize("ranks", [3, pytest.param(4, marks=pytest.mark.slow), 1])
def test_shards_are_read_by_another_number_of_ranks(tmp_path, ranks):
    written = on_ranks("tautograd", 2, "sharded_checkpoint", tmp_path, "save")
    for said in on_ranks("tautograd", ranks, "sharded_checkpoint", tmp_path, "load"):
        assert said == written[0]
    assert written[0][0] == 3
    plain = {
        "model": torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3)).state_dict()
    }
    checkpoint.load(plain, checkpoint_id=tmp_path / "sharded")
    for name, value in plain["model"].items():
        assert value.tolist() == written[0][1][name]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharded")
    on_ranks("tautograd", 2, "sharded_checkpoint", folder, "save")
    return folder / "sharded"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry["chunks"].pop(), "do not make up the whole"),
        (lambda entry: entry["chunks"][0].update(at=[[0, 3], [0, 5]]), "another shape"),
        (lambda entry: entry["chunks"][0].update(at=[[0, 99], [0, 5]]), "does not fit"),
        (
            lambda entry: entry["chunks"][0].update(file="../__0_0.distcp"),
            "no file of a checkpoint is called",
        ),
        (lambda entry: entry.update({"is": ["torch.save", [7, 5]]}), "is no dtype"),
        (lambda entry: entry.update(chunks=[]), "without chunks"),
    ],
)
def test_a_table_of_chunks_that_lies_is_refused(sharded, tmp_path, change, said):
    folder = shutil.copytree(sharded, tmp_path / "copy")
    content = json.loads((folder / ".metadata").read_text())
    change(content["values"]["model/0.weight"])
    (folder / ".metadata").write_text(json.dumps(content))
    state = {"model": {"0.weight": torch.zeros(7, 5)}}
    with pytest.raises(checkpoint.CheckpointException, match=said):
        checkpoint.load(state, checkpoint_id=folder)
    assert not state["model"]["0.weight"].any()


def test_a_checkpoint_as_one_file(tmp_path):
    """Names with dots and slashes, numbers as keys, and other things than tensors; there and back."""
    import tautograd as torch
    from tautograd.distributed import checkpoint
    from tautograd.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

    state = {"a/b": {"0.weight": torch.arange(3.0)}, "states": {0: {"step": 7}}, "name": "x"}
    assert checkpoint.async_save(state, checkpoint_id=tmp_path / "parts").result() is None
    dcp_to_torch_save(tmp_path / "parts", tmp_path / "whole.pt")
    whole = torch.load(tmp_path / "whole.pt")
    assert whole["states"] == state["states"]
    assert whole["a/b"]["0.weight"].tolist() == [0.0, 1.0, 2.0]
    torch_save_to_dcp(tmp_path / "whole.pt", tmp_path / "again")
    loaded = {"a/b": {"0.weight": torch.zeros(3)}, "states": {0: {"step": 0}}, "name": ""}
    checkpoint.load(loaded, checkpoint_id=tmp_path / "again")
    assert str(loaded) == str(state)


def test_a_wrapper_of_activations_keeps_names():
    import tautograd as torch
    from tautograd.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        CheckpointWrapper,
        apply_activation_checkpointing,
    )

    plain = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    names = [name for name, _ in plain.named_parameters()]
    state = {name: value.clone() for name, value in plain.state_dict().items()}
    x = torch.ones(2, 3)
    plain(x).sum().backward()
    before = [p.grad.clone() for p in plain.parameters()]
    apply_activation_checkpointing(plain, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    assert isinstance(plain[0], CheckpointWrapper)
    assert list(plain.state_dict()) == names
    plain.load_state_dict(state)
    plain.zero_grad()
    plain(x).sum().backward()
    assert all(bool((p.grad == g).all()) for p, g in zip(plain.parameters(), before, strict=True))
