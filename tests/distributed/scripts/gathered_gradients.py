"""Collectives that gradients go through: a contrastive loss over all ranks' features, and each by itself."""

import warnings

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn


def contrastive(features, other):
    everyone = torch.cat(dist_nn.all_gather(features))
    others = torch.cat(dist_nn.all_gather(other))
    logits = everyone @ others.t() / 0.1
    labels = torch.arange(len(logits))
    cross = torch.nn.functional.cross_entropy
    return (cross(logits, labels) + cross(logits.t(), labels)) / 2


def show(name, rank, out, leaves):
    weights = [
        (i + 1.0) * (rank + 1) * torch.arange(1.0, o.numel() + 1).view_as(o)
        for i, o in enumerate(out)
    ]
    sum((o * w).sum() for o, w in zip(out, weights, strict=True)).backward()
    print(f"[{rank}] {name} {[o.tolist() for o in out]}")
    print(f"[{rank}] {name} gradient {[leaf.grad.tolist() for leaf in leaves]}")


def leaves(count, rank):
    return [(torch.arange(2.0) + 10 * rank + i).requires_grad_() for i in range(count)]


def main():
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    model = torch.nn.Linear(6, 4)
    features = torch.nn.functional.normalize(model(torch.randn(3, 6)), dim=1)
    loss = contrastive(features, torch.randn(3, 4))
    loss.backward()
    print(f"[{rank}] loss {loss.item():.5f} gradient {model.weight.grad.norm().item():.3f}")

    (x,) = mine = leaves(1, rank)
    show("all_gather", rank, dist_nn.all_gather(x), mine)
    (x,) = mine = leaves(1, rank)
    show("all_reduce", rank, [dist_nn.all_reduce(x)], mine)
    (x,) = mine = leaves(1, rank)
    show("broadcast", rank, [dist_nn.broadcast(x, 1)], mine)
    (x,) = mine = leaves(1, rank)
    show("gather", rank, dist_nn.gather(x, 1), mine)
    mine = leaves(size, rank)
    show("scatter", rank, [dist_nn.scatter(mine, 0)], mine)
    (x,) = mine = leaves(1, rank)
    reduced = dist_nn.reduce(x, 0)
    show("reduce", rank, [reduced * (rank == 0)], mine)
    mine = leaves(size, rank)
    show("all_to_all", rank, dist_nn.all_to_all([torch.empty(2) for _ in range(size)], mine), mine)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
