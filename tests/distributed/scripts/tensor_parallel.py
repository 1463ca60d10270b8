"""A DeviceMesh and a tensor parallel MLP, with sequence parallel as well; DTensors by hand."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 5)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


def train(name, plan, mesh, shard_input=False):
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = parallelize_module(ToyModel(), mesh, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, foreach=False)
    for step in range(4):
        torch.manual_seed(step)
        x = torch.rand(4 * size, 10)
        if shard_input:
            x = x.chunk(size)[rank]
        output = model(x)
        output.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"[{rank}] {name} {step} {tuple(output.shape)} {output.sum().item():.4f}")
    print(
        f"[{rank}] {name} {model.in_proj.weight.placements} {tuple(model.in_proj.weight.to_local().shape)}"
    )
    print(f"[{rank}] {name} {model.out_proj.weight.placements}")
    print(f"[{rank}] {name} {model.in_proj.weight.full_tensor().sum().item():.4f}")


def main():
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    rank = mesh.get_rank()
    print(f"[{rank}] {mesh} {mesh.size()} {mesh['tp'].get_local_rank()} {mesh.mesh_dim_names}")
    train("tp", {"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()}, mesh)
    train(
        "sp",
        {
            "in_proj": ColwiseParallel(input_layouts=Shard(0)),
            "out_proj": RowwiseParallel(output_layouts=Shard(0)),
        },
        mesh,
        shard_input=True,
    )
    big = torch.arange(12.0).reshape(6, 2)
    spread = distribute_tensor(big, mesh, [Shard(0)])
    print(f"[{rank}] {spread.to_local().tolist()} {spread.shape} {spread.placements}")
    print(f"[{rank}] {spread}")
    again = spread.redistribute(mesh, [Replicate()])
    print(
        f"[{rank}] {again.to_local().tolist()} {(spread + again).placements} {(spread @ again.T).placements}"
    )
    part = DTensor.from_local(torch.ones(2) * (rank + 1), mesh, [Partial()])
    print(f"[{rank}] {part.full_tensor().tolist()} {part.placements}")
    print(f"[{rank}] {spread.sum().placements} {spread.sum().full_tensor().item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
