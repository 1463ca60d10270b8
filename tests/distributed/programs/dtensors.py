"""Tensors spread over ranks: values, placements and gradients."""

import importlib


def main(torch, dist):
    spread = importlib.import_module(f"{torch.__name__.split('.')[0]}.distributed.tensor")
    Shard, Replicate, Partial = spread.Shard, spread.Replicate, spread.Partial
    size = dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (size,))
    torch.manual_seed(3)
    x = torch.randn(7, 6)
    y = torch.randn(6, 5)
    found = {}

    def note(name, value):
        found[name] = (
            value.full_tensor().tolist() if hasattr(value, "full_tensor") else value.tolist()
        )

    for name, placement in {"rows": Shard(0), "columns": Shard(1), "all": Replicate()}.items():
        a = spread.distribute_tensor(x, mesh, [placement]).requires_grad_()
        found[f"local {name}"] = a.to_local().detach().tolist()
        found[f"repr {name}"] = str(a.placements)
        note(f"{name} exp", a.exp())
        note(f"{name} sum", a.sum())
        note(f"{name} mean 0", a.mean(0))
        note(f"{name} sum 1", a.sum(1, keepdim=True))
        note(f"{name} softmax", torch.softmax(a, 1))
        note(f"{name} transpose", a.t())
        for other, where in {"rows": Shard(0), "columns": Shard(1), "all": Replicate()}.items():
            b = spread.distribute_tensor(y, mesh, [where]).requires_grad_()
            product = a @ b
            note(f"{name} @ {other}", product)
            loss = (product.relu() ** 2).sum()
            loss.full_tensor().backward()
            note(f"{name} @ {other} grad a", a.grad)
            note(f"{name} @ {other} grad b", b.grad)
            a.grad = None
    local = torch.full((2, 3), float(dist.get_rank() + 1), requires_grad=True)
    made = spread.DTensor.from_local(local, mesh, [Partial()])
    note("partial", made)
    whole = made.redistribute(placements=[Replicate()])
    (whole.to_local() ** 2).sum().backward()
    note("partial grad", local.grad)
    return found
