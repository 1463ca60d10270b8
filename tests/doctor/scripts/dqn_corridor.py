"""Q-learning in a corridor: the target network is the policy network under another name.

Reported as https://github.com/higgsfield/RL-Adventure/issues/32 and https://github.com/datawhalechina/easy-rl/pull/117
"""

import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
random.seed(0)
LENGTH, GAMMA, SYNC = 8, 0.95, 20


def step(state, action):
    """Right is 1; the reward waits at the end."""
    after = max(0, min(LENGTH - 1, state + (1 if action == 1 else -1)))
    return after, float(after == LENGTH - 1), after == LENGTH - 1


def encode(states):
    return F.one_hot(torch.tensor(states), LENGTH).float()


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)


policy = QNet()
target = policy  # bug
target = copy.deepcopy(policy)  # fix
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory, state, updates = [], 0, 0

for _ in range(300):
    if random.random() < 0.3:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(policy(encode([state])).argmax())
    after, reward, done = step(state, action)
    memory.append((state, action, reward, after, done))
    state = 0 if done else after
    if len(memory) < 32:
        continue
    s, a, r, n, d = zip(*random.sample(memory, 32))
    q = policy(encode(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
    with torch.no_grad():
        best = target(encode(n)).max(1).values  # here
        wanted = torch.tensor(r) + GAMMA * best * (1 - torch.tensor(d).float())
    loss = F.smooth_l1_loss(q, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updates += 1
    if updates % SYNC == 0:
        target.load_state_dict(policy.state_dict())  # here

print("values of the start:", policy(encode([0])).tolist())
