"""Checkpoints of ranks: written, loaded, refused."""

import warnings
from pathlib import Path


def main(torch, dist, folder):
    import tautograd.distributed.checkpoint as checkpoint

    rank = dist.get_rank()
    path = Path(folder)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    own = {f"of rank {rank}": torch.full((2,), float(rank))}
    state = {"model": model.state_dict(), "step": 7, "shards": own}
    checkpoint.save(state, checkpoint_id=path / "first")
    expected = model.weight.tolist()
    with torch.no_grad():
        model.weight.zero_()
    empty = {"model": model.state_dict(), "step": 0, "shards": {f"of rank {rank}": torch.zeros(2)}}
    checkpoint.load(empty, checkpoint_id=path / "first")
    files = sorted(p.name for p in (path / "first").iterdir())
    try:
        checkpoint.load({"other": torch.zeros(1)}, checkpoint_id=path / "first")
        refused = ""
    except checkpoint.CheckpointException as error:
        refused = str(error)
    first = dist.new_group([0])  # a rank outside of it has nothing to do, and is told so
    mine = {"of whom": rank}
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        checkpoint.save(mine, checkpoint_id=path / "beside" / "of one", process_group=first)
        dist.barrier()
        checkpoint.load(mine, checkpoint_id=path / "beside" / "of one", process_group=first)
    assert mine == {"of whom": rank}
    assert [str(note.message) for note in noted] == [
        f"Running checkpoint.{name} on global rank {rank} which does not belong to the given group."
        for name in (("save", "load") if rank else ())
    ]
    said = [model.weight.tolist() == expected, empty["step"], empty["shards"], files, refused]
    return [*said[:2], {k: v.tolist() for k, v in said[2].items()}, *said[3:]]
