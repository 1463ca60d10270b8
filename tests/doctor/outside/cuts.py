"""Paths that are cut where a gradient should flow, and not cut where it should stop."""

from __future__ import annotations

from tests.doctor.corpus.parts import classes, images, perceptron, regression


def generator_trained_on_a_detached_fake(torch):
    """cut: the generator's own loss is taken of the detached fake.
    https://airoads.org/ch06-deep-learning/ch06-generative/01-gan/"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real = torch.randn(16, 2) + 2
        fake = g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = F.binary_cross_entropy_with_logits(d(fake.detach()), one)  # bug
        g_loss = F.binary_cross_entropy_with_logits(d(fake), one)  # fix
        g_loss.backward()  # here
        g_optimizer.step()  # here


def generator_loss_of_the_real_images(torch):
    """cut: the generator's loss is taken of the real batch, on which it has no influence.
    https://jishuzhan.net/article/1706211350813872129"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real = torch.randn(16, 2) + 2
        fake = g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = F.binary_cross_entropy_with_logits(d(real), one)  # bug
        g_loss = F.binary_cross_entropy_with_logits(d(fake), one)  # fix
        g_loss.backward()  # here
        g_optimizer.step()  # here


def adversarial_term_as_a_number(torch):
    """cut: the second term of the loss is a Python number, so it has no gradient.
    https://github.com/guopengf/FL-MRCM/issues/10"""
    F = torch.nn.functional
    x, y = regression(torch)
    encoder, head = perceptron(torch, 4, 8, 3), torch.nn.Linear(3, 1)
    judge = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(
        [*encoder.parameters(), *head.parameters(), *judge.parameters()], lr=0.01
    )
    for _ in range(20):
        optimizer.zero_grad()
        code = encoder(x)
        side = F.mse_loss(judge(code), y**2).item()  # bug
        side = F.mse_loss(judge(code), y**2)  # fix
        loss = F.mse_loss(head(code), y) + 0.5 * side
        loss.backward()  # here
        optimizer.step()  # here


def loss_rebuilt_as_a_tensor(torch):
    """cut: torch.tensor([...]) of two losses is a new leaf with no past.
    https://github.com/paiml/aprender/issues/3034"""
    F = torch.nn.functional
    x, y = regression(torch)
    first, second = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        a, b = F.mse_loss(first(x), y), F.mse_loss(second(x), y.abs())
        loss = torch.tensor([a, b], requires_grad=True).mean()  # bug
        loss = torch.stack([a, b]).mean()  # fix
        loss.backward()  # here
        optimizer.step()  # here


def encoder_under_no_grad(torch):
    """cut: features are extracted under no_grad, though the encoder is to be fine-tuned.
    https://github.com/microsoft/hi-ml/pull/549"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)
    encoder = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
    head = nn.Linear(64, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        with torch.no_grad():  # bug
            code = encoder(x)  # bug
        code = encoder(x)  # fix
        F.cross_entropy(head(code), y).backward()  # here
        optimizer.step()  # here


def hook_that_clones_a_detached_value(torch):
    """cut: the features are kept by a hook that detaches them.
    https://github.com/lucidrains/CoCa-pytorch/issues/6"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    body, head = perceptron(torch, 4, 8, 8), nn.Linear(8, 3)
    kept = {}

    def keep(module, inputs, output):
        kept["code"] = output.clone().detach()  # bug
        kept["code"] = output.clone()  # fix

    body.register_forward_hook(keep)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        body(x)
        F.cross_entropy(head(kept["code"]), y).backward()  # here
        optimizer.step()  # here


def penalty_through_an_argmax(torch):
    """cut: the penalty compares argmaxes: no gradient of it ever comes to the model.
    https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    coarse, fine = perceptron(torch, 4, 8, 2), perceptron(torch, 4, 8, 3)
    optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(fine(x), y)
        picked = coarse(x).argmax(1).float()  # bug
        picked = coarse(x).softmax(1)[:, 1]  # fix
        loss = loss + ((picked - (y > 0).float()) ** 2).mean()
        loss.backward()  # here
        optimizer.step()  # here
    nn.utils.parameters_to_vector(coarse.parameters())


def second_model_fed_with_an_argmax(torch):
    """cut: the first model's output goes through an argmax into the second one.
    https://github.com/pytorch/pytorch/issues/1339"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    first, table = perceptron(torch, 4, 8, 5), nn.Embedding(5, 6)
    second = nn.Linear(6, 3)
    parts = nn.ModuleList([first, table, second])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        code = table(first(x).argmax(1))  # bug
        code = first(x).softmax(1) @ table.weight  # fix
        F.cross_entropy(second(code), y).backward()  # here
        optimizer.step()  # here


def dice_of_rounded_predictions(torch):
    """cut: the predictions are thresholded before the overlap is measured.
    https://github.com/tensorlayer/TensorLayer/issues/891"""
    nn = torch.nn
    x, y = images(torch)
    mask = (x > 0.7).float()
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
    bias = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([*model.parameters(), bias], lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        p = torch.sigmoid(model(x))
        p = torch.round(p)  # bug
        overlap = 2 * (p * mask).sum() / (p.sum() + mask.sum() + 1)
        (1 - overlap + bias**2).sum().backward()  # here
        optimizer.step()  # here
    assert len(y)


def tensors_through_numpy(torch):
    """cut: the features take a way through NumPy and come back without their past.
    https://prodopsy.com/how-can-the-backward-function-in-tensor-influence-the-matrix-in-model"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    body, head = perceptron(torch, 4, 8, 6), nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)  # here
    for _ in range(20):
        optimizer.zero_grad()
        code = torch.from_numpy(body(x).detach().numpy())  # bug
        code = body(x)  # fix
        F.mse_loss(head(code.clamp(-2, 2)), y).backward()  # here
        optimizer.step()  # here


def action_sampled_without_a_gradient(torch):
    """sample-not-rsample: the actor's action is a sample that no gradient goes through.
    https://github.com/philtabor/Youtube-Code-Repository/issues/65"""
    Normal = torch.distributions.Normal
    state, reward = torch.randn(32, 4), torch.randn(32, 1)
    actor, critic = perceptron(torch, 4, 8, 2), perceptron(torch, 5, 8, 1)
    a_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        mean, spread = actor(state).chunk(2, dim=1)
        policy = Normal(mean, spread.exp().clamp(0.1, 2))
        c_optimizer.zero_grad()
        value = critic(torch.cat([state, policy.sample()], 1))
        torch.nn.functional.mse_loss(value, reward).backward()
        c_optimizer.step()
        action = policy.sample()  # bug
        action = policy.rsample()  # fix
        a_optimizer.zero_grad()
        loss = -critic(torch.cat([state, action], 1)).mean()
        loss.backward()  # here
        a_optimizer.step()  # here


def latent_sampled_without_a_gradient(torch):
    """sample-not-rsample: the encoder of a VAE gets nothing from the reconstruction.
    https://github.com/kashif/firedup/issues/9"""
    nn, F = torch.nn, torch.nn.functional
    Normal = torch.distributions.Normal
    x, _ = regression(torch)
    encoder, decoder = perceptron(torch, 4, 8, 4), perceptron(torch, 2, 8, 4)
    model = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        mean, spread = encoder(x).chunk(2, dim=1)
        latent = Normal(mean, F.softplus(spread) + 0.01)
        code = latent.sample()  # bug
        code = latent.rsample()  # fix
        F.mse_loss(decoder(code), x).backward()  # here
        optimizer.step()  # here


def td_target_not_detached(torch):
    """target-not-detached: the same network makes the target, and the gradient flows into it.
    https://github.com/philtabor/Deep-Q-Learning-Paper-To-Code/issues/16"""
    F = torch.nn.functional
    state, action = torch.randn(32, 4), torch.randint(2, (32, 1))
    reward, following = torch.randn(32, 1), torch.randn(32, 4)
    q = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(q.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        best = q(following).max(1, keepdim=True).values  # here
        target = reward + 0.9 * best  # bug
        target = reward + 0.9 * best.detach()  # fix
        F.mse_loss(q(state).gather(1, action), target).backward()  # here
        optimizer.step()


def advantage_not_detached(torch):
    """target-not-detached: the actor's loss also pushes the critic, through the advantage.
    https://github.com/astariul/encode-attend-navigate-pytorch/pull/3"""
    F = torch.nn.functional
    state, action, returns = torch.randn(32, 4), torch.randint(3, (32,)), torch.randn(32)
    actor, critic = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        value = critic(state).squeeze(1)
        advantage = returns - value  # bug
        advantage = returns - value.detach()  # fix
        chosen = F.log_softmax(actor(state), dim=1)[torch.arange(32), action]
        policy_loss = -(chosen * advantage).mean()  # here
        (policy_loss + F.mse_loss(value, returns)).backward()  # here
        optimizer.step()


def old_probability_not_kept(torch):
    """ratio-of-one: the old probability is made by the new policy: the ratio is 1 for ever.
    https://github.com/higgsfield-ai/higgsfield/issues/20"""
    F = torch.nn.functional
    state, action, advantage = torch.randn(32, 4), torch.randint(3, (32,)), torch.randn(32)
    actor = perceptron(torch, 4, 8, 3)
    rows = torch.arange(32)
    optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(5):
        with torch.no_grad():  # fix
            old = F.log_softmax(actor(state), dim=1)[rows, action]  # fix
        for _ in range(4):
            optimizer.zero_grad()
            new = F.log_softmax(actor(state), dim=1)[rows, action]
            old = F.log_softmax(actor(state), dim=1)[rows, action].detach()  # bug
            ratio = (new - old).exp()  # here
            clipped = ratio.clamp(0.8, 1.2) * advantage
            (-torch.min(ratio * advantage, clipped).mean()).backward()
            optimizer.step()


def ratio_under_no_grad(torch):
    """cut: the ratio is computed under no_grad, so the policy gets no gradient of its loss.
    https://github.com/thu-ml/tianshou/issues/742"""
    F = torch.nn.functional
    state, action, advantage = torch.randn(32, 4), torch.randint(3, (32,)), torch.randn(32)
    actor, critic = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 1)
    rows = torch.arange(32)
    old = F.log_softmax(actor(state), dim=1)[rows, action].detach()
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        with torch.no_grad():  # bug
            ratio = (F.log_softmax(actor(state), dim=1)[rows, action] - old).exp()  # bug
        ratio = (F.log_softmax(actor(state), dim=1)[rows, action] - old).exp()  # fix
        clip_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        value_loss = F.mse_loss(critic(state).squeeze(1), advantage)
        (clip_loss + value_loss).backward()  # here
        optimizer.step()  # here
