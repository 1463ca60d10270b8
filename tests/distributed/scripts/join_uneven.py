"""Uneven inputs with DDP's join and the generic Join context."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.optim import ZeroRedundancyOptimizer as ZeRO
from torch.nn.parallel import DistributedDataParallel as DDP

NUM_INPUTS = 5


class CounterJoinHook(JoinHook):
    def __init__(self, counter, sync_max_count):
        self.counter = counter
        self.sync_max_count = sync_max_count

    def main_hook(self):
        dist.all_reduce(torch.zeros(1))

    def post_hook(self, is_last_joiner):
        if not self.sync_max_count:
            return
        common_rank = torch.tensor([dist.get_rank() if is_last_joiner else -1])
        dist.all_reduce(common_rank, op=dist.ReduceOp.MAX)
        if dist.get_rank() == common_rank.item():
            self.counter.max_count = self.counter.count.clone()
        dist.broadcast(self.counter.max_count, src=common_rank.item())


class Counter(Joinable):
    def __init__(self):
        super().__init__()
        self.count = torch.zeros(1)
        self.max_count = torch.zeros(1)

    def __call__(self):
        Join.notify_join_context(self)
        one = torch.ones(1)
        dist.all_reduce(one)
        self.count += one

    def join_hook(self, **kwargs):
        return CounterJoinHook(self, kwargs.get("sync_max_count", False))

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DDP(torch.nn.Linear(3, 2))
    inputs = [torch.full((2, 3), float(i + 1)) for i in range(NUM_INPUTS + rank)]
    num_inputs = 0
    with Join([model]):
        for x in inputs:
            num_inputs += 1
            model(x).sum().backward()
    print(f"Rank {rank} has exhausted all {num_inputs} of its inputs!")
    print(f"Rank {rank} grad {model.module.weight.grad.tolist()}")

    optimizer = ZeRO(model.parameters(), torch.optim.Adam, lr=0.01)
    num_inputs = 0
    with Join([model, optimizer]):
        for x in inputs:
            num_inputs += 1
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
    print(f"Rank {rank} {num_inputs} {sum(p.sum() for p in model.parameters()).item():.5f}")

    counter = Counter()
    with Join([counter], sync_max_count=True):
        for _ in range(3 * (rank + 1)):
            counter()
    print(f"Rank {rank} counts {int(counter.count.item())} inputs of {int(counter.max_count)}")

    model = DDP(torch.nn.Linear(1, 1))
    with model.join(divide_by_initial_world_size=False):
        for _ in range(3 + 2 * rank):
            model(torch.ones(1, 1)).sum().backward()
    print(f"Rank {rank} {model.module.weight.grad.tolist()}")
    try:
        with model.join(throw_on_early_termination=True):
            for _ in range(2 + rank):
                model(torch.ones(1, 1)).sum().backward()
    except RuntimeError as error:
        print(f"Rank {rank} {type(error).__name__}: {error}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
