"""`DistributedDataParallel` and what belongs to it: losses and weights, as lists of numbers."""

import contextlib
import importlib
import warnings


def main(torch, dist, steps="4"):
    warnings.simplefilter("ignore")
    nn, steps = torch.nn, int(steps)
    ddp = nn.parallel.DistributedDataParallel
    rank, size = dist.get_rank(), dist.get_world_size()
    hooks = importlib.import_module(
        f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks.default_hooks"
    )
    power = importlib.import_module(
        f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks.powerSGD_hook"
    )
    zero = importlib.import_module(f"{torch.__name__}.distributed.optim").ZeroRedundancyOptimizer

    def mlp():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)
        )

    def data(step, mine=True):
        generator = torch.Generator().manual_seed(100 + step)
        x = torch.randn(4 * size, 6, generator=generator)
        y = torch.randint(3, (4 * size,), generator=generator)
        part = slice(4 * rank, 4 * rank + 4) if mine else slice(None)
        return x[part], y[part]

    def train(model, optimizer, count=steps, context=lambda step: contextlib.nullcontext()):
        losses = []
        for step in range(count):
            x, y = data(step)
            with context(step):
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
            if not getattr(context(step), "skips", False):
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
        return losses

    def weights(model):
        return [p.detach().flatten().tolist() for p in model.parameters()]

    def plain(**options):
        model = ddp(mlp(), **options)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return train(model, optimizer), weights(model)

    def hooked(state, hook):
        model = ddp(mlp())
        model.register_comm_hook(state, hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return train(model, optimizer), weights(model)

    def in_bfloat16(state, bucket):
        """PyTorch refuses its own by name on a CPU."""
        return hooks.bf16_compress_hook(state, bucket)

    def accumulated():
        model = ddp(mlp())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(0, steps, 2):
            with model.no_sync():
                nn.functional.cross_entropy(model(data(step)[0]), data(step)[1]).backward()
            alone = [p.grad.flatten()[0].item() for p in model.parameters()]
            nn.functional.cross_entropy(model(data(step + 1)[0]), data(step + 1)[1]).backward()
            optimizer.step()
            optimizer.zero_grad()
        return alone, weights(model)

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.a, self.b, self.c = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x, which):
            if which is None:
                return {"a": self.a(x), "rest": [self.b(x), 3]}
            return self.a(x) if which == 0 else self.b(x)

    def unused():
        model = ddp(Branches(), find_unused_parameters=True)
        x, y = data(0)
        nn.functional.cross_entropy(model(x, rank % 2), y).backward()
        return [None if p.grad is None else p.grad.flatten().tolist() for p in model.parameters()]

    def left_out():
        """The loss is not made of all that forward gave; on every rank, and then of another part on each."""
        model = ddp(Branches(), find_unused_parameters=True)
        x, y = data(0)
        found = []
        for part in (0, rank % 2):
            given = model(x, None)
            model.zero_grad()
            nn.functional.cross_entropy([given["a"], given["rest"][0]][part], y).backward()
            grads = [p.grad for p in model.parameters()]
            found.append([None if g is None else g.flatten().tolist() for g in grads])
        return found

    def unfinished():
        model = ddp(Branches())
        x, _y = data(0)
        model(x, 0).sum().backward()
        try:
            model(x, 0)
        except RuntimeError as error:
            return str(error).split(".")[0]
        return "no error"

    def joined():
        model = ddp(mlp())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with model.join():
            train(model, optimizer, count=2 + rank)
        return weights(model)

    def buffers():
        torch.manual_seed(2)
        model = ddp(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = train(model, optimizer)
        model(data(9)[0])
        return losses, weights(model)

    def shared_statistics():
        if (
            torch.__name__ == "torch"
        ):  # PyTorch's takes GPUs alone: what it promises is one process with all data
            model, x, y = mlp_with_norm(), *data(0, mine=False)
            nn.functional.cross_entropy(model(x), y).backward()
        else:
            model = ddp(nn.SyncBatchNorm.convert_sync_batchnorm(mlp_with_norm()))
            x, y = data(0)
            nn.functional.cross_entropy(model(x), y).backward()
        grads = [p.grad.flatten().tolist() for p in model.parameters()]
        return grads, [b.double().flatten().tolist() for b in model.buffers()]

    def mlp_with_norm():
        torch.manual_seed(2)
        return nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))

    def sharded_states():
        model = ddp(mlp())
        optimizer = zero(model.parameters(), torch.optim.Adam, lr=0.01)
        losses = train(model, optimizer)
        optimizer.consolidate_state_dict(to=0)
        kept = None
        if rank == 0:
            state = optimizer.state_dict()["state"]
            kept = [state[i]["exp_avg"].flatten().tolist() for i in range(len(state))]
        return losses, weights(model), kept

    def sampled():
        made = torch.utils.data.distributed.DistributedSampler(list(range(11)), seed=3)
        first = list(made)
        made.set_epoch(1)
        return first, list(made), len(made)

    def different_models():
        try:
            ddp(nn.Linear(2, 2 + rank))
        except RuntimeError:
            return "refused"
        return "taken"

    return {
        "plain": plain(),
        "bucket views": plain(gradient_as_bucket_view=True),
        "small buckets": plain(bucket_cap_mb=0.0001),
        "static graph": plain(static_graph=True),
        "allreduce": hooked(None, hooks.allreduce_hook),
        "fp16": hooked(None, hooks.fp16_compress_hook),
        "bf16": hooked(None, in_bfloat16),
        "PowerSGD before it starts": hooked(power.PowerSGDState(None, 1, 100), power.powerSGD_hook),
        "no_sync": accumulated(),
        "unused": unused(),
        "left out": left_out(),
        "unfinished": unfinished(),
        "join": joined(),
        "buffers": buffers(),
        "SyncBatchNorm": shared_statistics(),
        "ZeRO": sharded_states(),
        "sampler": sampled(),
    }
