"""Graphs cut where it is hard to see: in a sub-module, a helper, another net's loss, a checkpoint."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, binary, classes, perceptron, regression, waves


@pair("TG401")
def counts_rounded_in_the_loss(torch: Any):
    """Predicted counts are compared after rounding: round has gradient 0 everywhere."""
    nn = torch.nn
    x, y = regression(torch)
    counts = (5 * y).round()

    def bug():
        counter, scale = perceptron(torch, 4, 8, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*counter.parameters(), *scale.parameters()], lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            guess = (5 * counter(x)).round()  # bug: here
            loss = nn.functional.l1_loss(guess, counts) + nn.functional.mse_loss(scale(x), y)
            loss.backward()
            optimizer.step()

    def fix():
        counter, scale = perceptron(torch, 4, 8, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*counter.parameters(), *scale.parameters()], lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            guess = 5 * counter(x)
            loss = nn.functional.l1_loss(guess, counts) + nn.functional.mse_loss(scale(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def detached_fake_where_the_generator_learns(torch: Any):
    """A GAN: the generator's loss uses the detached fake that was made for the discriminator."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1

    def bug():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3)).detach()  # bug: here
            for_d.zero_grad()
            telling = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake))
            telling.mean().backward()
            for_d.step()
            for_g.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()  # bug: or here
            for_g.step()

    def fix():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            telling = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake.detach()))
            telling.mean().backward()
            for_d.step()
            for_g.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            for_g.step()

    return bug, fix


@pair("TG401")
def attention_scores_detached_deep_inside(torch: Any):
    """Three modules down, attention's weights are detached: queries and keys never learn."""
    nn = torch.nn
    x, y = waves(torch, length=8)

    def transformer(attend):
        class Attention(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
                self.value = nn.Linear(width, width)

            def forward(self, x):
                return attend(self.query(x), self.key(x), self.value(x))

        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.attention, self.norm = Attention(width), nn.LayerNorm(width)

            def forward(self, x):
                return x + self.attention(self.norm(x))

        return nn.Sequential(nn.Linear(1, 8), nn.Sequential(Block(8), Block(8)), nn.Linear(8, 1))

    def train(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    def bug():
        def attend(q, k, v):
            weights = (q @ k.transpose(1, 2) / 8**0.5).softmax(dim=-1)
            return weights.detach() @ v  # bug: here

        train(transformer(attend))

    def fix():
        def attend(q, k, v):
            weights = (q @ k.transpose(1, 2) / 8**0.5).softmax(dim=-1)
            return weights @ v

        train(transformer(attend))

    return bug, fix


@pair("TG401")
def helper_decorated_with_no_grad(torch: Any):
    """`@torch.no_grad()` on a helper that is now used in training too."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        @torch.no_grad()  # bug: or here
        def embed(encoder, inputs):
            return nn.functional.normalize(encoder(inputs), dim=1)  # bug: here

        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.5)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            embedded = embed(encoder, inputs)  # bug: or here
            nn.functional.cross_entropy(head(embedded), targets).backward()
            optimizer.step()

    def fix():
        def embed(encoder, inputs):
            return nn.functional.normalize(encoder(inputs), dim=1)

        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.5)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            embedded = embed(encoder, inputs)
            nn.functional.cross_entropy(head(embedded), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG401", "TG303")
def reentrant_checkpoint_of_plain_inputs(torch: Any):
    """The old checkpoint returns a gradient only if an input wants one; here none does."""
    nn = torch.nn
    checkpoint = torch.utils.checkpoint.checkpoint
    x, y = classes(torch)

    def bug():
        body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        head = nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            features = checkpoint(body, inputs, use_reentrant=True)  # bug: here
            nn.functional.cross_entropy(head(features), targets).backward()
            optimizer.step()

    def fix():
        body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        head = nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            features = checkpoint(body, inputs, use_reentrant=False)
            nn.functional.cross_entropy(head(features), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def threshold_in_the_loss(torch: Any):
    """A segmenter's Dice loss is computed of the thresholded mask, beside an edge loss that learns."""
    nn = torch.nn
    x, y = binary(torch)

    def bug():
        masks, edges = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.Adam([*masks.parameters(), *edges.parameters()], lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            mask = (masks(x).sigmoid() > 0.5).float()  # bug: here
            dice = 1 - 2 * (mask * y).sum() / (mask.sum() + y.sum())
            edge = nn.functional.binary_cross_entropy_with_logits(edges(x), 1 - y)
            (dice + edge).backward()
            optimizer.step()

    def fix():
        masks, edges = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.Adam([*masks.parameters(), *edges.parameters()], lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            mask = masks(x).sigmoid()
            dice = 1 - 2 * (mask * y).sum() / (mask.sum() + y.sum())
            edge = nn.functional.binary_cross_entropy_with_logits(edges(x), 1 - y)
            (dice + edge).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def hidden_state_rebuilt_from_a_list(torch: Any):
    """A recurrent net's states pass through tolist between cell and head."""
    nn = torch.nn
    x, y = waves(torch, n=4, length=6)

    def bug():
        cell, head = nn.GRUCell(1, 6), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            state, loss = torch.zeros(4, 6), 0.0
            for t in range(6):
                state = cell(x[:, t], state)
                shown = torch.tensor(state.tolist())  # bug: here
                loss = loss + nn.functional.mse_loss(head(shown), y[:, t])
            loss.backward()
            optimizer.step()

    def fix():
        cell, head = nn.GRUCell(1, 6), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            state, loss = torch.zeros(4, 6), 0.0
            for t in range(6):
                state = cell(x[:, t], state)
                loss = loss + nn.functional.mse_loss(head(state), y[:, t])
            loss.backward()
            optimizer.step()

    return bug, fix
