"""DQN: an agent learns to balance a pole on a cart by trial and error.

Q-learning with a replay buffer, a target network that follows slowly, and fewer random actions as
time goes on. The cart and its pole are simulated below, in plain Python.
"""

from __future__ import annotations

import copy
import math
import random
from collections import deque

import torch
from shared import options, progress, report
from torch import nn

State = tuple[float, float, float, float]
GAMMA, BATCH, FOLLOW = 0.98, 64, 0.01


class CartPole:
    """A pole on a cart that is pushed left (0) or right (1); it may lean 12° and leave by 2.4 m."""

    GRAVITY, CART, POLE, LENGTH, FORCE, DT = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    LIMIT = 200

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers

    def reset(self) -> State:
        self.age = 0
        self.state = tuple(self.numbers.uniform(-0.05, 0.05) for _ in range(4))
        return self.state

    def step(self, action: int) -> tuple[State, float, bool]:
        """The next state, the reward, and whether the pole has fallen."""
        x, speed, angle, turning = self.state
        total, moment = self.CART + self.POLE, self.POLE * self.LENGTH
        force = self.FORCE if action else -self.FORCE
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force + moment * turning**2 * sine) / total
        inertia = self.LENGTH * (4 / 3 - self.POLE * cosine**2 / total)
        bend = (self.GRAVITY * sine - cosine * push) / inertia
        slide = push - moment * bend * cosine / total
        self.state = (
            x + self.DT * speed,
            speed + self.DT * slide,
            angle + self.DT * turning,
            turning + self.DT * bend,
        )
        self.age += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state, 1.0, fallen


def network() -> nn.Module:
    """Map the four numbers of a state to the values of the two actions."""
    return nn.Sequential(
        nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )


def td_loss(online: nn.Module, target: nn.Module, batch: list) -> torch.Tensor:
    """The error of the values relative to reward plus discounted value of what followed."""
    states, actions, rewards, nexts, fallen = (
        torch.tensor(part) for part in zip(*batch, strict=True)
    )
    worth = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = online(nexts).argmax(dim=1, keepdim=True)  # double Q-learning
        later = target(nexts).gather(1, best).squeeze(1)
        aim = rewards + GAMMA * later * torch.logical_not(fallen)
    return nn.functional.smooth_l1_loss(worth, aim)


def main() -> None:
    chosen = options(__doc__, steps=4000, every=250).parse_args()
    torch.manual_seed(chosen.seed)
    numbers = random.Random(chosen.seed)

    online = network()
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    buffer: deque = deque(maxlen=10_000)
    world, lengths = CartPole(numbers), deque(maxlen=20)
    state = world.reset()
    for step in progress(1 - BATCH, chosen.steps):  # the first moves only fill the buffer
        if numbers.random() < max(0.05, 1 - max(step, 0) / 1500):
            action = numbers.randrange(2)
        else:
            with torch.no_grad():
                action = int(online(torch.tensor(state)).argmax())
        following, reward, fallen = world.step(action)
        buffer.append((state, action, reward, following, fallen))
        state = following
        if fallen or world.age == CartPole.LIMIT:
            lengths.append(world.age)
            state = world.reset()
        if step < 1:
            continue

        optimizer.zero_grad()
        loss = td_loss(online, target, numbers.sample(buffer, BATCH))
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for follower, leader in zip(target.parameters(), online.parameters(), strict=True):
                follower.lerp_(leader, FOLLOW)
        if step % chosen.every == 0:
            report(step, loss=loss.item(), length=sum(lengths) / len(lengths))


if __name__ == "__main__":
    main()
