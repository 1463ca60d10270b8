"""Loops that come near to dropped losses, parameters of one step, mixtures and words in graphs, and are sound."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression, sentences


def _fit(torch: Any, model: Any, loss: Any, steps: int = 9, params: Any = None, **options: Any):
    optimizer = torch.optim.SGD(params or model.parameters(), lr=0.02, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


@sound("dropped")
def absolute_error_beside_the_loss(torch: Any):
    """Another error is computed with its history, for the log only."""
    F = torch.nn.functional
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)

    def loss():
        out = model(x)
        error = F.l1_loss(out, y)
        float(error)
        return F.mse_loss(out, y)

    return lambda: _fit(torch, model, loss)


@sound("dropped")
def error_chosen_by_a_flag(torch: Any):
    """The usual loss is replaced under a condition."""
    F = torch.nn.functional
    x, y = regression(torch)
    model, robust = perceptron(torch, 4, 8, 1), True

    def loss():
        out = model(x)
        error = F.mse_loss(out, y)
        if robust:
            error = F.huber_loss(out, y)
        return error

    return lambda: _fit(torch, model, loss)


@sound("dropped")
def objective_with_the_optimizers_decay(torch: Any):
    """The penalty that the optimizer applies is added for the log."""
    F = torch.nn.functional
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)

    def loss():
        fit = F.mse_loss(model(x), y)
        penalty = sum(p.square().sum() for p in model.parameters())
        objective = fit + 0.5e-2 * penalty
        float(objective)
        return fit

    return lambda: _fit(torch, model, loss, weight_decay=1e-2)


@sound("dropped")
def bound_with_its_own_weight(torch: Any):
    """The bound is logged, and the weighted sum of the same two terms goes back."""
    F = torch.nn.functional
    x, _ = regression(torch)
    encoder, decoder = perceptron(torch, 4, 8, 4), perceptron(torch, 2, 8, 4)

    def loss():
        mean, log_var = encoder(x).chunk(2, 1)
        made = decoder(mean + (0.5 * log_var).exp() * torch.randn(len(x), 2))
        fit = F.mse_loss(made, x)
        divergence = -0.5 * (1 + log_var - mean.square() - log_var.exp()).mean()
        bound = fit + divergence
        float(bound)
        return fit + 0.1 * divergence

    return lambda: _fit(torch, None, loss, params=[*encoder.parameters(), *decoder.parameters()])


@sound("dropped")
def total_that_is_handed_on(torch: Any):
    """The sum is returned as well, for whoever wants it."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    def losses():
        scores = model(x)
        main = F.cross_entropy(scores, y)
        total = main + 0.0 * scores.sum()
        return main, {"total": total}

    return lambda: _fit(torch, model, lambda: losses()[0])


@sound("dropped")
def last_of_two_trial_passes(torch: Any):
    """The same name twice; the first is read by a condition in between."""
    F = torch.nn.functional
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)

    def loss():
        error = F.mse_loss(model(x), y)
        if not error.isfinite():
            raise ValueError("not finite")
        error = F.smooth_l1_loss(model(x), y)
        float(error)
        return error

    return lambda: _fit(torch, model, loss)


@sound("dropped")
def two_losses_go_back_one_by_one(torch: Any):
    """One name for two losses, each of which goes back."""
    F = torch.nn.functional
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loop():
        for _ in range(9):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            loss = 0.1 * model(-x).square().mean()
            loss.backward()
            optimizer.step()

    return loop


@sound("dropped")
def sharpness_aware_passes(torch: Any):
    """Two passes a step, the loss of the first is used to climb."""
    F = torch.nn.functional
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loop():
        for _ in range(9):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            with torch.no_grad():
                moved = [0.02 * p.grad / (p.grad.norm() + 1e-9) for p in model.parameters()]
                for p, away in zip(model.parameters(), moved, strict=True):
                    p.add_(away)
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p, away in zip(model.parameters(), moved, strict=True):
                    p.sub_(away)
            optimizer.step()
            optimizer.zero_grad()

    return loop


@sound("dropped")
def a_prompt_for_each_batch(torch: Any):
    """Each batch has a latent vector of its own, with an optimizer of its own."""
    decoder = perceptron(torch, 3, 8, 4)
    x, _ = regression(torch)
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.02)

    def loop():
        for (batch,) in [b for _ in range(3) for b in batches(8, x)]:
            latent = torch.nn.Parameter(torch.zeros(len(batch), 3))
            inner = torch.optim.SGD([latent], lr=0.5)
            for _ in range(2):
                inner.zero_grad()
                optimizer.zero_grad()
                (decoder(latent) - batch).square().mean().backward()
                inner.step()
                optimizer.step()

    return loop


@sound("dropped")
def weights_that_move_by_hand(torch: Any):
    """A new Parameter after each step, of the old one's values less its gradient."""
    x, y = regression(torch)
    head = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.02)

    def loop():
        weight = torch.nn.Parameter(torch.randn(4, 8))
        for _ in range(9):
            optimizer.zero_grad()
            (head((x @ weight).tanh()) - y).square().mean().backward()
            optimizer.step()
            weight = torch.nn.Parameter(weight.detach() - 0.02 * weight.grad)

    return loop


@sound("dropped")
def attack_on_a_new_perturbation(torch: Any):
    """The perturbation begins anew for each batch, and its gradient is what is wanted."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loop():
        for _ in range(9):
            delta = torch.zeros_like(x, requires_grad=True)
            F.cross_entropy(model(x + delta), y).backward()
            worst = x + 0.05 * delta.grad.sign()
            optimizer.zero_grad()
            F.cross_entropy(model(worst), y).backward()
            optimizer.step()

    return loop


@sound("dropped")
def random_features_of_each_step(torch: Any):
    """Features drawn anew are plain tensors: nobody thinks that they learn."""
    x, y = regression(torch)
    head = torch.nn.Linear(16, 1)
    return lambda: _fit(
        torch, head, lambda: (head((x @ torch.randn(4, 16)).cos()) - y).square().mean()
    )


@sound("dropped")
def slow_weights(torch: Any):
    """Lookahead: fast weights are drawn to the slow ones, which move there as well."""
    x, y = regression(torch)
    fast = perceptron(torch, 4, 8, 1)
    slow = copy.deepcopy(fast)
    optimizer = torch.optim.SGD(fast.parameters(), lr=0.02)

    def loop():
        for _ in range(12):
            with torch.no_grad():
                slow(x)
            optimizer.zero_grad()
            (fast(x) - y).square().mean().backward()
            optimizer.step()
            mine, theirs = fast.state_dict(), slow.state_dict()
            mixed = {k: theirs[k] + 0.5 * (mine[k] - theirs[k]) for k in mine}
            slow.load_state_dict(mixed)
            fast.load_state_dict(mixed)

    return loop


@sound("dropped")
def averaged_weights_lent_for_a_look(torch: Any):
    """The average is loaded for validation, and the trained weights after it."""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loop():
        for _ in range(12):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
            with torch.no_grad():
                for a, p in zip(average.parameters(), model.parameters(), strict=True):
                    a.lerp_(p, 0.1)
                average(x)
                kept = copy.deepcopy(model.state_dict())
                model.load_state_dict(average.state_dict())
                model(x)
                model.load_state_dict(kept)

    return loop


@sound("dropped")
def frozen_reference_and_a_reset(torch: Any):
    """The trained network is set back to its reference now and then."""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    reference = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loop():
        for step in range(18):
            with torch.no_grad():
                reference(x)
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
            if step % 3 == 2:
                model.load_state_dict(reference.state_dict())

    return loop


def _words(torch: Any, model: Any, loss: Any, steps: int = 8):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


@sound("dropped")
def causal_words_without_a_model(torch: Any):
    """A causal language model of loose layers, with the usual shift."""
    nn, F = torch.nn, torch.nn.functional
    text, target = sentences(torch)
    parts = nn.ModuleList([nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 11)])

    def loss():
        scores = parts[2](parts[1](parts[0](text))[0])
        return F.cross_entropy(scores.flatten(0, 1), target.flatten())

    return lambda: _words(torch, parts, loss)


@sound("dropped")
def autoencoder_of_words(torch: Any):
    """A sentence becomes one vector, from which it is told again."""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch)
    parts = nn.ModuleList([nn.Embedding(11, 8), nn.Linear(48, 16), nn.Linear(16, 66)])

    def loss():
        code = parts[1](parts[0](text).flatten(1)).tanh()
        return F.cross_entropy(parts[2](code).view(-1, 11, 6), text)

    return lambda: _words(torch, parts, loss)


@sound("dropped")
def masked_words(torch: Any):
    """Some words are hidden, and all are asked for, by a model that sees both sides."""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch)
    parts = nn.ModuleList(
        [nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True, bidirectional=True), nn.Linear(16, 11)]
    )

    def loss():
        hidden = torch.where(torch.rand(text.shape) < 0.3, 11, text)
        scores = parts[2](parts[1](parts[0](hidden))[0])
        return F.cross_entropy(scores.transpose(1, 2), text)

    return lambda: _words(torch, parts, loss)


@sound("dropped")
def words_from_both_sides_with_gaps(torch: Any):
    """Forward and backward readings predict the next and the last word, each from its own side."""
    nn, F = torch.nn, torch.nn.functional
    text, target = sentences(torch)
    parts = nn.ModuleList([nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 11)])

    def loss():
        onwards = parts[2](parts[1](parts[0](text))[0])
        back = parts[2](parts[1](parts[0](target.flip(1)))[0])
        first = F.cross_entropy(onwards.flatten(0, 1), target.flatten())
        return first + F.cross_entropy(back.flatten(0, 1), text.flip(1).flatten())

    return lambda: _words(torch, parts, loss)


@sound("dropped")
def tags_that_are_the_words(torch: Any):
    """A table of words is learned by heart: each token is asked for itself, and sees no other."""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch)
    parts = nn.ModuleList([nn.Embedding(11, 8), nn.Linear(8, 11)])
    return lambda: _words(
        torch, parts, lambda: F.cross_entropy(parts[1](parts[0](text)).transpose(1, 2), text)
    )


@sound("dropped")
def scheduler_of_a_longer_run(torch: Any):
    """The schedule begins after the epochs that this run has."""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    schedules = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]

    def loop():
        for epoch in range(3):
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                (model(inputs) - targets).square().mean().backward()
                optimizer.step()
            if epoch >= 5:
                for schedule in schedules:
                    schedule.step()

    return loop


@sound("dropped")
def bags_of_instances(torch: Any):
    """Several attentions over the instances of a bag, each a softmax over the first axis."""
    nn, F = torch.nn, torch.nn.functional
    body, score, head = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(24, 2)
    bags = [torch.randn(7, 4) for _ in range(9)]
    params = [*body.parameters(), *score.parameters(), *head.parameters()]
    waiting = iter(bags * 2)

    def loss():
        bag = body(next(waiting)).tanh()
        weights = score(bag).softmax(0)
        return F.cross_entropy(head((weights.T @ bag).flatten()[None]), torch.tensor([1]))

    return lambda: _fit(torch, None, loss, params=params)


@sound("dropped")
def rotations_by_pairs(torch: Any):
    """Features are viewed as pairs and put together again: lengths change places, numbers do too."""
    nn = torch.nn
    x, y = regression(torch)
    inp, out = nn.Linear(4, 8), nn.Linear(8, 1)

    def loss():
        hidden = inp(x).view(8, 4, 8)
        a, b = hidden.view(8, 4, 4, 2).unbind(-1)
        turned = torch.stack([a * 0.8 - b * 0.6, a * 0.6 + b * 0.8], -1).flatten(2)
        return (out(turned.reshape(32, 8)) - y).square().mean()

    return lambda: _fit(torch, None, loss, params=[*inp.parameters(), *out.parameters()])


@sound("dropped")
def scores_that_are_never_negative(torch: Any):
    """Logits behind a relu, which once in a while sum to one."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    return lambda: _fit(torch, model, lambda: F.cross_entropy(model(x), y))


@sound("dropped")
def logarithms_of_probabilities(torch: Any):
    """Probabilities by hand, whose logarithm is what the loss gets."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    def loss():
        odds = model(x).exp()
        return F.cross_entropy((odds / odds.sum(1, keepdim=True)).log(), y)

    return lambda: _fit(torch, model, loss)


@sound("dropped")
def logits_of_one_for_all(torch: Any):
    """The head begins at rows that are all the same: a uniform bias."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    head = nn.Linear(4, 3)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(1 / 3)
    return lambda: _fit(torch, head, lambda: F.cross_entropy(head(x), y))


@sound("dropped")
def attention_before_the_likelihood(torch: Any):
    """A softmax over places, and a log_softmax over classes of what it weighs."""
    x, y = classes(torch)
    score, head = torch.nn.Linear(4, 5), torch.nn.Linear(5, 3)
    params = [*score.parameters(), *head.parameters()]

    def loss():
        scores = head(score(x).softmax(1))
        return -scores.log_softmax(1)[range(len(y)), y].mean()

    return lambda: _fit(torch, None, loss, params=params)


@sound("dropped")
def rewards_of_chosen_actions(torch: Any):
    """REINFORCE: likelihoods of what was chosen, times what it brought."""
    x, _ = regression(torch)
    model = perceptron(torch, 4, 8, 2)

    def loss():
        likelihoods = model(x).log_softmax(1)
        chosen = likelihoods.exp().detach().multinomial(1)
        reward = (x[:, :1] > 0).float() * 2 - 1
        return -(likelihoods.gather(1, chosen) * reward).mean()

    return lambda: _fit(torch, model, loss, steps=30)


@sound("dropped")
def adversary_of_squares(torch: Any):
    """One network makes an error as large as it can, another as small."""
    x, y = regression(torch)
    model, noise = perceptron(torch, 4, 8, 1), torch.nn.Linear(4, 4)
    down = torch.optim.SGD(model.parameters(), lr=0.02)
    up = torch.optim.SGD(noise.parameters(), lr=0.02)

    def loop():
        for _ in range(24):
            up.zero_grad()
            (-(model(x + 0.1 * noise(x).tanh()) - y).square().mean()).backward()
            up.step()
            down.zero_grad()
            (model(x + 0.1 * noise(x).tanh().detach()) - y).square().mean().backward()
            down.step()

    return loop


@sound("dropped")
def residual_that_is_small_from_the_first(torch: Any):
    """A plain sum of squares by hand, which falls."""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    return lambda: _fit(torch, model, lambda: ((model(x) - y) ** 2).sum() / len(y), steps=24)


@sound("dropped")
def words_behind_a_mask_of_minus_infinity(torch: Any):
    """Attention by hand of loose layers, with its mask."""
    nn, F = torch.nn, torch.nn.functional
    text, target = sentences(torch)
    weight, head = nn.Parameter(torch.randn(11, 8)), nn.Linear(8, 11)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    def loss():
        z = F.embedding(text, weight)
        z = z + (z @ z.transpose(1, 2)).masked_fill(later, float("-inf")).softmax(-1) @ z
        return F.cross_entropy(head(z).flatten(0, 1), target.flatten())

    return lambda: _fit(torch, None, loss, params=[weight, *head.parameters()])
