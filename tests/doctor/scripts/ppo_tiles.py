"""PPO on a row of tiles: the old probabilities are those of the same pass, graph and all, and cancel.

Asked in forums as "PPO ratio is always 1 and the policy does not move"; the old ones have to be kept before.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
TILES, CLIP, GAMMA = 6, 0.2, 0.9


def rollout(policy, n=8, length=10):
    """Walks from the left; every step on the last tile pays."""
    state = torch.zeros(n, dtype=torch.long)
    states, actions, rewards = [], [], []
    for _ in range(length):
        with torch.no_grad():
            action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state = (state + 2 * action - 1).clamp(0, TILES - 1)
        rewards.append((state == TILES - 1).float())
    returns, after = [], torch.zeros(n)
    for reward in reversed(rewards):
        after = reward + GAMMA * after
        returns.insert(0, after)
    return torch.cat(states), torch.cat(actions), torch.cat(returns)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TILES, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, state):
        return self.out(torch.tanh(self.embed(state)))


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)  # here
for round_number in range(6):
    states, actions, returns = rollout(policy)
    advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
    with torch.no_grad():  # fix
        before = Categorical(logits=policy(states)).log_prob(actions)  # fix
    for _ in range(4):
        new = Categorical(logits=policy(states)).log_prob(actions)
        old = new  # bug
        old = before  # fix
        ratio = torch.exp(new - old)  # here
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean()  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here
    print(f"round {round_number}: mean return {returns.mean().item():.3f}")
