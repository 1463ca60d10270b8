"""Reinforcement learning and sampling: targets without gradients, advantages that are detached."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("agents")
def q_learning_with_a_target_network(torch: Any):
    """The target net has trainable weights, is in no optimizer, and is copied over now and then."""
    F = torch.nn.functional
    states, following = torch.randn(48, 3), torch.randn(48, 3)
    actions, rewards = torch.randint(2, (48, 1)), torch.randn(48)

    def loop():
        online = perceptron(torch, 3, 8, 2)
        target = copy.deepcopy(online)
        optimizer = torch.optim.RMSprop(online.parameters(), lr=0.005)
        for i, (s, n, a, r) in enumerate(batches(4, states, following, actions, rewards)):
            worth = online(s).gather(1, a).squeeze(1)
            aim = r + 0.9 * target(n).max(dim=1).values.detach()
            optimizer.zero_grad()
            F.smooth_l1_loss(worth, aim).backward()
            optimizer.step()
            if i % 4 == 3:
                target.load_state_dict(online.state_dict())

    return loop


@sound("agents")
def policy_gradient(torch: Any):
    """REINFORCE: log-chances of an episode are kept with their graphs until its end."""
    F = torch.nn.functional

    def loop():
        policy = perceptron(torch, 2, 8, 2)
        optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
        for _episode in range(10):
            state, kept, rewards = torch.zeros(2), [], []
            for _ in range(6):
                chances = F.log_softmax(policy(state), dim=0)
                action = int(torch.multinomial(chances.exp().detach(), 1))
                kept.append(chances[action])
                state = state + (0.1 if action else -0.1)
                rewards.append(float(state.sum()))
            returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
            advantage = returns - returns.mean()
            optimizer.zero_grad()
            (-(torch.stack(kept) * advantage).sum()).backward()
            optimizer.step()

    return loop


@sound("agents")
def actor_and_critic_share_a_trunk(torch: Any):
    """One optimizer, two losses, and the advantage detached from the critic."""
    nn, F = torch.nn, torch.nn.functional
    states, returns = torch.randn(48, 3), torch.randn(48)
    actions = torch.randint(2, (48, 1))

    def loop():
        trunk, actor, critic = perceptron(torch, 3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        model = nn.ModuleList([trunk, actor, critic])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for s, a, r in batches(4, states, actions, returns):
            hidden = torch.tanh(trunk(s))
            value = critic(hidden).squeeze(1)
            log_chance = F.log_softmax(actor(hidden), dim=1).gather(1, a).squeeze(1)
            advantage = (r - value).detach()
            loss = F.mse_loss(value, r) - (log_chance * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()

    return loop


@sound("agents")
def actor_and_critic_with_two_optimizers(torch: Any):
    """Both losses go backward before both steps; each reaches a net of its own."""
    nn, F = torch.nn, torch.nn.functional
    states, returns = torch.randn(48, 3), torch.randn(48, 1)

    def loop():
        critic, actor = perceptron(torch, 3, 8, 1), perceptron(torch, 3, 8, 2)
        for_critic = torch.optim.SGD(critic.parameters(), lr=0.05)
        for_actor = torch.optim.SGD(actor.parameters(), lr=0.05)
        for s, r in batches(4, states, returns):
            value = critic(s)
            advantage = r - value.detach()
            log_chance = F.log_softmax(actor(s), dim=1)[:, :1]
            for_actor.zero_grad()
            for_critic.zero_grad()
            F.mse_loss(value, r).backward()
            (-(log_chance * advantage).mean()).backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
            nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
            for_critic.step()
            for_actor.step()

    return loop


@sound("agents")
def several_epochs_over_one_rollout(torch: Any):
    """PPO: old log-chances without gradient, several clipped updates on the same data."""
    F = torch.nn.functional
    states, advantages = torch.randn(24, 3), torch.randn(24)
    actions = torch.randint(2, (24, 1))

    def loop():
        policy = perceptron(torch, 3, 8, 2)
        optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
        for _ in range(3):
            with torch.no_grad():
                old = F.log_softmax(policy(states), dim=1).gather(1, actions).squeeze(1)
            for _ in range(4):
                new = F.log_softmax(policy(states), dim=1).gather(1, actions).squeeze(1)
                ratio = (new - old).exp()
                bounded = ratio.clamp(0.8, 1.2)
                loss = -torch.minimum(ratio * advantages, bounded * advantages).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return loop


@sound("agents")
def deterministic_policy_gradient(torch: Any):
    """DDPG done right: the critic's gradients from the actor's loss are cleared, targets follow."""
    F = torch.nn.functional
    states, actions, rewards = torch.randn(48, 3), torch.randn(48, 1), torch.randn(48, 1)

    def loop():
        actor, critic = perceptron(torch, 3, 8, 1), perceptron(torch, 4, 8, 1)
        old_actor, old_critic = copy.deepcopy(actor), copy.deepcopy(critic)
        for_actor = torch.optim.Adam(actor.parameters(), lr=0.005)
        for_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
        for s, a, r in batches(4, states, actions, rewards):
            with torch.no_grad():
                aim = r + 0.9 * old_critic(torch.cat([s, old_actor(s)], dim=1))
            for_critic.zero_grad()
            F.mse_loss(critic(torch.cat([s, a], dim=1)), aim).backward()
            for_critic.step()
            for_actor.zero_grad()
            (-critic(torch.cat([s, actor(s)], dim=1)).mean()).backward()
            for_actor.step()
            for old, new in ((old_actor, actor), (old_critic, critic)):
                for kept, p in zip(old.parameters(), new.parameters(), strict=True):
                    kept.data.mul_(0.95).add_(p.data, alpha=0.05)

    return loop


@sound("agents")
def reparameterised_autoencoder(torch: Any):
    """A VAE: noise without gradient, the Kullback-Leibler term written out."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    def loop():
        encoder, decoder = perceptron(torch, 4, 8, 4), perceptron(torch, 2, 8, 4)
        model = nn.ModuleList([encoder, decoder])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for (batch,) in [*batches(8, x)] * 2:
            mean, log_variance = encoder(batch).chunk(2, dim=1)
            code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
            divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
            optimizer.zero_grad()
            (F.mse_loss(decoder(code), batch, reduction="sum") + divergence).backward()
            optimizer.step()

    return loop


@sound("agents")
def vector_quantised_autoencoder(torch: Any):
    """VQ-VAE: argmin chooses, stop-gradients on both sides, straight through to the encoder."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    def loop():
        encoder, decoder = perceptron(torch, 4, 8, 2), perceptron(torch, 2, 8, 4)
        book = nn.Embedding(3, 2)
        model = nn.ModuleList([encoder, decoder, book])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for (batch,) in batches(4, x):
            code = encoder(batch)
            chosen = book(torch.cdist(code, book.weight).argmin(dim=1))
            passed = code + (chosen - code).detach()
            loss = F.mse_loss(decoder(passed), batch)
            loss = (
                loss + F.mse_loss(chosen, code.detach()) + 0.25 * F.mse_loss(code, chosen.detach())
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("agents")
def straight_through_estimators(torch: Any):
    """Binary weights by a custom function whose backward passes what its forward's slope would stop."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x >= 0, 1.0, -1.0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    class BinaryLinear(nn.Linear):
        def forward(self, x):
            return F.linear(x, Sign.apply(self.weight) * self.weight.abs().mean(), self.bias)

    def loop():
        model = nn.Sequential(BinaryLinear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            output = model(x)
            rounded = output + ((8 * output).round() / 8 - output).detach()
            F.mse_loss(rounded, y).backward()
            optimizer.step()

    return loop
