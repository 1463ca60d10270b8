"""DDP with each of its options and hooks, on a model that computes activations again."""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks as default,
)
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

dist.init_process_group("gloo")
r, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 6)
        self.b = nn.Linear(6, 6)
        self.c = nn.Linear(6, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x, use_b=True):
        self.seen += 1
        x = torch.relu(self.a(x))
        x = checkpoint(self.b, x, use_reentrant=False) if use_b else x
        return self.c(x)


for kw, hook in (
    ({}, None),
    ({}, default.fp16_compress_hook),
    ({"find_unused_parameters": True}, None),
    ({"static_graph": True}, None),
    ({"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-4}, None),
    ({"broadcast_buffers": False}, default.allreduce_hook),
):
    torch.manual_seed(0)
    m = DDP(M(), **kw)
    if hook is not None:
        m.register_comm_hook(None, hook)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(r)
    for i in range(3):
        o.zero_grad(set_to_none=False)
        x = torch.randn(4, 6, generator=g)
        loss = m(x, use_b=not ("find_unused_parameters" in kw and i == 1)).pow(2).mean()
        loss.backward()
        o.step()
    print(
        sorted(kw),
        f"{loss.item():.3f}",
        f"{sum(p.sum() for p in m.parameters()).item():.3f}",
        m.module.seen.item(),
    )
m = DDP(copy.deepcopy(M()))


def noop(state, bucket):
    print(bucket.index(), bucket.is_last(), len(bucket.parameters()), bucket.buffer().shape)
    f = torch.futures.Future()
    f.set_result(bucket.buffer())
    return f


m.register_comm_hook(None, noop)
m(torch.ones(1, 6)).sum().backward()
m = DDP(nn.Linear(2, 1))
o = torch.optim.SGD(m.parameters(), lr=0.1)
with Join([m]):
    for _ in range(3 + r):
        o.zero_grad()
        m(torch.ones(1, 2) * (r + 1)).sum().backward()
        o.step()
print([round(v, 4) for v in m.module.weight.flatten().tolist()])
with m.no_sync():
    m(torch.ones(1, 2) * r).sum().backward()
m(torch.ones(1, 2)).sum().backward()
print(m.module.weight.grad)
for bad in (
    lambda: DDP(nn.ReLU()),
    lambda: DDP(nn.Linear(1, 1), device_ids=[0, 1]),
    lambda: m.register_comm_hook(None, 3),
    lambda: DDP(nn.Linear(1, 1), bucket_cap_mb=-1),
):
    try:
        bad()
        print("no error")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:140])
print(m, m.device_ids, m.dim, len(list(m.parameters())), list(m.state_dict()))
