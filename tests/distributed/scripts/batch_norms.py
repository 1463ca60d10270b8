"""SyncBatchNorm: conversion and what it prints; DDP with plain batch norm and buffers broadcast."""

import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def net():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4, affine=False, momentum=0.2)),
        nn.Flatten(),
        nn.Linear(64, 3),
        nn.BatchNorm1d(3, track_running_stats=False),
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    group = dist.new_group()
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net(), group)
    print(converted)
    print([type(m).__name__ for m in converted.modules()], converted[1].process_group is group)
    converted.eval()
    torch.manual_seed(0)
    print(f"[{rank}] {converted[:-1](torch.randn(2, 1, 8, 8)).sum().item():.4f}")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        DDP(net(), broadcast_buffers=True, forward_sync_buffers=False)
        model = DDP(net(), broadcast_buffers=True)
    for one in said:
        print(f"[{rank}] {one.category.__name__}: {one.message}")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(20 + rank)
    for step in range(4):
        x, y = (
            torch.randn(6, 1, 8, 8, generator=generator),
            torch.randint(3, (6,), generator=generator),
        )
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"[{rank}] step {step} loss {loss.item():.5f}")
    model(x)
    for name, buffer in model.named_buffers():
        print(f"[{rank}] {name} {buffer.double().sum().item():.4f}")
    try:
        nn.SyncBatchNorm(3)(torch.randn(4))
    except ValueError as error:
        print(f"[{rank}] {error}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
