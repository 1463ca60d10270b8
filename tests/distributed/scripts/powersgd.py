"""Communication hooks: PowerSGD in two forms, fp16 compression, one's own."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD
from torch.nn.parallel import DistributedDataParallel as DDP


def encode_and_decode(state, bucket):
    tensors = [t / state["size"] for t in [bucket.buffer()]]
    state["seen"].append((bucket.index(), bucket.is_last(), len(bucket.gradients())))
    fut = dist.all_reduce(tensors[0], group=state["group"], async_op=True).get_future()

    def decode(fut):
        return fut.value()[0]

    return fut.then(decode)


def train(name, state, hook, steps=6):
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = DDP(
        torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    )
    model.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(7 + rank)
    for _ in range(steps):
        x = torch.randn(16, 64, generator=generator)
        loss = (model(x) - x[:, :8]).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"[{rank}] {name} loss {loss.item():.4f}")
    print(
        f"[{rank}] {name} weights {sum(p.double().abs().sum() for p in model.parameters()).item():.3f}"
    )


def main():
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    state = powerSGD.PowerSGDState(
        process_group=None,
        matrix_approximation_rank=1,
        start_powerSGD_iter=2,
        min_compression_rate=0.5,
    )
    train("powerSGD", state, powerSGD.powerSGD_hook)
    print(state.iter, sorted(state.error_dict), [tuple(v.shape) for v in state.error_dict.values()])
    state = powerSGD.PowerSGDState(
        process_group=None,
        matrix_approximation_rank=4,
        start_powerSGD_iter=3,
        warm_start=False,
        orthogonalization_epsilon=1e-8,
        batch_tensors_with_same_shape=True,
    )
    train("of rank 4", state, powerSGD.powerSGD_hook)
    print(f"{state.compression_stats()[0]:.4f}", *state.compression_stats()[1:])
    train("fp16", None, default_hooks.fp16_compress_hook)
    train("allreduce", dist.group.WORLD, default_hooks.allreduce_hook)
    mine = {"size": size, "group": dist.group.WORLD, "seen": []}
    train("own", mine, encode_and_decode)
    print(dist.get_rank(), mine["seen"][:2], len(mine["seen"]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
