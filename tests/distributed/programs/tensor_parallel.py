"""Tensor parallel layers: losses and weights of a few steps of a transformer block."""

import importlib


def main(torch, dist):
    nn, F = torch.nn, torch.nn.functional
    engine = torch.__name__.split(".")[0]
    spread = importlib.import_module(f"{engine}.distributed.tensor")
    tp = importlib.import_module(f"{engine}.distributed.tensor.parallel")
    Shard, Replicate = spread.Shard, spread.Replicate
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    size = dist.get_world_size()
    found = {}

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
            self.head = width // heads

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = (
                layer(x).view(batch, length, -1, self.head).transpose(1, 2)
                for layer in (self.q, self.k, self.v)
            )
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o(seen.transpose(1, 2).reshape(batch, length, -1))

    class Block(nn.Module):
        def __init__(self, width=24, heads=12):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention(width, heads)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(11, 24)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.norm = nn.LayerNorm(24)
            self.output = nn.Linear(24, 11, bias=False)

        def forward(self, tokens):
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x)
            return self.output(self.norm(x))

    plans = {
        "plain": {
            "blocks.*.attention.[qkv]": tp.ColwiseParallel(),
            "blocks.*.attention.o": tp.RowwiseParallel(),
            "blocks.*.up": tp.ColwiseParallel(),
            "blocks.*.down": tp.RowwiseParallel(),
        },
        "with the ends": {
            "embedding": tp.RowwiseParallel(input_layouts=Replicate()),
            "blocks.*.up": tp.ColwiseParallel(),
            "blocks.*.down": tp.RowwiseParallel(),
            "output": tp.ColwiseParallel(output_layouts=Replicate()),
        },
        "sequence": {
            "blocks.*.norm2": tp.PrepareModuleInput(
                input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),),
                use_local_output=True,
            ),
            "norm": tp.SequenceParallel(use_local_output=False),
            "output": tp.ColwiseParallel(
                input_layouts=Shard(1), output_layouts=Replicate(), use_local_output=True
            ),
            "blocks.1.down": tp.RowwiseParallel(
                input_layouts=Replicate(), output_layouts=Replicate()
            ),
        },
    }  # fmt: skip
    if 10 % size:
        del plans["sequence"]
    for name, plan in plans.items():
        torch.manual_seed(2)
        model = Model()
        if name == "sequence":
            model.norm.register_forward_pre_hook(
                lambda _, args: (args[0].chunk(size, 1)[dist.get_rank()],)
            )
        tp.parallelize_module(model, mesh, plan)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        losses = []
        for step in range(3):
            torch.manual_seed(step)
            tokens = torch.randint(11, (3, 11))
            optimizer.zero_grad()
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            if name != "sequence":
                optimizer.step()
            losses.append(loss.item())
        found[name] = losses
        found[f"{name} weights"] = {
            n: (p.full_tensor() if hasattr(p, "full_tensor") else p).detach().tolist()
            for n, p in model.named_parameters()
        }
        found[f"{name} gradients"] = {
            n: (p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad).tolist()
            for n, p in model.named_parameters()
            if not (name == "sequence" and n.startswith(("blocks", "embedding")))
        }
    return found
