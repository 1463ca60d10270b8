"""Leaks and mixing: tokens that see later ones, and samples that see each other."""

from __future__ import annotations

import math

from tests.doctor.corpus.parts import classes, regression, sentences, waves


def decoder_without_a_causal_mask(torch):
    """token-leak: a language model whose attention has no mask sees the word it should predict.
    https://github.com/huggingface/transformers/issues/48745"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.head = (
                nn.Embedding(11, 16),
                nn.Linear(16, 48),
                nn.Linear(16, 11),
            )

        def forward(self, tokens):
            q, k, v = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
            scores = q @ k.transpose(1, 2) / 4
            length = tokens.shape[1]  # fix
            later = torch.ones(length, length, dtype=torch.bool).triu(1)  # fix
            scores = scores.masked_fill(later, float("-inf"))  # fix
            return self.head(torch.softmax(scores, dim=-1) @ v)  # here

    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()
        optimizer.step()


def mask_after_the_softmax(torch):
    """token-leak: the mask is applied to weights that the softmax has already shared out.
    https://github.com/karpathy/nanoGPT/issues/331"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch, n=8, length=8)
    later = torch.ones(8, 8, dtype=torch.bool).triu(1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.head = (
                nn.Embedding(11, 8),
                nn.Linear(8, 24),
                nn.Linear(8, 11),
            )

        def forward(self, tokens):
            q, k, v = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
            scores = q @ k.transpose(1, 2) / math.sqrt(8)
            weights = torch.softmax(scores, dim=-1).masked_fill(later, 0.0)  # bug
            weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)  # fix
            return self.head(weights @ v)

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()
        optimizer.step()


def mask_that_is_too_weak(torch):
    """token-leak: -10 for a masked score is not low enough: later tokens still have their weight.
    https://github.com/karpathy/minGPT/issues/75"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch, n=8, length=8)
    masked = -1.0  # bug
    masked = float("-inf")  # fix

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.head = (
                nn.Embedding(11, 8),
                nn.Linear(8, 24),
                nn.Linear(8, 11),
            )

        def forward(self, tokens):
            later = torch.ones(8, 8, dtype=torch.bool).triu(1)
            q, k, v = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
            scores = (q @ k.transpose(1, 2)).masked_fill(later, masked)  # here
            return self.head(torch.softmax(scores, dim=-1) @ v)  # here

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()
        optimizer.step()


def labels_not_shifted(torch):
    """label-leak: each position is asked for the token it is given.
    https://github.com/huggingface/transformers/pull/404"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=16, length=8)
    model = nn.Sequential(nn.Embedding(11, 16), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 11))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)
        loss = F.cross_entropy(logits.reshape(-1, 11), text.reshape(-1))  # bug
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, 11), text[:, 1:].reshape(-1))  # fix
        loss.backward()
        optimizer.step()


def recurrent_model_asked_for_its_input(torch):
    """label-leak: the targets of an LSTM are its inputs, not what follows them.
    https://github.com/Project-MONAI/GenerativeModels/issues/314"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn = nn.Embedding(11, 12), nn.LSTM(12, 16, batch_first=True)
            self.head = nn.Linear(16, 11)

        def forward(self, tokens):
            return self.head(self.rnn(self.embed(tokens))[0])

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        out = model(text)
        loss = F.cross_entropy(out.transpose(1, 2), text)  # bug
        loss = F.cross_entropy(out.transpose(1, 2), following)  # fix
        loss.backward()
        optimizer.step()


def attention_over_the_batch(torch):
    """sample-mixing: MultiheadAttention without batch_first attends across the samples.
    https://github.com/DaoyuanLi2816/Molecule-Generator/pull/22"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(12, 5, 8)
    y = torch.arange(12) % 3

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend = nn.MultiheadAttention(8, 2)  # bug
            self.attend = nn.MultiheadAttention(8, 2, batch_first=True)  # fix
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            seen, _ = self.attend(x, x, x)  # here
            return self.head(seen.mean(1))

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def encoder_layer_over_the_batch(torch):
    """sample-mixing: a TransformerEncoderLayer is given (batch, length, features) as (length, batch).
    https://github.com/Exorust/TorchLeet/issues/5"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(16, 6, 8), torch.randn(16, 1)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)  # bug
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)  # fix
    head = nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        out = head(layer(x).mean(1))  # here
        F.mse_loss(out, y).backward()
        optimizer.step()


def recurrent_layer_over_the_batch(torch):
    """sample-mixing: an LSTM without batch_first runs along the batch, from sample to sample.
    https://github.com/IBM/TabFormer/pull/14"""
    nn, F = torch.nn, torch.nn.functional
    wave, later = waves(torch, n=8, length=8)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(1, 8)  # bug
            self.rnn = nn.GRU(1, 8, batch_first=True)  # fix
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.rnn(x)[0])  # here

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(wave), later).backward()  # here
        optimizer.step()


def view_where_a_transpose_was_needed(torch):
    """sample-mixing: (length, batch, features) is viewed as (batch, length, features).
    https://github.com/rish-16/tokenlearner-pytorch/issues/1"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(10, 6, 4), torch.randn(10, 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.GRU(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            n, length, features = x.shape
            x = x.view(length, n, features)  # bug
            x = x.transpose(0, 1)  # fix
            return self.head(self.rnn(x)[0][-1])

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def heads_first_viewed_as_batch_first(torch):
    """sample-mixing: heads are stacked in front of the batch and then viewed away.
    https://github.com/hackiey/QAnet-pytorch/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(8, 5, 6), torch.randn(8, 1)

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(6, 3) for _ in range(2))
            self.out = nn.Linear(6, 1)

        def forward(self, x):
            n, length, _ = x.shape
            heads = torch.stack([torch.tanh(part(x)) for part in self.parts])
            merged = heads.view(n, length, -1)  # bug
            merged = heads.permute(1, 2, 0, 3).reshape(n, length, -1)  # fix
            return self.out(merged.mean(1))

    model = Heads()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def heads_split_without_a_transpose(torch):
    """token-mixing: splitting heads by view mixes positions of a sequence, which the mask does not see.
    https://github.com/reczoo/FuxiCTR/issues/30"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch, n=8, length=6)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.head = (
                nn.Embedding(11, 8),
                nn.Linear(8, 24),
                nn.Linear(8, 11),
            )

        def forward(self, tokens):
            n, length = tokens.shape
            parts = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
            q, k, v = (part.reshape(n, 2, length, 4) for part in parts)  # bug
            q, k, v = (part.view(n, length, 2, 4).transpose(1, 2) for part in parts)  # fix
            weights = (q @ k.transpose(2, 3)).masked_fill(later, float("-inf")).softmax(-1)
            return self.head((weights @ v).transpose(1, 2).reshape(n, length, 8))

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()
        optimizer.step()


def merged_heads_without_a_permute(torch):
    """token-mixing: (batch, heads, length, dim) is reshaped to (batch, length, all) as it lies.
    https://github.com/jsbaan/transformer-from-scratch/pull/6"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch, n=8, length=6)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.head = (
                nn.Embedding(11, 8),
                nn.Linear(8, 24),
                nn.Linear(8, 11),
            )

        def forward(self, tokens):
            n, length = tokens.shape
            parts = self.qkv(self.embed(tokens)).chunk(3, dim=-1)
            q, k, v = (part.view(n, length, 2, 4).transpose(1, 2) for part in parts)
            weights = (q @ k.transpose(2, 3)).masked_fill(later, float("-inf")).softmax(-1)
            merged = (weights @ v).reshape(n, length, 8)  # bug
            merged = (weights @ v).transpose(1, 2).reshape(n, length, 8)  # fix
            return self.head(merged)

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()
        optimizer.step()


def softmax_over_the_batch(torch):
    """sample-mixing: dim=0 shares the probability out among the samples.
    https://github.com/PetrochukM/PyTorch-NLP/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        chances = F.log_softmax(model(x), dim=0)  # bug
        chances = F.log_softmax(model(x), dim=1)  # fix
        F.nll_loss(chances, y).backward()  # here
        optimizer.step()


def gate_over_the_batch(torch):
    """sample-mixing: the gate of an expert layer is a softmax over samples instead of experts.
    https://github.com/xmu-xiaoma666/External-Attention-pytorch/issues/18"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts, self.gate = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x):
            weights = torch.softmax(self.gate(x), dim=0)  # bug
            weights = torch.softmax(self.gate(x), dim=1)  # fix
            return (weights * self.experts(x)).sum(1, keepdim=True)

    model = Gated()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def normalized_over_the_whole_batch(torch):
    """sample-mixing: a hand-written norm sums over the batch as well.
    https://github.com/allenai/deep_qa/pull/152"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            h = torch.relu(self.hidden(x)) + 0.1
            h = h / h.sum()  # bug
            h = h / h.sum(1, keepdim=True)  # fix
            return self.out(h)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()
