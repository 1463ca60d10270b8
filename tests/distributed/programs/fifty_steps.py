"""Fifty steps of an MLP, a CNN and a GPT, shared out among the ranks in each way, and on one process.

All runs are in float64. One process draws for each share of a batch (or each stage of a pipeline) the random numbers
that its rank draws, and normalises over the samples that its rank normalises over, so that both compute the same
function. It trains in float32 as well: how far that comes out from float64 tells how much fifty steps amplify a
rounding.

`main` gives what this rank saw of the shared runs, and the references among which its turn is: losses, weights and
buffers of each, as lists of numbers.
"""

import importlib

STEPS, PIECES, MICROBATCHES = 50, 8, 8
MODELS = ("mlp", "cnn", "gpt")
WAYS = {
    "ddp": "shares", "zero": "shares, adam", "fully sharded": "shares", "fully sharded, wrapped": "shares",
    "tensor": "whole", "pipeline": "stages", "synchronised": "together",
}  # fmt: skip
"""How batches are shared out, and what one process does to compute the same."""


def ways(engine, name):
    """Those that an engine has for a model: PyTorch's `SyncBatchNorm` takes GPUs alone."""
    return [way for way in WAYS if way != "synchronised" or (name, engine) == ("cnn", "tautograd")]


def models(torch):
    """What makes each model: eight pieces, one after the other. What tensor parallel ranks compute of a piece is
    split between `split_out` and `split_in`; random numbers are drawn where all of them hold the same."""
    nn, F = torch.nn, torch.nn.functional

    class Dense(nn.Module):
        def __init__(self, inputs, outputs, activation, drop=0.0):
            super().__init__()
            self.linear, self.activation = nn.Linear(inputs, outputs), activation
            nn.init.xavier_uniform_(self.linear.weight)
            self.drop = nn.Dropout(drop)

        def forward(self, x):
            return self.drop(self.activation(self.linear(x)))

    class Convolution(nn.Sequential):
        def __init__(self, inputs, outputs):
            # No bias: batch norm takes its mean away, so that its gradient would be nothing but roundings. And nothing
            # with a kink: what a rounding does would be no linear function of it.
            super().__init__(
                nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.GELU(),
            )

    class Tokens(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.tokens, self.places = nn.Embedding(17, width), nn.Embedding(6, width)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(self.tokens(x) + self.places(torch.arange(x.shape[1])))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.q, self.v = nn.Linear(width, width), nn.Linear(width, width)
            self.k = nn.Linear(width, width, bias=False)  # softmax takes its bias away
            self.o = nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            self.drop, self.head = nn.Dropout(0.1), width // heads

        def forward(self, x):
            normed = self.norm1(x)
            q, k, v = (
                layer(normed).unflatten(-1, (-1, self.head)).transpose(1, 2)
                for layer in (self.q, self.k, self.v)
            )
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.drop(self.o(seen.transpose(1, 2).flatten(2)))
            return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))

    class Head(nn.Sequential):
        def forward(self, x):
            return super().forward(x).flatten(0, 1)

    def mlp():
        widths = [10, *[32] * (PIECES - 1), 5]
        return [
            Dense(widths[i], widths[i + 1], nn.Tanh() if i < PIECES - 1 else nn.Identity(), 0.2 * (i in (3, 5)))
            for i in range(PIECES)
        ]  # fmt: skip

    def cnn():
        return [
            Convolution(1, 4), Convolution(4, 8), Convolution(8, 8),
            nn.Sequential(Convolution(8, 8), nn.AvgPool2d(2), nn.Flatten()),
            Dense(128, 32, nn.GELU()), Dense(32, 32, nn.GELU(), 0.2),
            Dense(32, 32, nn.GELU()), Dense(32, 5, nn.Identity()),
        ]  # fmt: skip

    def gpt():
        blocks = [Block(32, 8) for _ in range(PIECES - 2)]
        return [Tokens(32), *blocks, Head(nn.LayerNorm(32), nn.Linear(32, 17))]

    return {"mlp": mlp, "cnn": cnn, "gpt": gpt}


def splits(name):
    """Which linear layers of a model tensor parallel ranks split by outputs, and which by inputs."""
    if name == "gpt":
        inside = range(1, PIECES - 1)
        return [f"{i}.{n}" for i in inside for n in ("q", "k", "v", "up")], [
            f"{i}.{n}" for i in inside for n in ("o", "down")
        ]
    first = 0 if name == "mlp" else 4
    return [f"{i}.linear" for i in range(first, PIECES, 2)], [
        f"{i}.linear" for i in range(first + 1, PIECES, 2)
    ]


class Run:
    """A model in training: data, seeds and the optimizer are the same for all."""

    def __init__(self, torch, name, dtype):
        self.torch, self.name, self.dtype = torch, name, dtype
        torch.manual_seed(5)
        self.pieces = torch.nn.Sequential(*models(torch)[name]()).to(dtype)

    def batch(self, step, count):
        """`count` samples and their targets: the largest of some numbers, the next word of a rule."""
        torch, chance = self.torch, self.torch.Generator().manual_seed(100 + step)
        if self.name == "gpt":
            words = [torch.randint(17, (count,), generator=chance)]
            for _ in range(6):
                words.append((3 * words[-1] + 1) % 17)
            x = torch.stack(words, 1)
            return x[:, :-1].contiguous(), x[:, 1:].contiguous()
        shape = (count, 10) if self.name == "mlp" else (count, 1, 8, 8)
        x = torch.randn(*shape, generator=chance)
        return x.to(self.dtype), x.flatten(1)[:, :5].argmax(1)

    def seed(self, step, place):
        self.torch.manual_seed(1000 * step + place)

    def draws_nothing(self):
        for module in self.pieces.modules():
            if isinstance(module, self.torch.nn.Dropout):
                module.eval()

    def loss(self, output, y):
        return self.torch.nn.functional.cross_entropy(output, y.flatten())

    def optimizer(self, parameters, way):
        optim = self.torch.optim
        if way == "adam":
            return optim.Adam, {"lr": 0.002}
        return optim.SGD(parameters, lr=0.05, momentum=0.9, foreach=False)

    def result(self, losses, parameters=None, buffers=None):
        """What a run is compared by; DTensors are put together."""
        model = self.pieces
        whole = lambda p: p.full_tensor() if hasattr(p, "full_tensor") else p  # noqa: E731
        parameters = list(model.parameters()) if parameters is None else parameters
        buffers = list(model.buffers()) if buffers is None else buffers
        flat = [whole(p.detach()).double().flatten().tolist() for p in parameters]
        return {
            "losses": losses,
            "weights": [n for one in flat for n in one],
            "buffers": [n for b in buffers for n in b.double().flatten().tolist()],
        }


def alone(torch, kind, name, dtype, size):
    """One process that computes what the ranks compute."""
    run = Run(torch, name, dtype)
    model, (how, _, adam) = run.pieces, kind.partition(", ")
    before = run.result([])["weights"]
    if how == "together":
        run.draws_nothing()
    optimizer = run.optimizer(model.parameters(), adam)
    if adam:
        make, options = optimizer
        optimizer = make(model.parameters(), **options, foreach=False)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        if how == "shares":
            parts = list(zip(*(t.chunk(size) for t in run.batch(step, 4 * size)), strict=True))
            kept = None
            for place, (x, y) in enumerate(parts):
                run.seed(step, place)
                loss = run.loss(model(x), y)
                (loss / size).backward()
                losses.append(loss.item())
                if place == 0:  # every rank has statistics of its own; rank 0's are compared
                    kept = [b.clone() for b in model.buffers()]
            for buffer, first in zip(model.buffers(), kept, strict=True):
                buffer.copy_(first)
        elif how in ("whole", "together"):
            run.seed(step, 0)
            x, y = run.batch(step, 8 if how == "whole" else 4 * size)
            loss = run.loss(model(x), y)
            loss.backward()
            losses.append(loss.item())
        else:
            stages, drawn = list(model), {}
            each = PIECES // size
            batch = run.batch(step, 2 * MICROBATCHES)
            for x, y in zip(*(t.chunk(MICROBATCHES) for t in batch), strict=True):
                for place in range(size):
                    if place in drawn:
                        torch.set_rng_state(drawn[place])
                    else:
                        run.seed(step, place)
                    for piece in stages[place * each : (place + 1) * each]:
                        x = piece(x)
                    drawn[place] = torch.get_rng_state()
                loss = run.loss(x, y)
                (loss / MICROBATCHES).backward()
                losses.append(loss.item())
        optimizer.step()
    return {**run.result(losses), "before": before}


def shared(torch, dist, way, name):
    """The same on all ranks."""
    engine = torch.__name__
    part = lambda path: importlib.import_module(f"{engine}.distributed.{path}")  # noqa: E731
    rank, size = dist.get_rank(), dist.get_world_size()
    run = Run(torch, name, torch.float64)
    model, losses = run.pieces, []
    if way == "pipeline":
        return piped(torch, dist, run)
    if way == "synchronised":
        run.draws_nothing()
        model = run.pieces = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if way in ("ddp", "zero", "synchronised"):
        model = torch.nn.parallel.DistributedDataParallel(model)
    elif way == "fully sharded":
        for piece in model:
            if list(piece.parameters()):
                part("fsdp").fully_shard(piece)
        part("fsdp").fully_shard(model)
    elif way == "fully sharded, wrapped":
        kinds = {type(piece) for piece in model}
        model = part("fsdp").FullyShardedDataParallel(
            model,
            auto_wrap_policy=part("fsdp.wrap").ModuleWrapPolicy(kinds),
            device_id=torch.device("cpu"),  # PyTorch looks for a GPU otherwise
        )
    else:
        parallel = part("tensor.parallel")
        by_output, by_input = splits(name)
        plan = {
            **{one: parallel.ColwiseParallel() for one in by_output},
            **{one: parallel.RowwiseParallel() for one in by_input},
        }
        parallel.parallelize_module(model, dist.init_device_mesh("cpu", (size,)), plan)
    if way == "zero":
        make, options = run.optimizer(model.parameters(), "adam")
        optimizer = part("optim").ZeroRedundancyOptimizer(
            model.parameters(), make, **options, foreach=False
        )
    else:
        optimizer = run.optimizer(model.parameters(), "")
    for step in range(STEPS):
        if way == "tensor":
            x, y = run.batch(step, 8)
            run.seed(step, 0)
        else:
            x, y = (t.chunk(size)[rank] for t in run.batch(step, 4 * size))
            run.seed(step, rank)
        optimizer.zero_grad()
        loss = run.loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if way == "fully sharded, wrapped":
        with model.summon_full_params(model):
            return run.result(losses)
    return run.result(losses)


def piped(torch, dist, run):
    """As a pipeline of one stage per rank."""
    pipelining = importlib.import_module(f"{torch.__name__}.distributed.pipelining")
    rank, size = dist.get_rank(), dist.get_world_size()
    each = PIECES // size
    mine = run.pieces[rank * each : (rank + 1) * each]
    # With its shapes given, no trial pass is made that would draw random numbers.
    with torch.no_grad():
        x = run.batch(0, 2)[0]
        for piece in models(torch)[run.name]()[: rank * each]:
            x = piece.to(run.dtype)(x)
        x = x.detach().requires_grad_(rank > 0 and x.is_floating_point())
    out = None
    for piece in models(torch)[run.name]()[rank * each : (rank + 1) * each]:
        out = piece.to(run.dtype)(x if out is None else out)
    stage = pipelining.PipelineStage(
        mine, rank, size, torch.device("cpu"), input_args=(x,), output_args=(out,)
    )
    schedule = pipelining.Schedule1F1B(stage, n_microbatches=MICROBATCHES, loss_fn=run.loss)
    optimizer = run.optimizer(mine.parameters(), "")
    seen = []
    for step in range(STEPS):
        x, y = run.batch(step, 2 * MICROBATCHES)
        run.seed(step, rank)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(x)
        elif rank == size - 1:
            # The targets of a text have two dimensions, as its microbatches have.
            schedule.step(target=y, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        seen += [float(loss) for loss in losses]
    return run.result(seen, list(mine.parameters()), list(mine.buffers()))


def main(torch, dist, which="all", references="yes"):
    """One model or all; with or without what one process does."""
    rank, size = dist.get_rank(), dist.get_world_size()
    names = MODELS if which == "all" else (which,)
    mine = {name: ways(torch.__name__, name) for name in names}
    found = {
        f"{way}, {name}": shared(torch, dist, way, name) for name in names for way in mine[name]
    }
    if references == "yes":
        dtypes = {"float64": torch.float64, "float32": torch.float32}
        turns = [
            (kind, name, bits)
            for name in names for kind in dict.fromkeys(WAYS[way] for way in mine[name]) for bits in dtypes
        ]  # fmt: skip
        for kind, name, bits in turns[rank::size]:
            found[f"one process, {kind}, {name}, {bits}"] = alone(
                torch, kind, name, dtypes[bits], size
            )
    dist.barrier()
    return found
