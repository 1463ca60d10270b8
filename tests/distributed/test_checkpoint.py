"""Checkpoints: each rank its share, whole or not at all, read by any number of ranks; restarts that lose nothing."""

from __future__ import annotations

import json

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
    (tmp_path / "two.unfinished").mkdir()
    (tmp_path / "two.unfinished" / "__0_0.distcp").write_bytes(b"half")
    assert checkpoint.latest(tmp_path) == tmp_path / "one"
    with pytest.raises(checkpoint.CheckpointException, match="no whole checkpoint"):
        checkpoint.load({"x": torch.ones(2)}, checkpoint_id=tmp_path / "two")
    (tmp_path / "one").rename(tmp_path / "one.before")  # killed between the two names
    state = {"x": torch.zeros(2)}
    checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert state["x"].tolist() == [1.0, 1.0]
    assert checkpoint.latest(tmp_path) == tmp_path / "one.before"


def test_a_table_leads_nowhere_else(tmp_path):
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path / "one")
    table = tmp_path / "one" / ".metadata"
    content = json.loads(table.read_text())
    content["values"]["x"]["file"] = "../../secret"
    table.write_text(json.dumps(content))
    with pytest.raises(checkpoint.CheckpointException, match="cannot be read"):
        checkpoint.load({"x": torch.ones(2)}, checkpoint_id=tmp_path / "one")


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
