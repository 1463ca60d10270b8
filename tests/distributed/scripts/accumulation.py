"""Gradients accumulated with no_sync; frozen layers; unused parameters found."""

import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(8, 8)
        self.head_a = nn.Linear(8, 2)
        self.head_b = nn.Linear(8, 2)

    def forward(self, x, which="a"):
        h = torch.tanh(self.backbone(x))
        return self.head_a(h) if which == "a" else self.head_b(h)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(rank)
    accumulation = 4
    for i in range(12):
        x = torch.randn(4, 8, generator=generator)
        last = (i + 1) % accumulation == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = model(x).pow(2).mean() / accumulation
            loss.backward()
        if last:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            print(f"[{rank}] {i} loss {loss.item():.6f} norm {norm.item():.5f}")
    print(f"[{rank}] {sum(p.sum() for p in model.parameters()).item():.5f}")

    torch.manual_seed(1)
    net = Net()
    net.backbone.weight.requires_grad_(False)
    model = DDP(net, find_unused_parameters=True)
    model(torch.ones(2, 8), "a" if rank % 2 == 0 else "b").sum().backward()
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        print(f"[{rank}] {name} {None if grad is None else f'{grad.sum().item():.4f}'}")
    model = DDP(Net())
    model(torch.ones(2, 8)).sum().backward()
    try:
        model(torch.ones(2, 8)).sum().backward()
    except RuntimeError as error:
        print(f"[{rank}] {str(error).splitlines()[0]}")
    try:
        DDP(nn.ReLU())
    except RuntimeError as error:
        print(f"[{rank}] {error}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
