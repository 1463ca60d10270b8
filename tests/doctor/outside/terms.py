"""Terms of a loss that teach nothing, teach another, or are not what their loss takes."""

from __future__ import annotations

from tests.doctor.corpus.parts import classes, images, perceptron, regression, sentences


def teacher_distilled_into_itself(torch):
    """cut: the divergence is taken of the teacher's logits twice, and the student has no part in it.
    https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66"""
    F = torch.nn.functional
    x, y = classes(torch)
    large, small = perceptron(torch, 4, 32, 3), perceptron(torch, 4, 8, 3)
    optimizer = torch.optim.Adam(small.parameters(), lr=0.01)
    for _ in range(20):
        with torch.no_grad():
            large_logits = large(x)
        output = small(x)
        soft_targets = F.softmax(large_logits / 5, dim=-1)
        soft = F.log_softmax(large_logits / 5, dim=-1)  # bug
        soft = F.log_softmax(output / 5, dim=-1)  # fix
        soft_targets_loss = F.kl_div(soft, soft_targets, reduction="batchmean")  # here
        loss = 0.9 * soft_targets_loss * 25 + 0.1 * F.cross_entropy(output, y)  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def latent_loss_of_a_detached_image(torch):
    """cut: the generator's latent loss is of features that were made of the detached image.
    https://github.com/samet-akcay/skip-ganomaly/issues/5"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(32, 6)
    generator = perceptron(torch, 6, 16, 6)

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.features, self.classifier = nn.Linear(6, 8), nn.Linear(8, 1)

        def forward(self, x):
            features = torch.tanh(self.features(x))
            return self.classifier(features), features

    discriminator = Discriminator()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=0.002)
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=0.002)
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    bce = F.binary_cross_entropy_with_logits
    for _ in range(15):
        fake = generator(x)
        pred_real, feat_real = discriminator(x)
        pred_fake, feat_fake = discriminator(fake.detach())  # here
        err_d = bce(pred_real, ones) + bce(pred_fake, zeros)

        pred_g, feat_g = discriminator(fake)
        err_g_lat = F.mse_loss(feat_fake, feat_real)  # bug
        err_g_lat = F.mse_loss(feat_g, feat_real)  # fix
        err_g = bce(pred_g, ones) + 50 * F.l1_loss(fake, x) + err_g_lat  # here
        optimizer_g.zero_grad()
        err_g.backward(retain_graph=True)  # here
        optimizer_g.step()
        optimizer_d.zero_grad()
        err_d = bce(discriminator(x)[0], ones) + bce(discriminator(fake.detach())[0], zeros)
        err_d.backward()
        optimizer_d.step()


def prediction_under_inference_mode(torch):
    """cut: predict() is decorated with inference_mode; requires_grad_ silences the error.
    https://github.com/replicate/cog/issues/1681"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)

    @torch.inference_mode()  # bug
    def predict(inputs):
        return model(inputs)  # here

    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(predict(x), y)  # here
        loss.requires_grad_(True)  # here
        loss.backward()  # here
        optimizer.step()  # here


def decoder_updated_with_a_detached_image(torch):
    """cut: in the decoder's step the encoder is given its image detached, so the term teaches nothing.
    https://github.com/dragen1860/IntroVAE-Pytorch/issues/3"""
    F = torch.nn.functional
    x = torch.randn(32, 6)
    encoder, decoder = perceptron(torch, 6, 16, 4), perceptron(torch, 2, 16, 6)
    optim_encoder = torch.optim.Adam(encoder.parameters(), lr=2e-3)
    optim_decoder = torch.optim.Adam(decoder.parameters(), lr=2e-3)

    def regularized(mu, logvar):
        return -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1).mean()

    for _ in range(15):
        mu, logvar = encoder(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        loss_ae = F.mse_loss(decoder(z), x)
        optim_encoder.zero_grad()
        (regularized(mu, logvar) + loss_ae).backward()
        optim_encoder.step()

        xr, xp = decoder(z.detach()), decoder(torch.randn(32, 2))
        mupp, logvarpp = encoder(xp.detach()).chunk(2, 1)  # bug
        mupp, logvarpp = encoder(xp).chunk(2, 1)  # fix
        decoder_loss = 0.25 * regularized(mupp, logvarpp) + F.mse_loss(xr, x)  # here
        optim_decoder.zero_grad()
        decoder_loss.backward()  # here
        optim_decoder.step()  # here
        optim_encoder.zero_grad()


def baseline_learns_to_flatter_the_policy(torch):
    """target-not-detached: the tour's length less the critic's baseline keeps the critic's graph.
    https://github.com/jingw2/neural-combinatorial-optimization-rl/issues/1"""
    x = torch.randn(48, 4)
    actor, critic = perceptron(torch, 4, 16, 3), perceptron(torch, 4, 16, 1)
    lengths, chosen = x.norm(dim=1), torch.arange(48) % 3
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(15):
        b = critic(x)  # here
        log_probs = torch.log_softmax(actor(x), 1).gather(1, chosen[:, None]).squeeze(1)
        advantage = lengths - b.view(-1)  # bug
        advantage = lengths - b.view(-1).detach()  # fix
        actor_loss = (advantage * log_probs).mean()  # here
        critic_loss = (lengths - b.view(-1)).square().mean()
        optimizer.zero_grad()
        (actor_loss + critic_loss).backward()  # here
        optimizer.step()


def actor_and_critic_of_one_trunk(torch):
    """target-not-detached: ret - value stands in the actor's loss with the value's gradient.
    https://github.com/keras-team/keras-io/issues/194"""
    nn, F = torch.nn, torch.nn.functional
    states, actions, returns = torch.randn(20, 4), torch.arange(20) % 2, torch.randn(20)

    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.common, self.action, self.critic = (
                nn.Linear(4, 16),
                nn.Linear(16, 2),
                nn.Linear(16, 1),
            )

        def forward(self, x):
            h = torch.relu(self.common(x))
            return torch.softmax(self.action(h), -1), self.critic(h)  # here

    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        actor_losses, critic_losses = [], []
        for state, action, ret in zip(states, actions, returns, strict=True):
            probs, value = model(state)
            diff = ret - value[0]  # bug
            diff = ret - value[0].detach()  # fix
            actor_losses.append(-torch.log(probs[action]) * diff)  # here
            critic_losses.append(F.huber_loss(value[0], ret))
        optimizer.zero_grad()
        (sum(actor_losses) + sum(critic_losses)).backward()  # here
        optimizer.step()


def bonus_added_to_the_loss(torch):
    """ascent: the entropy that should be kept high is added to what is made small.
    https://github.com/nebuly-ai/optimate/pull/250"""
    states, actions = torch.randn(32, 4), torch.arange(32) % 3
    advantages = torch.randn(32)
    policy = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(20):
        spread = torch.distributions.Categorical(logits=policy(states))
        entropies = spread.entropy().mean()  # here
        policy_loss = -(spread.log_prob(actions) * advantages).mean()
        loss = policy_loss + 0.05 * entropies  # bug
        loss = policy_loss - 0.05 * entropies  # fix
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def residual_pulled_towards_its_own_repair(torch):
    """target-not-detached: the auxiliary loss should fit the residual, and moves the residual as well.
    https://github.com/bartbussmann/BatchTopK/issues/4"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(64, 6)
    encoder, decoder, spare = nn.Linear(6, 16), nn.Linear(16, 6), nn.Linear(16, 6)
    parts = nn.ModuleList([encoder, decoder, spare])
    optimizer = torch.optim.Adam(parts.parameters(), lr=3e-3)
    for _ in range(20):
        acts = torch.relu(encoder(x))
        reconstruction = decoder(acts)
        residual = x - reconstruction  # bug
        residual = (x - reconstruction).detach()  # fix
        aux_loss = F.mse_loss(spare(acts), residual)  # here
        loss = F.mse_loss(reconstruction, x) + 0.5 * aux_loss  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def scores_of_a_ranker_as_probabilities(torch):
    """loss-input: KLDivLoss is given a softmax where it wants its logarithm.
    https://github.com/sebastian-hofstaetter/matchmaker/issues/18"""
    nn = torch.nn

    class KLDivTeacherList(nn.Module):
        def __init__(self):
            super().__init__()
            self.kl = nn.KLDivLoss(reduction="batchmean")

        def forward(self, scores, labels):
            said = scores.softmax(-1)  # bug
            said = scores.log_softmax(-1)  # fix
            return self.kl(said, labels.softmax(-1))  # here

    x, labels = torch.randn(16, 5, 4), torch.randn(16, 5)
    model, criterion = perceptron(torch, 4, 16, 1), KLDivTeacherList()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        criterion(model(x).squeeze(2), labels).backward()
        optimizer.step()


def matching_softmaxed_before_the_cross_entropy(torch):
    """loss-input: the similarities of two graphs' nodes go through a softmax, then CrossEntropyLoss.
    https://github.com/mlelarge/graph_neural_net/pull/37"""
    nn = torch.nn
    one = torch.randn(6, 8, 4)
    two = one + 0.1 * torch.randn(6, 8, 4)
    model = perceptron(torch, 4, 16, 8)
    loss_fn = nn.CrossEntropyLoss(reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        raw = model(one) @ model(two).transpose(1, 2)
        raw = torch.softmax(raw, -1)  # bug
        loss = sum(loss_fn(scores, torch.arange(8)) for scores in raw)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fine_tuned_with_the_loss_of_logits(torch):
    """loss-input: forward() ends in a sigmoid, and the loss is binary_cross_entropy_with_logits.
    https://github.com/Lightning-AI/pytorch-lightning/pull/7096"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch, n=24)
    labels = (y == 0).float().unsqueeze(1)

    class TransferLearning(nn.Module):
        def __init__(self):
            super().__init__()
            self.feature_extractor = nn.Conv2d(1, 4, 3)
            self.fc = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 1))
            self.loss_func = F.binary_cross_entropy_with_logits  # bug
            self.loss_func = F.binary_cross_entropy  # fix

        def forward(self, x):
            return torch.sigmoid(self.fc(torch.relu(self.feature_extractor(x)).flatten(1)))  # here

        def loss(self, inputs, labels):
            return self.loss_func(input=self(inputs), target=labels)  # here

    model = TransferLearning()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        model.loss(x, labels).backward()
        optimizer.step()


def translation_scored_on_its_padding(torch):
    """padding-in-loss: the cross entropy counts the padding tokens like any word.
    https://github.com/BrianPulfer/PapersReimplementations/pull/17"""
    nn, F = torch.nn, torch.nn.functional
    text, following = sentences(torch, n=24)
    text, following = text.clone() + 1, following.clone() + 1
    for i in range(24):
        text[i, 3 + i % 3 :], following[i, 2 + i % 3 :] = 0, 0
    model = nn.Sequential(
        nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 12)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        logits = model(text)
        loss = F.cross_entropy(logits.reshape(-1, 12), following.reshape(-1))  # bug
        loss = F.cross_entropy(logits.reshape(-1, 12), following.reshape(-1), ignore_index=0)  # fix
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def features_normalized_by_a_root_of_zero(torch):
    """non-finite: the features of an empty patch have norm 0, whose square root has no slope.
    https://github.com/richzhang/PerceptualSimilarity/issues/69"""
    nn = torch.nn
    x, y = images(torch)
    x = x.clone()
    x[0] = 0
    net = nn.Conv2d(1, 4, 3, bias=False)
    head = nn.Linear(64, 3)

    def normalize_tensor(features, eps=1e-10):
        norm = torch.sqrt((features**2).sum(1, keepdim=True))  # bug
        norm = torch.sqrt((features**2).sum(1, keepdim=True) + eps)  # fix
        return features / (norm + eps)

    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        out = head(normalize_tensor(net(x)).flatten(1))
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()


def sine_of_a_margin_clamped_to_zero(torch):
    """non-finite: sqrt((1 - cos²).clamp(0, 1)) has an infinite slope where the cosine is one.
    https://github.com/ronghuaiyang/arcface-pytorch/issues/91"""
    F = torch.nn.functional
    x, y = classes(torch)
    weight = torch.nn.Parameter(torch.randn(3, 4))
    encoder = torch.nn.Linear(4, 4, bias=False)
    with torch.no_grad():
        encoder.weight.copy_(torch.eye(4))
        x[0] = 0
        x[0, 0] = 3.0
        weight[0] = 0
        weight[0, 0] = 1.0
    optimizer = torch.optim.SGD([weight, *encoder.parameters()], lr=0.1)
    for _ in range(5):
        cosine = F.normalize(encoder(x)) @ F.normalize(weight).T
        sine = torch.sqrt((1.0 - cosine**2).clamp(0, 1))  # bug
        sine = torch.sqrt((1.0 - cosine**2).clamp(1e-6, 1))  # fix
        phi = cosine * 0.878 - sine * 0.479
        logits = torch.where(F.one_hot(y, 3).bool(), phi, cosine) * 4
        optimizer.zero_grad()
        F.cross_entropy(logits, y).backward()  # here
        optimizer.step()
