"""Compiled steps with collectives inside, against the steps themselves, and what was made of them."""

import warnings

from tautograd._compile.run.compiled import Compiled


def main(torch, dist):
    warnings.simplefilter("error")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_default_dtype(torch.float64)

    def model(normed):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(6, 32),
            *([torch.nn.BatchNorm1d(32)] if normed else []),
            torch.nn.Tanh(),
            torch.nn.Linear(32, 32),
            torch.nn.Linear(32, 3),
        )

    def batches(count=8):
        generator = torch.Generator().manual_seed(rank)
        return [torch.randn(4, 6, generator=generator) for _ in range(count)]

    def by_hand(net, optimizer, start):
        def step(x):
            optimizer.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            start(net)
            optimizer.step()
            return loss.detach()

        return step

    def averaged(net):
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)

    def overlapped(net):
        works = [dist.all_reduce(p.grad, async_op=True) for p in net.parameters()]
        for parameter, work in zip(net.parameters(), works, strict=True):
            work.wait()
            parameter.grad.div_(size)

    def futures(net):
        found = [dist.all_reduce(p.grad, async_op=True).get_future() for p in net.parameters()]
        for future in found:
            future.wait()

    def sharded(net):
        for parameter in net.parameters():
            flat = torch.cat([parameter.grad.flatten(), torch.zeros(-parameter.numel() % size)])
            part = torch.zeros(flat.numel() // size)
            dist.reduce_scatter_tensor(part, flat)
            dist.all_gather_into_tensor(flat, part / size)
            parameter.grad.copy_(flat[: parameter.numel()].reshape(parameter.shape))

    def of_root(net):
        for parameter in net.parameters():
            dist.broadcast(parameter.grad, src=size - 1)
        dist.barrier()

    def gathered(net):
        for parameter in net.parameters():
            parts = [torch.zeros_like(parameter) for _ in range(size)]
            dist.all_gather(parts, parameter.grad)
            parameter.grad.copy_(torch.stack(parts).mean(0))

    def ddp(net, optimizer):
        wrapped = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.002)

        def step(x):
            optimizer.zero_grad()
            loss = wrapped(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    def run(make, compiles, normed):
        net = model(normed)
        # A bias before batch norm has a gradient of 0 but for rounding, which Adam would divide by itself.
        if normed:
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        else:
            optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        step = make(net, optimizer)
        if compiles is not None:
            step = Compiled(step, **compiles)
        losses = [step(x).item() for x in batches()]
        tensors = [*(p.grad for p in net.parameters()), *net.state_dict().values()]
        return losses + [number for one in tensors for number in one.flatten().tolist()], step

    found = {}
    ways = {
        one.__name__: lambda net, optimizer, one=one: by_hand(net, optimizer, one)
        for one in (averaged, overlapped, futures, sharded, of_root, gathered)
    }
    for name, make in {**ways, "ddp": ddp}.items():
        normed = name == "ddp"
        plain, _ = run(make, None, normed)
        by_numpy, _ = run(make, {"native": False}, normed)
        compiled, step = run(make, {}, normed)
        distance = max(abs(x - y) for x, y in zip(plain, compiled, strict=True))
        told = step.explain().to_dict()
        found[name] = plain == by_numpy, distance, told["replays"], str(step.explain()), compiled

    def watched():
        """Audited at every replay; an error because of values; `no_sync`."""
        net = torch.nn.parallel.DistributedDataParallel(model(False), bucket_cap_mb=0.002)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        step, targets = Compiled(step, audit="always"), torch.tensor([0, 1, 2, 0])
        for x in batches():
            step(x, targets)
        told = step.explain().to_dict()
        try:
            step(x, torch.tensor([0, 1, 2, 7]))
        except IndexError as error:
            said = str(error)
        dist.barrier()  # the group is none the worse for it
        with net.no_sync():
            step(x, targets)
        own = net.module[0].weight.grad.sum()
        total = own.clone()
        dist.all_reduce(total)
        return told["replays"], said, total.item() == size * own.item()

    found["watched"] = watched()

    def refused(step):
        try:
            compiled = torch.compile(step, sound=False)
            for _ in range(3):
                compiled(torch.ones(2))
        except Exception as error:
            return str(error)

    def nobody_waits(x):
        dist.all_reduce(x, async_op=True)
        return x + 1

    def a_callback(x):
        return (
            dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2).wait()
        )

    def is_it_over(x):
        work = dist.all_reduce(x, async_op=True)
        while not work.is_completed():
            pass
        return x + 1

    # Each of them has taken part by then, so that no rank waits for another.
    found["refused"] = {
        one.__name__: refused(one) for one in (nobody_waits, a_callback, is_it_over)
    }
    dist.barrier()
    return found
