"""Agents: targets that do not follow, values that meet in the wrong shape, losses that pass too far."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import perceptron


def episode(torch, n=32):
    """States, actions, rewards and the states that followed."""
    states = torch.randn(n, 4)
    actions = torch.randint(2, (n,))
    rewards = states[:, 0] * (2.0 * actions - 1)
    return states, actions, rewards, states + 0.1 * torch.randn(n, 4)


def target_loads_its_own_weights(torch):
    """copy-frozen: the target network is loaded from itself, never from the one that learns.
    https://github.com/thesouther/MARL/issues/8"""
    states, actions, rewards, after = episode(torch)
    policy, target = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 2)
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for step in range(30):
        with torch.no_grad():
            wanted = rewards + 0.9 * target(after).max(1).values
        chosen = policy(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(chosen, wanted).backward()
        optimizer.step()
        if step % 5 == 4:
            target.load_state_dict(target.state_dict())  # bug
            target.load_state_dict(policy.state_dict())  # fix


def target_bound_to_the_moving_network(torch):
    """copy-is-self: after the weights are loaded the target's name is given to the moving network.
    https://github.com/andri27-ts/Reinforcement-Learning/issues/14"""
    states, actions, rewards, after = episode(torch)
    moving = perceptron(torch, 4, 16, 2)
    target = copy.deepcopy(moving)
    optimizer = torch.optim.Adam(moving.parameters(), lr=0.01)
    for step in range(30):
        with torch.no_grad():
            wanted = rewards + 0.9 * target(after).max(1).values  # here
        chosen = moving(states)[torch.arange(32), actions]
        optimizer.zero_grad()
        loss = torch.nn.functional.smooth_l1_loss(chosen, wanted)
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            target.load_state_dict(moving.state_dict())  # here
            target = moving  # bug


def target_synchronized_on_a_count_that_never_comes(torch):
    """copy-frozen: the condition for the copy counts something that never reaches it.
    https://github.com/shakedzy/tic_tac_toe/issues/1"""
    states, actions, rewards, after = episode(torch)
    q_net, q_target = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 2)  # here
    optimizer = torch.optim.SGD(q_net.parameters(), lr=0.05)
    memory = 0
    for learned in range(40):
        memory = min(memory + 1, 32)
        with torch.no_grad():
            wanted = rewards + 0.9 * q_target(after).max(1).values  # here
        chosen = q_net(states)[torch.arange(32), actions]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(chosen, wanted).backward()
        optimizer.step()
        due = memory % 50 == 0  # bug
        due = learned % 10 == 0  # fix
        if due:
            q_target.load_state_dict(q_net.state_dict())  # here


def target_mixed_with_itself(torch):
    """copy-frozen: both terms of the soft update are the target's own weights.
    https://github.com/ageron/handson-ml2/issues/89"""
    states, actions, rewards, after = episode(torch)
    online = perceptron(torch, 4, 16, 2)
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
    for _ in range(30):
        with torch.no_grad():
            wanted = rewards + 0.9 * target(after).max(1).values
        chosen = online(states)[torch.arange(32), actions]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(chosen, wanted).backward()
        optimizer.step()
        for t, o in zip(target.parameters(), online.parameters(), strict=True):
            t.data.copy_(0.99 * t.data + 0.01 * t.data)  # bug
            t.data.copy_(0.99 * t.data + 0.01 * o.data)  # fix


def values_against_returns_of_another_shape(torch):
    """broadcast: the value head gives (N) and the returns are (N, 1): every value meets every return.
    https://github.com/RLinf/RLinf/issues/1568"""
    states, _, rewards, _ = episode(torch)
    returns = rewards.unsqueeze(1)
    critic = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        values = critic(states).squeeze(-1)  # bug
        values = critic(states)  # fix
        error = (returns - values).clamp(-1, 1)  # here
        loss = 0.5 * error.pow(2).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def likelihoods_times_coefficients_of_another_shape(torch):
    """broadcast: log-probabilities (N) times coefficients (N, 1) is a loss of all pairs.
    https://github.com/google-deepmind/acme/issues/277"""
    states, actions, rewards, _ = episode(torch)
    policy = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    coefficients = rewards.exp().clamp(max=5).unsqueeze(1)
    for _ in range(20):
        log_p = torch.log_softmax(policy(states), dim=1)[torch.arange(32), actions]
        coefficient = coefficients  # bug
        coefficient = coefficients.squeeze(1)  # fix
        loss = -(log_p * coefficient).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def returns_less_values_in_the_actor(torch):
    """broadcast: r - v is (N) less (N, 1); the actor's and the critic's loss are both of its square.
    https://github.com/thu-ml/tianshou/pull/155"""
    states, actions, rewards, _ = episode(torch)
    actor, critic = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(20):
        v = critic(states)
        advantage = rewards - v  # bug
        advantage = rewards - v.squeeze(1)  # fix
        log_p = torch.log_softmax(actor(states), 1).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = -(log_p * advantage.detach()).mean() + advantage.pow(2).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def critic_trained_through_its_own_bootstrap(torch):
    """target-not-detached: the advantages are the critic's target and hold its next values with gradient.
    https://github.com/Farama-Foundation/Gymnasium/issues/1494"""
    states, _, rewards, after = episode(torch)
    critic = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.005)
    for _ in range(30):
        values, following = critic(states).squeeze(1), critic(after).squeeze(1)  # here
        target = rewards + 0.9 * following  # bug
        target = rewards + 0.9 * following.detach()  # fix
        critic_loss = (target - values).pow(2).mean()  # here
        optimizer.zero_grad()
        critic_loss.backward()  # here
        optimizer.step()


def ratio_of_a_policy_to_itself(torch):
    """ratio-of-one: both distributions are parameterized by the same pass, so their ratio is always one.
    https://github.com/tensorforce/tensorforce/issues/312"""
    states, actions, rewards, _ = episode(torch)
    policy = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    with torch.no_grad():
        kept = torch.log_softmax(policy(states), 1)[torch.arange(32), actions]
    for _ in range(20):
        new = torch.log_softmax(policy(states), 1)[torch.arange(32), actions]
        old = new.detach()  # bug
        old = kept  # fix
        ratio = (new - old).exp()  # here
        clipped = ratio.clamp(0.8, 1.2)
        loss = -torch.min(ratio * rewards, clipped * rewards).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert kept is not None


def policy_term_as_a_number(torch):
    """cut: the log-probability enters the loss by item(), so only the value term trains anything.
    https://github.com/isayev/ReLeaSE/issues/39"""
    states, actions, rewards, _ = episode(torch)
    policy, value = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(20):
        log_p = torch.log_softmax(policy(states), 1)[torch.arange(32), actions]
        policy_loss = -(log_p * rewards).mean().item()  # bug
        policy_loss = -(log_p * rewards).mean()  # fix
        value_loss = (value(states).squeeze(1) - rewards).pow(2).mean()
        loss = value_loss + policy_loss  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here


def target_holds_the_training_variables(torch):
    """copy-is-self: the list of target weights is a list of the training weights.
    https://github.com/tensorforce/tensorforce/pull/81"""
    states, actions, rewards, after = episode(torch)
    network = perceptron(torch, 4, 16, 2)
    target = network  # bug
    target = copy.deepcopy(network)  # fix
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(30):
        with torch.no_grad():
            wanted = rewards + 0.9 * target(after).max(1).values
        chosen = network(states)[torch.arange(32), actions]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(chosen, wanted).backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), network.parameters(), strict=True):
                slow.mul_(0.9).add_(0.1 * fast)  # here
