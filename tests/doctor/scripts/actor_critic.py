"""Advantage actor-critic on a small corridor: the policy's loss also moves the critic."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
random.seed(0)


class Corridor:
    """Walk right to the end; each step costs a little."""

    def __init__(self, length=6):
        self.length = length
        self.position = 0

    def observe(self):
        state = torch.zeros(self.length)
        state[self.position] = 1.0
        return state

    def reset(self):
        self.position = random.randrange(self.length - 1)
        return self.observe()

    def step(self, action):
        move = 1 if action == 1 else -1
        self.position = max(0, min(self.length - 1, self.position + move))
        done = self.position == self.length - 1
        return self.observe(), (1.0 if done else -0.05), done


class ActorCritic(nn.Module):
    """Two heads on one trunk."""

    def __init__(self, n_states, n_actions):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh())
        self.policy = nn.Linear(32, n_actions)
        self.value = nn.Linear(32, 1)

    def forward(self, state):
        h = self.trunk(state)
        return self.policy(h), self.value(h).squeeze(-1)


env = Corridor()
model = ActorCritic(env.length, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
gamma = 0.95

for episode in range(40):
    state = env.reset()
    log_probs, values, rewards, entropies = [], [], [], []
    for _ in range(30):
        logits, value = model(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        state, reward, done = env.step(action.item())
        rewards.append(reward)
        if done:
            break

    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + gamma * running
        returns.insert(0, running)
    returns = torch.tensor(returns)
    values = torch.stack(values)
    log_probs = torch.stack(log_probs)

    advantage = returns - values  # here
    policy_loss = -(log_probs * advantage).mean()  # bug
    policy_loss = -(log_probs * advantage.detach()).mean()  # fix
    value_loss = F.mse_loss(values, returns)
    entropy = torch.stack(entropies).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropy

    optimizer.zero_grad()
    loss.backward()  # here
    optimizer.step()

    if episode % 10 == 0:
        print(f"episode {episode}: return {sum(rewards):.2f}, loss {loss.item():.3f}")
