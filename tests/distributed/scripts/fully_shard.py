"""FSDP2 with mixed precision, clipping and a state dict, as in PyTorch's tutorial."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard


class Transformer(nn.Module):
    def __init__(self, layers=3, width=16):
        super().__init__()
        self.tok_embeddings = nn.Embedding(13, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, 13, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h)).float()


def run(name, digits=4, **options):
    torch.manual_seed(0)
    model = Transformer()
    for layer in model.layers:
        fully_shard(layer, **options)
    fully_shard(model, **options)
    assert isinstance(model, Transformer)
    assert isinstance(model, FSDPModule)
    for parameter in model.parameters():
        assert isinstance(parameter, DTensor)
        assert parameter.placements == (Shard(0),)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    rank = dist.get_rank()
    for step in range(3):
        torch.manual_seed(10 * step + rank)
        x = torch.randint(0, 13, (4, 6))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        optimizer.step()
        optimizer.zero_grad()
        print(f"[{rank}] {name} step {step} loss {loss.item():.{digits}f} norm {norm.item():.1f}")
    state = model.state_dict()
    print(f"[{rank}] {name} {len(state)} {isinstance(state['output.weight'], DTensor)}")
    print(f"[{rank}] {name} local {tuple(model.output.weight.to_local().shape)}")
    print(f"[{rank}] {name} {model.output.weight.dtype} {model.output.weight.grad}")
    full = {key: value.full_tensor() for key, value in state.items()}
    print(f"[{rank}] {name} {sum(v.double().abs().sum() for v in full.values()).item():.0f}")


def main():
    dist.init_process_group("gloo")
    run("plain")
    run("kept", reshard_after_forward=False)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    print(policy)
    run("mixed", 1, mp_policy=policy)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
