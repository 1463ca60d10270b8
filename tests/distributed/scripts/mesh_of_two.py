"""Layers that are parallel along one dimension of a mesh, and sharded along the other."""

import os

import torch
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

ws = int(os.environ["WORLD_SIZE"])
tp = 2 if ws > 2 else 1
dp = ws // tp
mesh = init_device_mesh("cpu", (dp, tp), mesh_dim_names=("dp", "tp"))


class FF(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.w1 = nn.Linear(8, 16)
        self.w2 = nn.Linear(16, 8)

    def forward(self, x):
        return x + self.w2(torch.relu(self.w1(self.norm(x))))


torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 8), FF(), FF(), nn.Linear(8, 3))
for layer in (m[1], m[2]):
    parallelize_module(layer, mesh["tp"], {"w1": ColwiseParallel(), "w2": RowwiseParallel()})
for layer in (m[1], m[2]):
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(m, mesh=mesh["dp"])
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, foreach=False)
g = torch.Generator().manual_seed(mesh["dp"].get_local_rank())
for i in range(4):
    m.set_requires_gradient_sync(True)
    x = torch.randn(4, 4, generator=g)
    opt.zero_grad()
    if i == 2:
        m.set_requires_gradient_sync(False)
        m(x).pow(2).mean().backward()
        m.set_requires_gradient_sync(True)
    loss = m(x).pow(2).mean()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.5f}")
print({n: round(p.full_tensor().sum().item(), 4) for n, p in m.named_parameters()})
