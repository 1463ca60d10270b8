"""Gradients of products of DTensors however they lie, and functions of summands."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
r, n = dist.get_rank(), dist.get_world_size()
t = torch.arange(4 * n * 3.0).reshape(4 * n, 3)
for wp in ([Replicate()], [Shard(0)], [Shard(1)]):
    for dp in ([Replicate()], [Shard(0)], [Shard(1)]):
        d = distribute_tensor(t, mesh, dp)
        w = distribute_tensor(torch.ones(3, 5), mesh, wp)
        w.requires_grad_()
        out = (d @ w).sum()
        out.backward()
        w2 = distribute_tensor(torch.ones(3, 5), mesh, wp)
        w2.requires_grad_()
        o2 = (d @ w2).sum()
        o2.full_tensor().backward()
        w3 = distribute_tensor(torch.ones(3, 5), mesh, wp)
        w3.requires_grad_()
        (d @ w3).pow(2).mean().backward()
        w4 = distribute_tensor(torch.ones(3, 5), mesh, wp)
        w4.requires_grad_()
        (d @ w4).redistribute(mesh, [Replicate()]).to_local().sum().backward()
        print(
            wp,
            dp,
            w.grad.full_tensor()[0, 0],
            w2.grad.full_tensor()[0, 0],
            f"{w3.grad.full_tensor()[0, 0]:.1f}",
            w4.grad.full_tensor()[0, 0],
        )
p = DTensor.from_local(torch.ones(2) * (r + 1), mesh, [Partial()]).requires_grad_()
p.sum().backward()
print(p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad)
q = DTensor.from_local(torch.tensor([0.5, 1.5]) * (r + 1), mesh, [Partial()])
print(
    q.to(torch.int64).full_tensor(),
    q.bool().full_tensor(),
    torch.ones_like(q).full_tensor(),
    torch.full_like(q, 2.0).full_tensor(),
    torch.zeros_like(q).full_tensor(),
    (q + 1).full_tensor(),
    (q * 2).full_tensor(),
    (q * q).full_tensor(),
    (q > 1).full_tensor(),
    q.exp().full_tensor(),
    (-q).full_tensor(),
    (q / 2).full_tensor(),
    (1 / q).full_tensor(),
    q.abs().full_tensor(),
    q.sum().full_tensor(),
    q.mean().full_tensor(),
    q.max().full_tensor(),
    torch.stack([q, q]).full_tensor(),
    q.softmax(0).full_tensor(),
    (q - q).full_tensor(),
    q.clone().full_tensor(),
    q.float().full_tensor(),
    q.double().full_tensor(),
    q.norm().full_tensor(),
)
