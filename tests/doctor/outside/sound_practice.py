"""Programs that someone took for wrong and that are right: the authors, or the mathematics, say why."""

from __future__ import annotations

import copy
import itertools
import random
from collections import OrderedDict, deque


def noise_compared_without_its_factor(torch):
    """The target is the noise itself, not the noise as it was scaled: so the paper has it.
    https://github.com/tqch/ddpm-torch/issues/2"""
    nn, steps = torch.nn, 16
    alphas_bar = torch.cumprod(1 - torch.linspace(0.02, 0.3, steps), 0)
    coef1, coef2 = alphas_bar.sqrt().unsqueeze(1), (1 - alphas_bar).sqrt().unsqueeze(1)
    model = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(250):
        angle = 6.28 * torch.rand(64)
        x_0 = torch.stack([angle.cos(), angle.sin()], 1)
        t = torch.randint(0, steps, (64,))
        noise = torch.randn_like(x_0)
        x_t = coef1[t] * x_0 + coef2[t] * noise
        model_out = model(torch.cat([x_t, t.unsqueeze(1) / steps], 1))
        loss = (noise - model_out).pow(2).flatten(1).mean(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) < 0.8 * sum(losses[:20])


def divergence_by_the_logarithm_of_the_variance(torch):
    """1 + log_var - mu² - exp(log_var) was taken for a formula of log-deviations: it is that of variances.
    https://github.com/AntixK/PyTorch-VAE/issues/69"""
    nn, F = torch.nn, torch.nn.functional

    class VanillaVAE(nn.Module):
        def __init__(self, width, latent_dim):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(width, 24), nn.LeakyReLU())
            self.fc_mu, self.fc_var = nn.Linear(24, latent_dim), nn.Linear(24, latent_dim)
            self.decoder = nn.Sequential(
                nn.Linear(latent_dim, 24), nn.LeakyReLU(), nn.Linear(24, width)
            )

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            return torch.randn_like(std) * std + mu

        def forward(self, inputs):
            result = self.encoder(inputs)
            mu, log_var = self.fc_mu(result), self.fc_var(result)
            return self.decoder(self.reparameterize(mu, log_var)), inputs, mu, log_var

        def loss_function(self, recons, inputs, mu, log_var, kld_weight):
            recons_loss = F.mse_loss(recons, inputs)
            inner = torch.sum(1 + log_var - mu**2 - log_var.exp(), dim=1)
            kld_loss = torch.mean(-0.5 * inner, dim=0)
            return recons_loss + kld_weight * kld_loss, recons_loss.item()

    data = torch.randn(64, 2) @ torch.randn(2, 10)
    vae = VanillaVAE(10, 2)
    optimizer = torch.optim.Adam(vae.parameters(), lr=5e-3)
    recons = []
    for _ in range(30):
        for batch in data[torch.randperm(64)].split(16):
            loss, plain = vae.loss_function(*vae(batch), kld_weight=0.01)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recons.append(plain)
    return sum(recons[-8:]) < 0.6 * sum(recons[:8])


def fakes_called_one_and_reals_zero(torch):
    """The labels of the two kinds are exchanged, and so is what the generator asks for: the game is the same.
    https://github.com/keras-team/keras-io/issues/361"""
    nn = torch.nn
    generator = nn.Linear(1, 1)
    discriminator = nn.Sequential(nn.Linear(1, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.02, betas=(0.5, 0.9))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.9))
    loss_fn, means = nn.BCEWithLogitsLoss(), []

    def train_step(real_images):
        batch_size = len(real_images)
        generated_images = generator(torch.randn(batch_size, 1)).detach()
        combined_images = torch.cat([generated_images, real_images])
        labels = torch.cat([torch.ones(batch_size, 1), torch.zeros(batch_size, 1)])
        labels = labels + 0.05 * torch.rand(labels.shape)
        d_optimizer.zero_grad()
        loss_fn(discriminator(combined_images), labels).backward()
        d_optimizer.step()

        misleading_labels = torch.zeros(batch_size, 1)
        g_optimizer.zero_grad()
        images = generator(torch.randn(batch_size, 1))
        loss_fn(discriminator(images), misleading_labels).backward()
        g_optimizer.step()
        return images.mean().item()

    for _ in range(500):
        real_images = -2.0 + 0.5 * torch.randn(48, 1)
        means += [train_step(real_images)]
    return abs(sum(means[-150:]) / 150 + 2.0) < 1.0


def line_between_the_samples_walked_backwards(torch):
    """Interpolated from real to fake, where the paper goes from fake to real: alpha is uniform, so it is one line.
    https://github.com/igul222/improved_wgan_training/issues/84"""
    nn, LAMBDA = torch.nn, 10
    critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))
    slopes_seen = []
    for _ in range(250):
        real_data = torch.randn(32, 2) + 2
        fake_data = torch.randn(32, 2)
        alpha = torch.rand(32, 1)
        differences = fake_data - real_data
        interpolates = (real_data + alpha * differences).requires_grad_()
        gradients = torch.autograd.grad(
            critic(interpolates).sum(), interpolates, create_graph=True
        )[0]
        slopes = gradients.pow(2).sum(1).sqrt()
        gradient_penalty = ((slopes - 1.0) ** 2).mean()
        disc_cost = critic(fake_data).mean() - critic(real_data).mean()
        disc_cost = disc_cost + LAMBDA * gradient_penalty
        optimizer.zero_grad()
        disc_cost.backward()
        optimizer.step()
        slopes_seen.append(slopes.mean().item())
    return 0.6 < sum(slopes_seen[-20:]) / 20 < 1.5


def advantages_computed_once_for_all_epochs(torch):
    """The advantages of a rollout are not made again in the epochs that learn from it: PPO has it so.
    https://github.com/vwxyzjn/ppo-implementation-details/issues/5"""
    nn, F = torch.nn, torch.nn.functional
    agent = nn.Linear(4, 3)  # two logits and a value
    optimizer = torch.optim.Adam(agent.parameters(), lr=0.02, eps=1e-5)
    earned = []
    for _update in range(30):
        obs = torch.eye(4)[torch.randint(0, 4, (64,))]
        with torch.no_grad():
            logits, values = agent(obs).split([2, 1], 1)
            actions = torch.multinomial(torch.softmax(logits, 1), 1)
            logprobs = torch.log_softmax(logits, 1).gather(1, actions)
            rewards = (actions[:, 0] == obs.argmax(1) % 2).float()
            advantages = rewards - values.squeeze(1)
        earned.append(rewards.mean().item())
        for _epoch in range(4):
            for mb in torch.randperm(64).split(16):
                new_logits, newvalue = agent(obs[mb]).split([2, 1], 1)
                logp = torch.log_softmax(new_logits, 1)
                ratio = (logp.gather(1, actions[mb]) - logprobs[mb]).exp().squeeze(1)
                mb_adv = advantages[mb]
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg_loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(0.8, 1.2)).mean()
                entropy = -(logp.exp() * logp).sum(1).mean()
                v_loss = F.mse_loss(newvalue.squeeze(1), rewards[mb])
                optimizer.zero_grad()
                (pg_loss - 0.01 * entropy + 0.5 * v_loss).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return earned[-1] > 0.85


def gradients_shadowed_in_the_comprehension(torch):
    """`for (name, param), grads in zip(…, grads)`: the list is asked for before its name is taken.
    https://github.com/Runist/torch_maml/issues/3"""
    F, inner_lr = torch.nn.functional, 0.1

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(1, 1))
            self.bias = torch.nn.Parameter(torch.randn(1))

        def functional_forward(self, x, params):
            return F.linear(x, params["weight"], params["bias"])

    model = Line()
    outer_optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    history = []
    for _ in range(60):
        query_loss = 0
        for _task in range(4):
            slope = 3 + torch.randn(1)
            support, query = torch.randn(6, 1), torch.randn(6, 1)
            fast_weights = OrderedDict(model.named_parameters())
            for _step in range(2):
                loss = F.mse_loss(model.functional_forward(support, fast_weights), slope * support)
                grads = torch.autograd.grad(loss, list(fast_weights.values()), create_graph=True)
                fast_weights = OrderedDict(
                    (name, param - inner_lr * grads)
                    for ((name, param), grads) in zip(fast_weights.items(), grads, strict=True)
                )
            query_loss = query_loss + F.mse_loss(
                model.functional_forward(query, fast_weights), slope * query
            )
        outer_optimizer.zero_grad()
        (query_loss / 4).backward()
        outer_optimizer.step()
        history.append(query_loss.item() / 4)
    return sum(history[-10:]) < 0.5 * sum(history[:10])


def query_set_that_makes_the_outer_step(torch):
    """The query set is no test set: its loss is what the outer step of MAML descends, the support's is not.
    https://github.com/dragen1860/MAML-Pytorch/issues/64"""
    F, update_lr = torch.nn.functional, 0.4

    def net(x, weights):
        return torch.tanh(x @ weights[0] + weights[1]) @ weights[2]

    shapes = [(1, 20), (20,), (20, 1)]
    weights = [torch.nn.Parameter(0.5 * torch.randn(shape)) for shape in shapes]
    meta_optim = torch.optim.Adam(weights, lr=0.01)
    losses = []
    for _ in range(60):
        losses_q = []
        for _i in range(4):
            phase = torch.rand(1) * 1.5
            x_spt, x_qry = torch.rand(8, 1) * 4 - 2, torch.rand(8, 1) * 4 - 2
            loss = F.mse_loss(net(x_spt, weights), torch.sin(x_spt + phase))
            grad = torch.autograd.grad(loss, weights, create_graph=True)
            fast = [p - update_lr * g for p, g in zip(weights, grad, strict=True)]
            losses_q.append(F.mse_loss(net(x_qry, fast), torch.sin(x_qry + phase)))
        loss_q = sum(losses_q) / len(losses_q)
        meta_optim.zero_grad()
        loss_q.backward()
        meta_optim.step()
        losses.append(loss_q.item())
    return sum(losses[-10:]) < 0.7 * sum(losses[:10])


def one_lambda_for_the_whole_batch(torch):
    """Mixed with one share a batch, where another code draws one a sample: a choice, and both are mix-up.
    https://github.com/TorchSSL/TorchSSL/issues/69"""
    nn, F = torch.nn, torch.nn.functional
    generator = random.Random(0)
    y = torch.arange(90) % 3
    x = 2 * torch.eye(3)[y] + 0.4 * torch.randn(90, 3)
    one_hot = F.one_hot(y, 3).float()
    model = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(20):
        for part in torch.randperm(90).split(30):
            lam = generator.betavariate(0.5, 0.5)
            lam = max(lam, 1 - lam)
            idx = torch.randperm(len(part))
            mixed_x = lam * x[part] + (1 - lam) * x[part][idx]
            mixed_y = lam * one_hot[part] + (1 - lam) * one_hot[part][idx]
            loss = -(mixed_y * F.log_softmax(model(mixed_x), 1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return (model(x).argmax(1) == y).float().mean().item() > 0.9


def global_model_replaced_by_a_clients_and_zeroed(torch):
    """The server takes a copy of the first client's model, sets it to zero and adds all up: only a shape is taken.
    https://github.com/TsingZ0/PFLlib/issues/138"""
    nn = torch.nn
    truth = torch.tensor([[1.0], [2.0], [-1.0]])

    class Server:
        def __init__(self):
            self.global_model = nn.Linear(3, 1)
            self.shards = [torch.randn(size, 3) for size in (12, 20, 32)]
            self.client_models = [copy.deepcopy(self.global_model) for _ in self.shards]

        def send_models(self):
            for client in self.client_models:
                for new, old in zip(
                    self.global_model.parameters(), client.parameters(), strict=True
                ):
                    old.data = new.data.clone()

        def train_clients(self):
            for client, x in zip(self.client_models, self.shards, strict=True):
                optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
                for _ in range(4):
                    optimizer.zero_grad()
                    nn.functional.mse_loss(client(x), x @ truth).backward()
                    optimizer.step()

        def aggregate_parameters(self):
            total = sum(len(x) for x in self.shards)
            self.global_model = copy.deepcopy(self.client_models[0])
            for param in self.global_model.parameters():
                param.data.zero_()
            for x, client in zip(self.shards, self.client_models, strict=True):
                pairs = zip(self.global_model.parameters(), client.parameters(), strict=True)
                for server_param, client_param in pairs:
                    server_param.data += client_param.data.clone() * len(x) / total

    server = Server()
    for _ in range(10):
        server.send_models()
        server.train_clients()
        server.aggregate_parameters()
    x = torch.randn(50, 3)
    return nn.functional.mse_loss(server.global_model(x), x @ truth).item() < 0.05


def temperature_learned_by_its_logarithm(torch):
    """The loss of SAC's alpha is multiplied by log_alpha, not by alpha: the sign of the step is the same.
    https://github.com/rail-berkeley/rlkit/issues/71"""
    target_entropy = 0.5
    policy = torch.nn.Linear(2, 2)
    log_alpha = torch.zeros(1, requires_grad=True)
    policy_optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
    alpha_optimizer = torch.optim.Adam([log_alpha], lr=0.02)
    entropies = []
    for _ in range(700):
        obs = torch.randn(32, 2)
        mean, log_std = policy(obs).chunk(2, 1)
        std = log_std.clamp(-5, 2).exp()
        noise = torch.randn_like(mean)
        new_obs_actions = mean + std * noise
        log_pi = -0.5 * noise**2 - std.log() - 0.919

        alpha_loss = -(log_alpha * (log_pi + target_entropy).detach()).mean()
        alpha_optimizer.zero_grad()
        alpha_loss.backward()
        alpha_optimizer.step()
        alpha = log_alpha.exp().detach()

        q_new_actions = -((new_obs_actions - obs.sum(1, keepdim=True)) ** 2)
        policy_loss = (alpha * log_pi - q_new_actions).mean()
        policy_optimizer.zero_grad()
        policy_loss.backward()
        policy_optimizer.step()
        entropies.append(-log_pi.mean().item())
    return abs(sum(entropies[-200:]) / 200 - target_entropy) < 0.3


def domain_loss_added_though_it_is_to_grow(torch):
    """class_loss + theta * domain_loss: the minus of the paper is in the layer that reverses the gradient.
    https://github.com/CuthbertCai/pytorch_DANN/issues/13"""
    nn, F, theta = torch.nn, torch.nn.functional, 1.0

    class GradReverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, constant):
            ctx.constant = constant
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad_output):
            return -ctx.constant * grad_output, None

    n = 64
    y = torch.arange(n) % 2
    signal = 2.0 * y.unsqueeze(1) - 1
    source = torch.cat([signal, torch.ones(n, 1)], 1) + 0.3 * torch.randn(n, 2)
    target = torch.cat([signal, -torch.ones(n, 1)], 1) + 0.3 * torch.randn(n, 2)
    feature, label_net, domain_net = nn.Linear(2, 4), nn.Linear(4, 2), nn.Linear(4, 2)
    params = itertools.chain(feature.parameters(), label_net.parameters(), domain_net.parameters())
    optimizer = torch.optim.SGD(params, lr=0.05, weight_decay=1e-2)
    domains = torch.cat([torch.zeros(n), torch.ones(n)]).long()
    for _ in range(250):
        features = feature(torch.cat([source, target]))
        class_loss = F.cross_entropy(label_net(features[:n]), y)
        domain_loss = F.cross_entropy(domain_net(GradReverse.apply(features, 1.0)), domains)
        loss = class_loss + theta * domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (label_net(feature(target)).argmax(1) == y).float().mean().item() > 0.9


def positive_among_its_own_negatives(torch):
    """Each session's item is compared with all of the batch, itself included: that is a constant, and no gradient.
    https://github.com/hidasib/GRU4Rec/issues/33"""
    nn, items = torch.nn, 12

    class GRU4Rec(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(items, 16)
            self.gru = nn.GRU(16, 16, batch_first=True)
            self.wy = nn.Embedding(items, 16)

        def forward(self, clicks, targets):
            out, _ = self.gru(self.embed(clicks))
            return out[:, -1] @ self.wy(targets).t()

    def bpr(yhat):
        difference = torch.diag(yhat).unsqueeze(1) - yhat
        return -torch.log(torch.sigmoid(difference)).mean()

    start = torch.arange(items)
    clicks = torch.stack([start, (start + 1) % items, (start + 2) % items], 1)
    following = (start + 3) % items
    model = GRU4Rec()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    for _ in range(60):
        for batch in torch.randperm(items).split(6):
            cost = bpr(model(clicks[batch], following[batch]))
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
    with torch.no_grad():
        best = model(clicks, start).argmax(1)
    return (best == following).float().mean().item() > 0.9


def labelled_data_loaded_twice_over(torch):
    """Two loaders over the same pictures: one gives pictures with labels, the other the labels that count as real.
    https://github.com/hfslyc/AdvSemiSeg/issues/47"""
    nn, F, data = torch.nn, torch.nn.functional, torch.utils.data
    gt = torch.arange(48) % 3
    images = 2 * torch.eye(3)[gt] + 0.4 * torch.randn(48, 3)
    dataset = data.TensorDataset(images, gt)
    trainloader = data.DataLoader(dataset, batch_size=12, shuffle=True)
    trainloader_gt = data.DataLoader(dataset, batch_size=12, shuffle=True)
    trainloader_gt_iter = iter(trainloader_gt)
    model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3))
    model_D = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer_D = torch.optim.Adam(model_D.parameters(), lr=1e-3)
    bce = nn.BCEWithLogitsLoss()
    for _ in range(15):
        for pictures, labels in trainloader:
            for param in model_D.parameters():
                param.requires_grad = False
            optimizer.zero_grad()
            pred = model(pictures)
            D_out = model_D(F.softmax(pred, dim=1))
            loss = F.cross_entropy(pred, labels) + 0.01 * bce(D_out, torch.ones_like(D_out))
            loss.backward()
            optimizer.step()

            for param in model_D.parameters():
                param.requires_grad = True
            optimizer_D.zero_grad()
            D_out = model_D(F.softmax(pred.detach(), dim=1))
            (bce(D_out, torch.zeros_like(D_out)) / 2).backward()
            try:
                _, labels_gt = next(trainloader_gt_iter)
            except StopIteration:
                trainloader_gt_iter = iter(trainloader_gt)
                _, labels_gt = next(trainloader_gt_iter)
            D_out = model_D(F.one_hot(labels_gt, 3).float())
            (bce(D_out, torch.ones_like(D_out)) / 2).backward()
            optimizer_D.step()
    return (model(images).argmax(1) == gt).float().mean().item() > 0.9


def derivative_of_the_sum_of_all_points(torch):
    """grad(u.sum(), x) was taken for the derivative of a sum: each u depends on its own x alone.
    https://github.com/nanditadoloi/PINN/issues/3"""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden_layer1 = nn.Linear(2, 20)
            self.hidden_layer2 = nn.Linear(20, 20)
            self.output_layer = nn.Linear(20, 1)

        def forward(self, x, t):
            inputs = torch.cat([x, t], axis=1)
            layer1_out = torch.sigmoid(self.hidden_layer1(inputs))
            return self.output_layer(torch.tanh(self.hidden_layer2(layer1_out)))

    def f(x, t, net):
        u = net(x, t)
        u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
        return u_x - 2 * u_t - u

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    x_bc, t_bc = 2 * torch.rand(40, 1), torch.zeros(40, 1)
    u_bc = 6 * torch.exp(-3 * x_bc)
    for _ in range(300):
        optimizer.zero_grad()
        mse_u = nn.functional.mse_loss(net(x_bc, t_bc), u_bc)
        x_collocation = (2 * torch.rand(40, 1)).requires_grad_()
        t_collocation = torch.rand(40, 1).requires_grad_()
        residual = f(x_collocation, t_collocation, net)
        loss = mse_u + residual.pow(2).mean()
        loss.backward()
        optimizer.step()
    return mse_u.item() < 0.5


def priorities_of_weighted_losses(torch):
    """The priorities are those of the weighted losses, other than in the paper: on purpose, the author says.
    https://github.com/Kaixhin/Rainbow/issues/24"""
    rng = random.Random(7)

    class ReplayMemory:
        def __init__(self, size):
            self.transitions, self.priorities = deque(maxlen=size), deque(maxlen=size)

        def append(self, state, action, reward):
            self.transitions.append((state, action, reward))
            self.priorities.append(max(self.priorities, default=1.0))

        def sample(self, batch_size):
            held = list(self.priorities)
            idxs = rng.choices(range(len(held)), weights=held, k=batch_size)
            probs = torch.tensor([held[i] / sum(held) for i in idxs])
            states, actions, returns = zip(*[self.transitions[i] for i in idxs], strict=True)
            weights = (len(held) * probs) ** -0.4
            tensors = torch.tensor(states), torch.tensor(actions), torch.tensor(returns)
            return idxs, *tensors, weights / weights.max()

        def update_priorities(self, idxs, priorities):
            for i, priority in zip(idxs, priorities.tolist(), strict=True):
                self.priorities[i] = (priority + 1e-3) ** 0.5

    online_net = torch.nn.Embedding(5, 2)
    optimiser = torch.optim.Adam(online_net.parameters(), lr=0.05, eps=1.5e-4)
    mem = ReplayMemory(200)
    for step in range(300):
        state, action = rng.randrange(5), rng.randrange(2)
        mem.append(state, action, float(state if action else -state))
        if step < 20:
            continue
        idxs, states, actions, returns, weights = mem.sample(16)
        q = online_net(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(q, returns, reduction="none")
        online_net.zero_grad()
        (weights * loss).mean().backward()
        optimiser.step()
        mem.update_priorities(idxs, (weights * loss).detach())
    truth = torch.stack([-torch.arange(5.0), torch.arange(5.0)], 1)
    return (online_net.weight.detach() - truth).abs().mean().item() < 0.3
