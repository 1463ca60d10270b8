"""A training loop with one mistake of many between ranks; the line that makes it, or a comment above it, says so.

`main` runs all of them one after the other and gives the findings; as a script (`replicas.py NAME`) it is one job.
"""

import contextlib
import sys
import tempfile
from datetime import timedelta
from pathlib import Path


def train(torch, dist, bug):
    nn, F = torch.nn, torch.nn.functional
    rank, size = dist.get_rank(), dist.get_world_size()
    odd = rank == 1
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
    layers = [nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)]
    if bug in ("evaluated apart", "evaluated together"):
        layers.insert(1, nn.BatchNorm1d(5))
    model = nn.Sequential(*layers)
    if bug == "frozen part":
        model[0].bias.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    if bug in ("split", "split alike"):
        data, _ = torch.utils.data.random_split(
            data, [20, 4], generator=torch.Generator().manual_seed(rank if bug == "split" else 7)
        )
    ddp = nn.parallel.DistributedDataParallel(model)
    if bug == "loaded on one" and odd:
        halves = {name: value * 0.5 for name, value in before.items()}
        ddp.module.load_state_dict(halves)  # line: loaded on one
    if bug == "loaded everywhere":
        ddp.module.load_state_dict(before)
    if bug == "initialised again":
        torch.manual_seed(rank)
        nn.init.normal_(model[0].weight)
    criterion = nn.Linear(1, 1)  # a loss with parameters of its own, which nobody has wrapped
    rate = 0.2 if bug == "settings" and odd else 0.1
    optimizer = torch.optim.SGD(
        [p for p in (*ddp.parameters(), *criterion.parameters()) if p.requires_grad],
        lr=rate, momentum=0.9, nesterov=bug == "nesterov" and odd,
    )  # fmt: skip
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    seed = rank if bug == "seed" else 0
    place = 0 if bug == "sampler's rank" else rank
    sampler = torch.utils.data.distributed.DistributedSampler(data, size, place, seed=seed)
    workers = 1 if bug == "workers" else 0
    shared = None if bug == "same batches" else sampler
    loader = torch.utils.data.DataLoader(data, batch_size=3, sampler=shared, num_workers=workers)

    uneven = ddp.join() if bug == "join" else contextlib.nullcontext()
    with uneven:
        for epoch in range(2):
            if bug != "epoch":
                sampler.set_epoch(epoch)
            for i, (x, y) in enumerate(loader):  # line: epoch, seed, workers, split, sampler's rank
                if bug == "join" and odd and epoch == 1 and i == 2:
                    break
                if bug == "uneven" and not odd and epoch == 1 and i == 3:
                    break
                if bug != "kept" and not (bug == "kept on one" and odd):
                    optimizer.zero_grad()
                if bug == "no_sync":
                    with ddp.no_sync():
                        F.mse_loss(ddp(x), y).backward()  # line: no_sync
                elif bug == "accumulated":
                    with ddp.no_sync():
                        F.mse_loss(ddp(x), y).backward()
                    F.mse_loss(ddp(x), y).backward()
                elif bug == "cleared":  # what was averaged is cleared before the step
                    with ddp.no_sync() if i % 2 else contextlib.nullcontext():
                        F.mse_loss(ddp(x), y).backward()  # line: cleared
                    if i % 2 == 0:
                        continue
                elif bug == "criterion":
                    F.mse_loss(criterion(ddp(x)), y).backward()
                elif bug == "bypassed":
                    F.mse_loss(ddp.module(x), y).backward()  # line: bypassed
                else:
                    F.mse_loss(ddp(x), y).backward()  # line: uneven, mode left
                if bug == "noise":
                    for p in ddp.parameters():
                        p.grad += 1e-3 * (rank + 1)
                if bug == "clip" and odd:
                    nn.utils.clip_grad_norm_(ddp.parameters(), 0.01)  # line: clip
                limit = 0.01 * (rank + 1)
                if bug == "clip threshold":
                    nn.utils.clip_grad_norm_(ddp.parameters(), limit)  # line: clip threshold
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
                # line: same batches, twice, scheduler, nesterov, noise, criterion, initialised again
                optimizer.step()  # line: settings, skip, replica, states
                if bug == "states" and odd and i == 1:
                    for state in optimizer.state.values():
                        state["momentum_buffer"].mul_(2)
            ended(torch, dist, bug, ddp, model, scheduler, data)
    if bug == "left waiting" and odd:
        dist.barrier()  # line: left waiting


def ended(torch, dist, bug, ddp, model, scheduler, data):
    """What is done after an epoch."""
    rank, (x, _) = dist.get_rank(), data[:8]
    if bug == "scheduled everywhere" or (bug == "scheduler" and rank == 1):
        scheduler.step()
    if bug == "mode left" and rank == 1:
        ddp.eval()
    if bug in ("evaluated apart", "evaluated together", "evaluated on one"):
        evaluating = bug != "evaluated on one" or rank == 1
        if evaluating:
            ddp.eval()
            with torch.no_grad():
                (ddp if bug == "evaluated together" else ddp.module)(x)  # line: evaluated apart
            ddp.train()
    if bug == "measured":
        total = torch.zeros(1)
        dist.all_reduce(total)
        dist.barrier()
    folder = [tempfile.mkdtemp() if bug.startswith("saved") else None]
    if bug.startswith("saved"):
        dist.broadcast_object_list(folder, src=0)
        name = f"{folder[0]}/{rank if bug == 'saved apart' else 'all'}.pt"
        if bug != "saved by one" or rank == 0:
            if bug == "saved to one file":
                with open(name, "wb") as file:
                    torch.save(model.state_dict(), file)  # line: saved to one file
            else:
                torch.save(model.state_dict(), name)  # line: saved by all
        dist.barrier()


# What is found; the last are sound.
EXPECTED = {
    "clip": "TGR03", "skip": "TGR04", "seed": "TGR08", "epoch": "TGR07", "bypassed": "TGR02", "no_sync": "TGR05",
    "twice": "TGR06", "reduced by hand": "TGR06", "settings": "TGR11", "replica": "TGR01", "states": "TGR01",
    "same batches": "TGR09", "workers": "TGR10",
    # From reports of others.
    "mode left": "TGR12", "saved by all": "TGR13", "split": "TGR15", "loaded on one": "TGR01", "criterion": "TGR01",
    "scheduler": "TGR11", "nesterov": "TGR11", "evaluated apart": "TGR16", "noise": "TGR01",
    "clip threshold": "TGR03", "initialised again": "TGR01", "sampler's rank": "TGR08",
    "cleared": "TGR05", "saved to one file": "TGR13",
    "sound": None, "join": None, "accumulated": None, "clipped everywhere": None, "frozen part": None,
    "scheduled everywhere": None, "saved by one": None, "saved apart": None, "split alike": None, "measured": None,
    "loaded everywhere": None, "evaluated together": None, "evaluated on one": None,
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

    torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
    train(torch, torch.distributed, sys.argv[1])
