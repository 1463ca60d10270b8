"""FSDP on a small network of convolutions, by size and by hand."""

import functools
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import enable_wrap, size_based_auto_wrap_policy, wrap
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.fc1 = nn.Linear(16 * 36, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def setup():
    dist.init_process_group("gloo")


def cleanup():
    dist.destroy_process_group()


def fsdp_main():
    setup()
    rank = dist.get_rank()
    torch.manual_seed(0)
    my_auto_wrap_policy = functools.partial(size_based_auto_wrap_policy, min_num_params=2000)
    model = Net()
    model = FSDP(
        model, auto_wrap_policy=my_auto_wrap_policy, cpu_offload=None, device_id=torch.device("cpu")
    )
    print(model)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    g = torch.Generator().manual_seed(rank)
    for epoch in range(1, 4):
        ddp_loss = torch.zeros(2)
        for _ in range(3):
            data, target = (
                torch.randn(8, 1, 16, 16, generator=g),
                torch.randint(10, (8,), generator=g),
            )
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target, reduction="sum")
            loss.backward()
            optimizer.step()
            ddp_loss[0] += loss.item()
            ddp_loss[1] += len(data)
        dist.all_reduce(ddp_loss, op=dist.ReduceOp.SUM)
        if rank == 0:
            print(f"Train Epoch: {epoch} \tLoss: {ddp_loss[0] / ddp_loss[1]:.4f}")
        scheduler.step()
    dist.barrier()
    states = model.state_dict()
    if rank == 0:
        print({k: (tuple(v.shape), v.dtype) for k, v in states.items()})
        with tempfile.TemporaryDirectory() as d:
            torch.save(states, d + "/mnist_cnn.pt")
            plain = Net()
            print(plain.load_state_dict(torch.load(d + "/mnist_cnn.pt")))
            print(f"{plain(torch.ones(1, 1, 16, 16)).sum().item():.4f}")
    dist.barrier()
    with enable_wrap(wrapper_cls=FSDP, device_id=torch.device("cpu")):
        m = nn.Sequential(wrap(nn.Linear(4, 4)), nn.ReLU(), wrap(nn.Linear(4, 2)))
        m = wrap(m)
    print(m)
    print(m.check_is_root(), [str(x.sharding_strategy) for x in FSDP.fsdp_modules(m)])
    m(torch.ones(2, 4)).sum().backward()
    print([p.grad.shape for p in m.parameters() if p.grad is not None])
    cleanup()


if __name__ == "__main__":
    fsdp_main()
