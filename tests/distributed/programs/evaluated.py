"""What a wrapped layer computes after a step that came behind an evaluation: what an unwrapped one does."""

import importlib


def main(torch, dist):
    engine = torch.__name__.split(".")[0]
    fsdp = importlib.import_module(f"{engine}.distributed.fsdp")
    wrapped = {
        strategy.name: lambda layer, strategy=strategy: fsdp.FullyShardedDataParallel(
            layer, sharding_strategy=strategy
        )
        for strategy in list(fsdp.ShardingStrategy)[:3]
    }
    ways = {"alone": lambda layer: layer, "fully_shard": fsdp.fully_shard, **wrapped}
    found = {}
    for name, wrap in ways.items():
        torch.manual_seed(0)
        layer, x = wrap(torch.nn.Linear(3, 2)), torch.ones(2, 3)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        layer(x).sum().backward()
        with torch.no_grad():
            layer(x)
        optimizer.step()
        found[name] = layer(x).sum().item()
    return found
