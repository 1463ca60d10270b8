"""Training loops that do something unusual, replicated and sharded: gradients, or the error.

Cases of one name have the same right answer, whatever wraps the model.
"""

import contextlib
import importlib
import warnings


def main(torch, dist):
    warnings.simplefilter("ignore")
    nn, engine, rank = torch.nn, torch.__name__.split(".")[0], dist.get_rank()
    fsdp = importlib.import_module(f"{engine}.distributed.fsdp")
    fully_shard, Flat = fsdp.fully_shard, fsdp.FullyShardedDataParallel
    checkpoint = importlib.import_module(f"{engine}.utils.checkpoint").checkpoint
    torch.set_default_dtype(torch.float64)
    found = {}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.a, self.b, self.c = nn.Linear(5, 1), nn.Linear(1, 1), nn.Linear(1, 3)
            self.tanh = nn.Tanh()

        def forward(self, x, how="once"):
            h = self.a(x)
            if how == "checkpoint and call":
                h = checkpoint(self.b, h, use_reentrant=True) + self.b(h)
            elif how == "two checkpoints":
                h = checkpoint(self.b, h, use_reentrant=True)
                h = checkpoint(self.b, h, use_reentrant=True)
            elif how == "once":
                h = self.b(h)
            return self.c(self.tanh(h))

    def data(i):
        draws = torch.Generator().manual_seed(10 * i + rank)
        return torch.randn(4, 5, generator=draws, dtype=torch.float64)

    def replicated(net=None, **options):
        return nn.parallel.DistributedDataParallel(Net() if net is None else net, **options)

    def sharded(net=None, **options):
        net = Net() if net is None else net
        for layer in (net.a, net.b, net.c):
            fully_shard(layer, **options)
        return fully_shard(net, **options)

    def flat():
        net, options = Net(), {"device_id": torch.device("cpu"), "use_orig_params": True}
        net.b = Flat(net.b, **options)
        return Flat(net, **options)

    def gradients(model):
        if isinstance(model, Flat):
            with Flat.summon_full_params(model, with_grads=True):
                return [p.grad.flatten().tolist() for p in model.parameters()]
        grads = [p.grad for p in model.parameters()]
        grads = [g.full_tensor() if hasattr(g, "full_tensor") else g for g in grads]
        return [None if g is None else g.flatten().tolist() for g in grads]

    def loss(model, i, *how):
        return model(data(i), *how).pow(2).mean()

    def case(name, wrapper, run):
        try:
            found[name, wrapper] = run()
        except (RuntimeError, ValueError, AssertionError) as error:
            found[name, wrapper] = f"{type(error).__name__}: {str(error)[:44]}"

    def several_backwards(make, how):
        model, seen = make(), []
        for i in range(2):
            model.zero_grad()
            loss(model, i, how).backward()
            seen.append(gradients(model))
        return seen

    def evaluated_before_step(make, kind):
        model = make()
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.5)
        loss(model, 0).backward()
        loss(model, 1)  # with a graph that no backward releases
        optimizer.step()
        optimizer.zero_grad()
        loss(model, 2).backward()
        return gradients(model)

    def old_graph(make):
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        older = loss(model, 0)
        loss(model, 1).backward()
        optimizer.step()
        older.backward()
        return "no error"

    def failed(make, clear):
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

        def stop(*_):
            raise ArithmeticError

        handle = getattr(model, "module", model).tanh.register_full_backward_hook(stop)
        with contextlib.suppress(ArithmeticError):
            loss(model, 0).backward()
        handle.remove()
        (optimizer if clear == "optimizer" else model).zero_grad()
        loss(model, 1).backward()
        return gradients(model)

    def not_failed():
        model = replicated()
        loss(model, 1).backward()
        return gradients(model)

    def hooked(make):
        model = make()
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
        loss(model, 0).backward()
        return gradients(model)

    def tied(wrap):
        net = Net()
        net.c = nn.Linear(1, 1)
        net.c.weight = net.b.weight
        model = wrap(net)
        loss(model, 0).backward()
        return gradients(model)

    def unused_after_no_sync():
        model = replicated(find_unused_parameters=True)
        with model.no_sync():
            loss(model, 0).backward()
        loss(model, 1, "without b").backward()
        return gradients(model)

    def left_from_before():
        """A gradient that was not cleared, of a parameter that this rank does not use."""
        model = replicated(find_unused_parameters=True)
        loss(model, 0).backward()
        loss(model, 1, "without b" if rank else "once").backward()
        return gradients(model)

    def joined_with_buffers():
        torch.manual_seed(1)
        model = replicated(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with model.join():
            for i in range(2 + rank):
                optimizer.zero_grad()
                loss(model, i).backward()
                optimizer.step()
        return [t.double().flatten().tolist() for t in model.state_dict().values()]

    wrappers = {
        "replicated": replicated,
        "static": lambda: replicated(static_graph=True),
        "sharded": sharded,
        "kept": lambda: sharded(reshard_after_forward=False),
        "one group": lambda: fully_shard(Net()),
        "flat": flat,
    }
    for wrapper, make in wrappers.items():
        for how in ("two checkpoints", "checkpoint and call"):
            case(how, wrapper, lambda make=make, how=how: several_backwards(make, how))
        for kind in ("SGD", "Adam"):
            name = f"evaluated before a step of {kind}"
            case(name, wrapper, lambda make=make, kind=kind: evaluated_before_step(make, kind))
        case("an old graph", wrapper, lambda make=make: old_graph(make))
        if wrapper != "flat":
            case("hooks", wrapper, lambda make=make: hooked(make))
        if wrapper in ("sharded", "kept", "one group", "flat"):
            for clear in ("model", "optimizer"):
                case("failed", f"{wrapper}, {clear}", lambda m=make, c=clear: failed(m, c))
    case("failed", "replicated", not_failed)
    case("tied", "replicated", lambda: tied(replicated))
    case("tied", "sharded apart", lambda: tied(sharded))
    case("tied", "sharded", lambda: tied(fully_shard))
    case("unused after no_sync", "replicated", unused_after_no_sync)
    case("joined, with buffers", "replicated", joined_with_buffers)
    case("left from before", "replicated", left_from_before)
    return found
