"""Local SGD: gradients within a group, parameters averaged every other step."""

import torch
import torch.distributed as dist
import torch.distributed.algorithms.model_averaging.averagers as averagers
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.optim import PostLocalSGDOptimizer

dist.init_process_group("gloo")
r = dist.get_rank()
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
state = PostLocalSGDState(
    process_group=None, subgroup=dist.new_subgroups(1)[0], start_localSGD_iter=2
)
model.register_comm_hook(state, post_localSGD_hook)
opt = PostLocalSGDOptimizer(
    optim=torch.optim.SGD(model.parameters(), lr=0.1),
    averager=averagers.PeriodicModelAverager(period=2, warmup_steps=2),
)
torch.manual_seed(r)
for i in range(6):
    opt.zero_grad()
    loss = model(torch.randn(3, 4)).pow(2).sum()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.4f}", f"{model.module.weight.sum().item():.4f}")
print(opt)
