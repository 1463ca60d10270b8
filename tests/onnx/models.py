"""Whole models as people write them, on either engine: each function makes one with `torch`.

With the same seed both engines begin with the same weights.
"""

from __future__ import annotations

import math
from typing import Any


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3), nn.Softmax(-1)
    )


def resnet(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, i: int, o: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(o)
            self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(o)
            self.relu = nn.ReLU(inplace=True)
            self.down = None
            if stride != 1 or i != o:
                self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += x if self.down is None else self.down(x)
            return self.relu(out)

    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def tagger(torch: Any) -> Any:
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(50, 8)
            self.lstm = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
            self.tags = nn.Linear(12, 5)

        def forward(self, words: Any) -> Any:
            states, _ = self.lstm(self.embedding(words))
            return torch.nn.functional.log_softmax(self.tags(states), dim=-1)

    return Tagger()


def gpt(torch: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, room: int) -> None:
            super().__init__()
            self.heads = heads
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )
            self.register_buffer("bias", torch.tril(torch.ones(room, room)).view(1, 1, room, room))

        def forward(self, x: Any) -> Any:
            b, t, c = x.size()
            parts = self.attn(self.ln_1(x)).split(c, dim=2)
            q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in parts)
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
            y = functional.softmax(scores, dim=-1) @ v
            x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(50, 16), nn.Embedding(32, 16)
            self.blocks = nn.ModuleList([Block(16, 2, 32) for _ in range(2)])
            self.ln_f = nn.LayerNorm(16)
            self.lm_head = nn.Linear(16, 50, bias=False)
            self.wte.weight = self.lm_head.weight

        def forward(self, idx: Any) -> Any:
            _, t = idx.size()
            assert t <= 32, "Cannot forward sequence, block size is only 32"
            x = self.wte(idx) + self.wpe(torch.arange(0, t, dtype=torch.long).unsqueeze(0))
            for block in self.blocks:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    return GPT()


def vit(torch: Any) -> Any:
    nn = torch.nn

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 16, 4, 4)
            self.token = nn.Parameter(torch.randn(1, 1, 16))
            self.positions = nn.Parameter(torch.randn(1, 17, 16))
            layer = nn.TransformerEncoderLayer(
                16, 4, 32, batch_first=True, norm_first=True, activation="gelu"
            )
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.encoder(x)[:, 0])

    return ViT()


def unet(torch: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU())
            self.deep = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
            self.up = nn.ConvTranspose2d(8, 4, 2, 2)
            self.out = nn.Conv2d(8, 2, 1)
            self.wider = nn.Upsample(scale_factor=2, mode="bilinear")
            self.last = nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")

        def forward(self, x: Any) -> Any:
            first = self.down(x)
            deep = self.deep(functional.max_pool2d(first, 2))
            y = self.out(torch.cat([first, self.up(deep)], 1))
            return functional.interpolate(
                self.last(self.wider(y)), size=x.shape[2:], mode="nearest"
            )

    return UNet()


def bert(torch: Any) -> Any:
    nn = torch.nn

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions = nn.Embedding(50, 16), nn.Embedding(64, 16)
            self.types, self.norm = nn.Embedding(2, 16), nn.LayerNorm(16)
            self.register_buffer("position_ids", torch.arange(64).expand((1, -1)))
            layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.pooler = nn.Linear(16, 16)

        def forward(
            self, input_ids: Any, attention_mask: Any = None, token_type_ids: Any = None
        ) -> Any:
            if token_type_ids is None:
                token_type_ids = torch.zeros_like(input_ids)
            length = input_ids.shape[1]
            x = self.words(input_ids) + self.positions(self.position_ids[:, :length])
            x = self.norm(x + self.types(token_type_ids))
            hidden = None if attention_mask is None else attention_mask == 0
            x = self.encoder(x, src_key_padding_mask=hidden)
            return {"last_hidden_state": x, "pooler_output": torch.tanh(self.pooler(x[:, 0]))}

    return Bert()
