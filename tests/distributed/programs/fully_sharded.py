"""`fully_shard`: losses and weights of a few steps, in each of its forms."""

import importlib


def main(torch, dist):
    nn = torch.nn
    engine = torch.__name__.split(".")[0]
    fsdp = importlib.import_module(f"{engine}.distributed.fsdp")
    spread = importlib.import_module(f"{engine}.distributed.tensor")
    size, rank = dist.get_world_size(), dist.get_rank()
    found = {}

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = nn.Linear(width, 3 * width)
            self.down = nn.Linear(3 * width, width)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(self.norm(x))))

    def model():
        torch.manual_seed(5)
        return nn.Sequential(nn.Linear(5, 8), Block(8), Block(8), nn.Linear(8, 3))

    def data(step):
        torch.manual_seed(100 * step + rank)
        return torch.randn(4, 5), torch.randn(4, 3)

    def shard(net, **options):
        for module in list(net)[1:3]:
            fsdp.fully_shard(module, **options)
        return fsdp.fully_shard(net, **options)

    def weights(net):
        return {n: p.full_tensor().detach().float().tolist() for n, p in net.named_parameters()}

    def train(net, optimizer, steps=3, clip=None):
        losses = []
        for step in range(steps):
            x, y = data(step)
            optimizer.zero_grad()
            loss = ((net(x).float() - y) ** 2).mean()
            loss.backward()
            if clip is not None:
                norm = nn.utils.clip_grad_norm_(net.parameters(), clip)
                losses.append(float(norm.full_tensor()))
            optimizer.step()
            losses.append(loss.item())
        return losses

    for name, options in {
        "plain": {},
        "kept": {"reshard_after_forward": False},
        "bfloat16": {"mp_policy": fsdp.MixedPrecisionPolicy(torch.bfloat16, torch.float32)},
        "second dimension": {
            "shard_placement_fn": lambda p: (
                spread.Shard(1) if p.dim() > 1 and p.shape[1] % size == 0 else None
            )
        },
    }.items():
        net = shard(model(), **options)
        found[f"{name} local"] = {n: list(p.to_local().shape) for n, p in net.named_parameters()}
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        found[name] = train(net, optimizer)
        found[f"{name} weights"] = weights(net)
        state = optimizer.state_dict()["state"]
        found[f"{name} states"] = {i: s["exp_avg"].full_tensor().tolist() for i, s in state.items()}

    net = shard(model())
    found["clipped"] = train(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), clip=0.5)
    found["clipped weights"] = weights(net)

    # Gradients that add up on each rank, then one step.
    net = shard(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        net.set_requires_gradient_sync(step == 2)
        x, y = data(step)
        ((net(x) - y) ** 2).mean().backward()
    found["added up"] = {n: p.grad.full_tensor().tolist() for n, p in net.named_parameters()}
    optimizer.step()

    # A state dict holds shards, and can be loaded.
    states = net.state_dict()
    found["state dict"] = {n: [list(v.shape), str(v.placements)] for n, v in states.items()}
    other = shard(model())
    other.load_state_dict(states)
    found["loaded"] = weights(other)
    with torch.no_grad():
        found["evaluated"] = net(data(9)[0]).tolist()

    if size == 4:
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        net = shard(model(), mesh=mesh)
        found["two dimensions"] = train(net, torch.optim.SGD(net.parameters(), lr=0.1))
        found["two dimensions weights"] = weights(net)
    return found
