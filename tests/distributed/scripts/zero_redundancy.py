"""ZeroRedundancyOptimizer beside a plain one: the same parameters, consolidated states."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def example(use_zero):
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.Sequential(*[nn.Linear(20, 20) for _ in range(6)])
    ddp_model = DDP(model)
    loss_fn = nn.MSELoss()
    if use_zero:
        optimizer = ZeroRedundancyOptimizer(
            ddp_model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01
        )
    else:
        optimizer = torch.optim.Adam(ddp_model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(4):
        outputs = ddp_model(torch.randn(20, 20, generator=generator))
        labels = torch.randn(20, 20, generator=generator)
        loss_fn(outputs, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
    held = len(optimizer.optim.state) if use_zero else len(optimizer.state)
    print(f"rank {rank} zero={use_zero} holds {held} states, lr {optimizer.param_groups[0]['lr']}")
    print(f"rank {rank} params sum is: {sum(p.sum() for p in model.parameters()).item():.4f}")
    if use_zero:
        optimizer.consolidate_state_dict(to=0)
        if rank == 0:
            state = optimizer.state_dict()
            print(sorted(state), len(state["state"]), sorted(state["state"][0]))
            print([f"{s['exp_avg'].abs().sum():.4f}" for s in state["state"].values()])
            optimizer.load_state_dict(state)


def main():
    dist.init_process_group("gloo")
    example(False)
    example(True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
