"""Loops that look at a model without training it, or at what is nearly a mistake of sign, axis or rate."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("measured")
def samples_of_a_generator_without_a_gradient(torch: Any):
    """The discriminator's step takes the generator's samples under no_grad, batch norm and all."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x, _ = classes(torch)
        gen = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        disc = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        opt_g = torch.optim.Adam(gen.parameters(), lr=0.01)
        opt_d = torch.optim.Adam(disc.parameters(), lr=0.01)
        for _ in range(8):
            with torch.no_grad():
                fake = gen(torch.randn(48, 3))
            opt_d.zero_grad()
            (F.softplus(-disc(x)).mean() + F.softplus(disc(fake)).mean()).backward()
            opt_d.step()
            opt_g.zero_grad()
            F.softplus(-disc(gen(torch.randn(48, 3)))).mean().backward()
            opt_g.step()

    return loop


@sound("measured")
def hardest_half_of_each_batch(torch: Any):
    """Losses without a gradient choose the samples of the batch that are trained on."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x, y = classes(torch)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(4):
            for inputs, labels in batches(12, x, y):
                with torch.no_grad():
                    losses = F.cross_entropy(model(inputs), labels, reduction="none")
                hard = losses.topk(6).indices
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), labels, reduction="none")[hard].mean().backward()
                optimizer.step()

    return loop


@sound("measured")
def statistics_counted_anew_for_an_average(torch: Any):
    """Batch norm's statistics are counted anew, in training mode and without a gradient."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x, y = regression(torch, n=48)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(4):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            model[1].reset_running_stats()
            with torch.no_grad():
                for (inputs,) in batches(16, x):
                    model(inputs)

    return loop


@sound("measured")
def noisy_targets_of_the_same_network(torch: Any):
    """Consistency: a second pass under no_grad, with other dropout, is the target of the first."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x, y = classes(torch)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            with torch.no_grad():
                wanted = model(x + 0.1 * torch.randn(48, 4)).softmax(1)
            scores = model(x)
            loss = F.cross_entropy(scores, y) + F.mse_loss(scores.softmax(1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("measured")
def dropout_kept_on_for_uncertainty(torch: Any):
    """Predictions of an ensemble of dropouts: only the dropouts are put back into training mode."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x, y = regression(torch)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def evaluate_uncertainty():
            model.eval()
            model[2].train()
            with torch.no_grad():
                return torch.stack([model(x) for _ in range(4)]).std(0).mean()

        for _ in range(4):
            model.train()
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            evaluate_uncertainty()

    return loop


@sound("measured")
def losses_of_positions_masked_by_the_loop(torch: Any):
    """The loss of each position is multiplied by a mask: padding weighs nothing."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        text = torch.randint(1, 9, (12, 7))
        text[:, 5:] = 0
        x, y = text[:, :-1], text[:, 1:]
        model = nn.Sequential(nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        mask = (y != 0).float()
        for _ in range(8):
            losses = F.cross_entropy(model(x).transpose(1, 2), y, reduction="none")
            optimizer.zero_grad()
            ((losses * mask).sum() / mask.sum()).backward()
            optimizer.step()

    return loop


@sound("measured")
def channels_moved_before_the_rows(torch: Any):
    """(N, C, H, W) is permuted to (N, H, W, C) before its rows are read; and pairs are read of a flat head."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x = torch.randn(8, 1, 6, 6)
        y, points = torch.randint(3, (8, 6, 6)), torch.randn(8, 4, 2)
        body, head, flat = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 3, 1), nn.Linear(4, 8)
        model = nn.ModuleList([body, head, flat])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            hidden = torch.relu(body(x))
            scores = head(hidden).permute(0, 2, 3, 1).reshape(-1, 3)
            loss = F.cross_entropy(scores, y.view(-1))
            loss = loss + F.mse_loss(flat(hidden.mean((2, 3))).view(-1, 4, 2), points)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("measured")
def posterior_kept_near_the_prior(torch: Any):
    """A VAE whose divergence is written as what is subtracted from the evidence bound."""

    def loop():
        nn, F = torch.nn, torch.nn.functional
        x = torch.randn(32, 6)
        encode, decode = nn.Linear(6, 4), nn.Linear(2, 6)
        optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
        for _ in range(10):
            mu, logvar = encode(x).chunk(2, dim=1)
            z = mu + (0.5 * logvar).exp() * torch.randn(32, 2)
            divergence = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1)
            evidence = -F.mse_loss(decode(z), x, reduction="none").sum(1) - divergence
            optimizer.zero_grad()
            (-evidence.mean()).backward()
            optimizer.step()

    return loop


@sound("measured")
def rate_that_rises_from_nothing(torch: Any):
    """A warm-up that begins at exactly 0 and rises with every step."""

    def loop():
        F = torch.nn.functional
        x, y = regression(torch)
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 20))
        for _ in range(30):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            warm.step()

    return loop


@sound("measured")
def two_losses_divided_by_the_window(torch: Any):
    """Two terms, each divided by the length of the window, are added up."""

    def loop():
        F = torch.nn.functional
        x, y = regression(torch, n=64)
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(3):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                out = model(inputs)
                (F.mse_loss(out, targets) / 4 + 0.01 * out.abs().mean() / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()

    return loop
