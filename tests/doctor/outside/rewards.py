"""Agents whose returns, advantages or weights say something else than what happened."""

from __future__ import annotations

import random
from collections import deque
from typing import Any, NamedTuple


def value_beyond_the_end(torch):
    """target-beyond-end: the target of a step that ended the episode holds the value of what comes after. The
    source shows it: `done` is stored and never read.
    https://github.com/navneet-nmk/pytorch-rl/issues/2"""
    nn, gamma, cells = torch.nn, 0.9, 4

    class Corridor:
        """Walk right; the last cell pays one and the game begins anew."""

        def reset(self):
            self.at = 0
            return self.at

        def step(self, action):
            self.at = max(0, self.at + (1 if action else -1))
            done = self.at == cells
            return (self.reset() if done else self.at), float(done), done

    env, buffer, rng = Corridor(), deque(maxlen=500), random.Random(3)
    q_net, target_net = nn.Linear(cells, 2, bias=False), nn.Linear(cells, 2, bias=False)
    target_net.load_state_dict(q_net.state_dict())
    optimizer = torch.optim.Adam(q_net.parameters(), lr=0.03)
    eye = torch.eye(cells)

    state = env.reset()
    for frame in range(1200):
        action = rng.randrange(2)
        next_state, reward, done = env.step(action)
        buffer.append((state, action, reward, next_state, done))
        state = next_state
        if frame < 50 or frame % 2:
            continue
        s, a, r, n, d = map(torch.tensor, zip(*rng.sample(buffer, 32), strict=True))
        q = q_net(eye[s]).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            q_next = target_net(eye[n]).max(1).values
        expected = r + gamma * q_next  # bug
        expected = r + gamma * q_next * (1 - d.float())  # fix
        loss = nn.functional.mse_loss(q, expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if frame % 50 == 0:
            target_net.load_state_dict(q_net.state_dict())
    # no walk can earn more than the one that is there to be earned
    return q_net(eye).max().item() < 1.25


def advantage_runs_over_the_edge_of_an_episode(torch):
    """target-beyond-end: the running advantage is not cut where an episode ended, so a death is credited with
    the next life. The source shows it: `done` masks the value and not the sum.
    https://github.com/vietnh1009/Super-mario-bros-PPO-pytorch/issues/21"""
    F = torch.nn.functional
    gamma, tau, steps, life = 0.9, 0.95, 40, 5
    states = torch.eye(life)[torch.arange(steps) % life]
    dones = (torch.arange(steps) % life == life - 1).float()
    model = torch.nn.Linear(life, 3)  # two logits and a value
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    for _episode in range(60):
        rewards = 1.0 + 0.5 * torch.randn(steps)
        with torch.no_grad():
            logits, values = model(states).split([2, 1], dim=1)
            values = values.squeeze(1)
            policy = torch.softmax(logits, 1)
            actions = torch.multinomial(policy, 1)
            old_log = policy.gather(1, actions).log().squeeze(1)
            next_value, gae, r_list = torch.tensor(0.0), 0, []
            for value, reward, done in list(zip(values, rewards, dones, strict=True))[::-1]:
                gae = gae * gamma * tau  # bug
                gae = gae * gamma * tau * (1 - done)  # fix
                gae = gae + reward + gamma * next_value * (1 - done) - value  # here
                next_value = value
                r_list.append(gae + value)
            returns = torch.stack(r_list[::-1])
            advantages = returns - values

        for _ in range(2):
            logits, value = model(states).split([2, 1], dim=1)
            new_log = torch.log_softmax(logits, 1).gather(1, actions).squeeze(1)
            ratio = torch.exp(new_log - old_log)
            clipped = torch.clamp(ratio, 0.8, 1.2) * advantages
            actor_loss = -torch.mean(torch.min(ratio * advantages, clipped))
            critic_loss = F.smooth_l1_loss(value.squeeze(1), returns)
            optimizer.zero_grad()
            (actor_loss + critic_loss).backward()
            optimizer.step()
    # what the last step of a life is credited with is its own reward
    surprise = (rewards - values)[dones > 0]
    return (advantages[dones > 0] - surprise).abs().max().item() < 1e-3


def returns_of_the_advantages_not_yet_there(torch):
    """own-output-as-target: the returns are made of the storage's advantages, still zeros, and of the values:
    the critic is its own target. The run shows it: the loss of the values is zero from the first step on.
    https://github.com/vwxyzjn/cleanrl/pull/337"""

    class Storage(NamedTuple):
        obs: Any
        rewards: Any
        values: Any
        advantages: Any
        returns: Any

    critic = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.02)
    gamma, gae_lambda, num_steps = 0.8, 0.95, 24

    def compute_gae(storage):
        advantages = torch.zeros_like(storage.rewards)
        lastgaelam, nextvalue = 0.0, torch.tensor(0.0)
        for t in reversed(range(num_steps)):
            delta = storage.rewards[t] + gamma * nextvalue - storage.values[t]
            lastgaelam = delta + gamma * gae_lambda * lastgaelam
            advantages[t] = lastgaelam
            nextvalue = storage.values[t]
        returns = storage.advantages + storage.values  # bug
        returns = advantages + storage.values  # fix
        return storage._replace(advantages=advantages, returns=returns)

    obs = torch.linspace(0, 1, num_steps).unsqueeze(1)
    for _update in range(60):
        zeros = torch.zeros(num_steps)
        with torch.no_grad():
            values = critic(obs).squeeze(1)
        storage = compute_gae(Storage(obs, obs.squeeze(1), values, zeros, zeros))
        for _ in range(4):
            newvalue = critic(storage.obs).squeeze(1)
            v_loss = 0.5 * ((newvalue - storage.returns) ** 2).mean()  # here
            optimizer.zero_grad()
            v_loss.backward()
            optimizer.step()

    true, ahead = [], 0.0
    for reward in reversed(obs.squeeze(1).tolist()):
        ahead = reward + gamma * ahead
        true.insert(0, ahead)
    with torch.no_grad():
        return ((critic(obs).squeeze(1) - torch.tensor(true)) ** 2).mean().item() < 0.3


def log_probability_left_for_each_joint(torch):
    """broadcast: the log-probability is not summed over the joints, so a target of (N, A) meets a value of
    (N, 1). The run shows it: the shapes differ, and every value has many targets.
    https://github.com/thu-ml/tianshou/issues/40"""
    nn = torch.nn
    obs_dim, act_dim, alpha = 3, 6, 0.5

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.mu = nn.Linear(obs_dim, act_dim)
            self.log_sigma = nn.Parameter(-1.5 * torch.ones(act_dim))

        def forward(self, obs):
            dist = torch.distributions.Normal(self.mu(obs), self.log_sigma.exp())
            x = dist.rsample()
            log_prob = dist.log_prob(x) - torch.log(1 - torch.tanh(x).pow(2) + 1e-6)
            log_prob = log_prob.sum(1, keepdim=True)  # fix
            return torch.tanh(x), log_prob

    actor = Actor()
    critic = nn.Sequential(nn.Linear(obs_dim, 24), nn.ReLU(), nn.Linear(24, 1))
    critic_optim = torch.optim.Adam(critic.parameters(), lr=0.01)
    held = torch.randn(256, obs_dim)
    for _ in range(300):
        obs = held[torch.randint(0, 256, (32,))]
        with torch.no_grad():
            act, log_prob = actor(obs)
            reward = 1.0 - 0.1 * (act**2).sum(1, keepdim=True)
            target = reward - alpha * log_prob
        td = critic(obs) - target  # here
        critic_loss = td.pow(2).mean()
        critic_optim.zero_grad()
        critic_loss.backward()
        critic_optim.step()

    with torch.no_grad():
        tries = []
        for _ in range(64):
            act, log_prob = actor(held)
            entropy = -log_prob.reshape(256, -1).sum(1, keepdim=True)
            tries.append(1.0 - 0.1 * (act**2).sum(1, keepdim=True) + alpha * entropy)
        return (critic(held) - torch.stack(tries).mean(0)).abs().mean().item() < 0.6


def importance_weights_times_a_mean(torch):
    """weights-without-effect: the weights of the samples multiply a loss that is averaged already. The run
    shows it: each weight meets the same single number.
    https://github.com/rlcode/per/issues/3"""
    nn, F = torch.nn, torch.nn.functional
    # one state; nine transitions in ten pay nothing, the tenth pays ten
    rewards = torch.tensor([10.0 if i % 10 == 0 else 0.0 for i in range(100)])
    priorities = torch.where(rewards > 0, 9.0, 1.0)

    class Memory:
        def sample(self, n):
            probs = priorities / priorities.sum()
            idxs = torch.multinomial(probs, n, replacement=True)
            is_weights = (len(rewards) * probs[idxs]).pow(-1.0)
            return idxs, is_weights

    class Agent:
        def __init__(self):
            self.model = nn.Linear(1, 2)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.02)
            self.memory, self.batch_size = Memory(), 32

        def train_model(self):
            idxs, is_weights = self.memory.sample(self.batch_size)
            states = torch.ones(self.batch_size, 1)
            pred = self.model(states)[:, 0]
            target = rewards[idxs]
            self.optimizer.zero_grad()
            loss = (is_weights * F.mse_loss(pred, target)).mean()  # bug
            loss = (is_weights * F.mse_loss(pred, target, reduction="none")).mean()  # fix
            loss.backward()
            self.optimizer.step()

    agent = Agent()
    for _ in range(500):
        agent.train_model()
    value = agent.model(torch.ones(1, 1))[0, 0].item()
    return abs(value - 1.0) < 0.8


def probabilities_averaged_before_their_rewards(torch):
    """credit-lost: the mean of all log-probabilities is multiplied by each return, so no action is told what it
    earned. The run shows it: the loss is one product of two sums.
    https://github.com/Farama-Foundation/Gymnasium/issues/1336"""

    class REINFORCE:
        def __init__(self, positions):
            self.gamma = 0.0  # what an action earns is paid at once
            self.probs, self.rewards = [], []
            self.net = torch.nn.Linear(positions, 2)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05)

        def sample_action(self, state):
            distrib = torch.distributions.Categorical(logits=self.net(state))
            action = distrib.sample()
            self.probs.append(distrib.log_prob(action))
            return action.item()

        def update(self):
            running_g, gs = 0, []
            for R in self.rewards[::-1]:
                running_g = R + self.gamma * running_g
                gs.insert(0, running_g)
            deltas = torch.tensor(gs)
            log_probs = torch.stack(self.probs)
            log_prob_mean = log_probs.mean()  # bug
            loss = -torch.sum(log_prob_mean * deltas)  # bug
            loss = -torch.sum(log_probs * deltas)  # fix
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.probs, self.rewards = [], []

    positions = 24
    states = torch.eye(positions)
    agent = REINFORCE(positions)
    for _episode in range(100):
        for at in range(positions):
            right = agent.sample_action(states[at]) == at % 2
            agent.rewards.append(1.0 if right else -1.0)
        agent.update()
    chosen = agent.net(states).softmax(1)[torch.arange(positions), torch.arange(positions) % 2]
    return chosen.mean().item() > 0.9
