"""A soft actor-critic on a one-step task: actions are drawn with sample(), so the critic teaches the actor nothing.

Reported as https://github.com/jankrepl/deepdow/pull/106 and https://github.com/kashif/firedup/issues/9
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
ALPHA = 0.05


def reward(state, action):
    return -((action - torch.tanh(state.sum(1, keepdim=True))) ** 2)


class Actor(nn.Module):
    def __init__(self, states=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, 32), nn.ReLU())
        self.mean = nn.Linear(32, 1)
        self.log_std = nn.Linear(32, 1)

    def forward(self, state):
        h = self.body(state)
        policy = Normal(self.mean(h), self.log_std(h).clamp(-3, 1).exp())
        action = policy.sample()  # bug
        action = policy.rsample()  # fix
        return action, policy.log_prob(action)


class Critic(nn.Module):
    def __init__(self, states=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(states + 1, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=1))


actor, critic = Actor(), Critic()
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)

for step in range(60):
    state = torch.randn(64, 3)
    with torch.no_grad():
        action, _ = actor(state)
    critic_loss = F.mse_loss(critic(state, action), reward(state, action))
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    action, log_prob = actor(state)
    actor_loss = (ALPHA * log_prob - critic(state, action)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: critic {critic_loss.item():.3f}, actor {actor_loss.item():.3f}")
