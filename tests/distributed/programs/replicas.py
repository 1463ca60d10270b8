"""A training loop with one mistake of many between ranks; the line that makes it says so.

`main` runs all of them one after the other and gives the findings; as a script (`replicas.py NAME`) it is one job.
"""

import contextlib
import sys
import tempfile
from pathlib import Path


def train(torch, dist, bug):
    nn, F = torch.nn, torch.nn.functional
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    if bug == "frozen part":
        model[0].bias.requires_grad_(False)
    ddp = nn.parallel.DistributedDataParallel(model)
    odd = rank == 1
    rate = 0.2 if bug == "settings" and odd else 0.1
    optimizer = torch.optim.SGD(
        [p for p in ddp.parameters() if p.requires_grad], lr=rate, momentum=0.9
    )
    seed = rank if bug == "seed" else 0
    sampler = torch.utils.data.distributed.DistributedSampler(data, seed=seed)
    workers = 1 if bug == "workers" else 0
    shared = None if bug == "same batches" else sampler
    loader = torch.utils.data.DataLoader(data, batch_size=3, sampler=shared, num_workers=workers)

    uneven = ddp.join() if bug == "join" else contextlib.nullcontext()
    with uneven:
        for epoch in range(2):
            if bug != "epoch":
                sampler.set_epoch(epoch)
            for i, (x, y) in enumerate(loader):  # line: epoch, seed, workers
                if bug == "join" and odd and epoch == 1 and i == 2:
                    break
                if bug == "uneven" and not odd and epoch == 1 and i == 3:
                    break
                optimizer.zero_grad()
                if bug == "no_sync":
                    with ddp.no_sync():
                        F.mse_loss(ddp(x), y).backward()  # line: no_sync
                elif bug == "accumulated":
                    with ddp.no_sync():
                        F.mse_loss(ddp(x), y).backward()
                    F.mse_loss(ddp(x), y).backward()
                elif bug == "bypassed":
                    F.mse_loss(ddp.module(x), y).backward()  # line: bypassed
                else:
                    F.mse_loss(ddp(x), y).backward()  # line: uneven
                if bug == "clip" and odd:
                    nn.utils.clip_grad_norm_(ddp.parameters(), 0.01)  # line: clip
                if bug == "clipped everywhere":
                    nn.utils.clip_grad_norm_(ddp.parameters(), 0.01)
                if bug == "twice":
                    for p in ddp.parameters():
                        p.grad /= size
                if bug == "reduced by hand":
                    for p in ddp.parameters():
                        dist.all_reduce(p.grad)  # line: reduced by hand
                if bug == "skip" and odd and i == 1:
                    continue
                if bug == "replica" and odd:
                    with torch.no_grad():
                        model[0].bias.add_(1e-3)
                optimizer.step()  # line: same batches, twice, settings, skip, replica, states
                if bug == "states" and odd and i == 1:
                    for state in optimizer.state.values():
                        state["momentum_buffer"].mul_(2)


# What is found; the last are sound.
EXPECTED = {
    "clip": "TGR03", "skip": "TGR04", "seed": "TGR08", "epoch": "TGR07", "bypassed": "TGR02", "no_sync": "TGR05",
    "twice": "TGR06", "reduced by hand": "TGR06", "settings": "TGR11", "replica": "TGR01", "states": "TGR01",
    "same batches": "TGR09", "workers": "TGR10",
    "sound": None, "join": None, "accumulated": None, "clipped everywhere": None, "frozen part": None,
}  # fmt: skip


def main(torch, dist):
    from tautograd._doctor.ranks.compare import compare, read
    from tautograd._doctor.ranks.notes import Notes

    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    for bug in EXPECTED:
        folder = [tempfile.mkdtemp()]
        dist.broadcast_object_list(folder, src=0)
        notes = Notes(torch, Path(folder[0]) / f"rank{rank}.jsonl")
        notes.start()
        train(torch, dist, bug)
        notes.end()
        dist.barrier()
        if rank == 0:
            found[bug] = [finding.to_dict() for finding in compare(read(Path(folder[0]), size))]
    return found


if __name__ == "__main__":
    import torch
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    train(torch, torch.distributed, sys.argv[1])
