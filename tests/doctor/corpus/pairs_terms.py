"""Terms of a loss that are overwritten, written twice, or made of a draw that has no gradient."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, perceptron, regression


@pair("TG412")
def reconstruction_overwritten_by_the_penalty(torch: Any):
    """The penalty gets the name of the loss, in another line."""
    F = torch.nn.functional
    x, _ = regression(torch)

    def run(add):
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        both = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(both, lr=0.01)
        for _ in range(8):
            code = encoder(x)
            loss = F.mse_loss(decoder(code), x)
            if add:
                loss = loss + 0.1 * code.abs().mean() + 0.0 * decoder(code).sum()
            else:
                loss = 0.1 * code.abs().mean() + 0.0 * decoder(code).sum()  # bug: here
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return lambda: run(False), lambda: run(True)


@pair("TG506")
def only_the_last_head_is_learned(torch: Any):
    """A loss for each head, made by a function, one after the other."""
    F = torch.nn.functional
    x, y = classes(torch)

    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Linear(4, 8)
            self.heads = torch.nn.ModuleList(torch.nn.Linear(8, 3) for _ in range(3))

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return [head(h) for head in self.heads]

    def score(out):
        return F.cross_entropy(out, y)

    def run(step):
        model = Heads()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(8):
            optimizer.zero_grad(set_to_none=False)
            step(model(x)).backward()
            optimizer.step()

    def last(outs):
        loss = torch.zeros(())
        for out in outs:
            loss = score(out)  # bug: here
        return loss

    def all_of_them(outs):
        loss = torch.zeros(())
        for out in outs:
            loss = loss + score(out)
        return loss

    return lambda: run(last), lambda: run(all_of_them)


@pair("TG506")
def only_the_last_scale_is_compared(torch: Any):
    """A loss of two terms for each of three scales, written as one statement."""
    F = torch.nn.functional
    x, _ = regression(torch)

    def run(step):
        model = perceptron(torch, 4, 6, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            loss = step(model(x), 0.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def last(out, loss):
        for width in (1, 2, 4):
            near, far = out.unfold(1, width, width), x.unfold(1, width, width)
            loss = F.mse_loss(near.mean(2), far.mean(2)) + 0.1 * near.abs().mean()  # bug: here
        return loss

    def all_of_them(out, loss):
        for width in (1, 2, 4):
            near, far = out.unfold(1, width, width), x.unfold(1, width, width)
            loss = loss + F.mse_loss(near.mean(2), far.mean(2)) + 0.1 * near.abs().mean()
        return loss

    return lambda: run(last), lambda: run(all_of_them)


@pair("TG507")
def both_directions_are_the_same(torch: Any):
    """A symmetric loss whose second half was to be of the transposed scores."""
    F = torch.nn.functional
    images, texts = torch.randn(8, 4), torch.randn(8, 4)
    places = torch.arange(8)

    def run(second):
        left, right = perceptron(torch, 4, 6, 5), perceptron(torch, 4, 6, 5)
        optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=0.01)
        for _ in range(8):
            scores = left(images) @ right(texts).T
            loss = (F.cross_entropy(scores, places) + second(scores)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def same(scores):
        return F.cross_entropy(scores, places)  # bug: here

    def other(scores):
        return F.cross_entropy(scores.T, places)

    return lambda: run(same), lambda: run(other)


@pair("TG507")
def a_formula_written_out_twice(torch: Any):
    """Two terms by hand, of which the second was to be of the other target."""
    x, y = regression(torch)
    other = y.flip(0)

    def run(second):
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            out = model(x)
            first = ((out - y) ** 2).mean()
            loss = torch.stack([first, second(out)]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def again(out):
        return ((out - y) ** 2).mean()  # bug: here

    def of_the_other(out):
        return ((out - other) ** 2).mean()

    return lambda: run(again), lambda: run(of_the_other)


@pair("TG413")
def latent_drawn_by_normal(torch: Any):
    """A variational autoencoder: the divergence moves the encoder, the reconstruction does not."""
    F = torch.nn.functional
    x, _ = regression(torch)

    def run(draw):
        encoder, decoder = perceptron(torch, 4, 6, 4), perceptron(torch, 2, 6, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
        for _ in range(8):
            mean, log_variance = encoder(x).chunk(2, dim=1)
            z = draw(mean, (0.5 * log_variance).exp())
            divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
            loss = F.mse_loss(decoder(z), x) + divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def cut(mean, deviation):
        return torch.normal(mean, deviation)  # bug: here

    def with_a_path(mean, deviation):
        return mean + deviation * torch.randn_like(deviation)

    return lambda: run(cut), lambda: run(with_a_path)


@pair("TG413")
def weights_sampled_without_a_path(torch: Any):
    """Weights drawn by Normal.sample(), which knows no gradient, beside a divergence that has one."""
    F = torch.nn.functional
    Normal = torch.distributions.Normal
    x, y = regression(torch)

    def run(take):
        mean = torch.nn.Parameter(0.1 * torch.randn(1, 4))
        rho = torch.nn.Parameter(torch.full((1, 4), -2.0))
        optimizer = torch.optim.SGD([mean, rho], lr=0.01)
        for _ in range(8):
            belief = Normal(mean, F.softplus(rho))
            weight = take(belief)
            prior = torch.distributions.kl_divergence(belief, Normal(0.0, 1.0)).sum()
            loss = F.mse_loss(F.linear(x, weight), y) + 0.01 * prior
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def cut(belief):
        return belief.sample()  # bug: here

    def with_a_path(belief):
        return belief.rsample()

    return lambda: run(cut), lambda: run(with_a_path)
