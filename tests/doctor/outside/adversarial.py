"""Two networks against each other: terms that do not arrive, gradients that arrive where they should not."""

from __future__ import annotations

from tests.doctor.corpus.parts import perceptron


def rivals(torch, rate=0.01):
    """A generator, a discriminator, and an optimizer for each."""
    g, d = perceptron(torch, 3, 12, 2), perceptron(torch, 2, 12, 1)
    return g, d, torch.optim.Adam(g.parameters(), rate), torch.optim.Adam(d.parameters(), rate)


def adversarial_part_of_a_detached_fake(torch):
    """cut: of the generator's two terms one is taken of the detached fake, and does nothing for it.
    https://github.com/nikhilsinghmus/image2reverb/issues/37"""
    F = torch.nn.functional
    g, d, g_optimizer, d_optimizer = rivals(torch)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        noise, real = torch.randn(16, 3), torch.randn(16, 2) + 2
        fake = g(noise)
        g_optimizer.zero_grad()
        judged = d(fake.detach())  # bug
        judged = d(fake)  # fix
        adversarial = F.mse_loss(judged, one)  # here
        (adversarial + F.l1_loss(fake, real)).backward()  # here
        g_optimizer.step()  # here
        d_optimizer.zero_grad()
        loss = F.mse_loss(d(real), one) + F.mse_loss(d(fake.detach()), zero)
        loss.backward()
        d_optimizer.step()


def verdict_detached_in_the_generator_step(torch):
    """cut: the discriminator's verdict is detached, so the loss it enters cannot update anything.
    https://github.com/wangle53/CSA-CDGAN/issues/5"""
    F = torch.nn.functional
    g, d, g_optimizer, d_optimizer = rivals(torch)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real, fake = torch.randn(16, 2) - 1, g(torch.randn(16, 3))
        verdict = d(fake).detach()  # bug
        verdict = d(fake)  # fix
        error = F.binary_cross_entropy_with_logits(verdict, one)  # here
        loss = error + 5 * F.mse_loss(fake.mean(0), real.mean(0))  # here
        g_optimizer.zero_grad()
        loss.backward()  # here
        g_optimizer.step()  # here
        d_optimizer.zero_grad()
        judged = F.binary_cross_entropy_with_logits(d(real), one)
        judged = judged + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        judged.backward()
        d_optimizer.step()


def discriminator_cleared_by_nobody(torch):
    """accumulated: the step of the GAN clears the generator and not the discriminator.
    https://github.com/Adversarial-Deep-Learning/code-soup/issues/69"""
    F = torch.nn.functional
    g, d, g_optimizer, d_optimizer = rivals(torch)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)

    def step(real):
        d.zero_grad()  # fix
        F.binary_cross_entropy_with_logits(d(real), one).backward()  # here
        fake = g(torch.randn(16, 3))
        F.binary_cross_entropy_with_logits(d(fake.detach()), zero).backward()  # here
        d_optimizer.step()  # here
        g.zero_grad()
        error = F.binary_cross_entropy_with_logits(d(fake), one)
        error.backward()  # here
        g_optimizer.step()
        return error.item()

    for _ in range(15):
        step(torch.randn(16, 2) + 1)


def generator_loss_pushes_the_discriminator(torch):
    """accumulated: what the generator's loss leaves in the discriminator is used by its next step.
    https://github.com/GaParmar/img2img-turbo/issues/56"""
    F = torch.nn.functional
    g, d, g_optimizer, d_optimizer = rivals(torch)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(15):
        real, noise = torch.randn(16, 2) + 2, torch.randn(16, 3)
        fake = g(noise)
        F.binary_cross_entropy_with_logits(d(fake), one).backward()  # here
        g_optimizer.step()
        g_optimizer.zero_grad()
        d_optimizer.zero_grad()  # fix
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()  # here
        d_optimizer.step()  # here
        d_optimizer.zero_grad()


def penalty_without_a_graph(torch):
    """cut: the gradient penalty is computed without create_graph and trains nothing.
    https://github.com/ooples/AiDotNet/issues/1844"""
    g, d, g_optimizer, d_optimizer = rivals(torch, 0.001)
    for _ in range(20):
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3)).detach()
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        score = d(between).sum()
        slope = torch.autograd.grad(score, between)[0]  # bug
        slope = torch.autograd.grad(score, between, create_graph=True)[0]  # fix
        penalty = (slope.norm(2, dim=1) - 1).pow(2).mean()  # here
        loss = d(fake).mean() - d(real).mean() + 10 * penalty  # here
        d_optimizer.zero_grad()
        loss.backward()  # here
        d_optimizer.step()
        g_optimizer.zero_grad()
        (-d(g(torch.randn(16, 3))).mean()).backward()
        g_optimizer.step()


def probability_as_a_logit_in_the_discriminator(torch):
    """loss-input: the discriminator ends in a sigmoid and its loss takes another one.
    https://github.com/PaddlePaddle/Paddle/issues/22085"""
    nn, F = torch.nn, torch.nn.functional
    g = perceptron(torch, 3, 12, 2)
    d = nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1), nn.Sigmoid())  # bug
    d = nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))  # fix
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01, betas=(0.5, 0.999))
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(10):
        real, fake = torch.randn(16, 2), g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)  # here
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)  # here
        loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()  # here
        g_optimizer.step()


def attention_loss_detached(torch):
    """cut: the attention maps of the student are detached, so distilling them changes nothing.
    https://github.com/bboylyg/NAD/issues/8"""
    nn, F = torch.nn, torch.nn.functional

    def attention(features):
        return F.normalize(features.pow(2).mean(1).flatten(1))

    teacher = nn.Conv2d(1, 6, 3)
    body, head = nn.Conv2d(1, 6, 3), nn.Linear(6, 3)
    x, y = torch.randn(12, 1, 6, 6), torch.arange(12) % 3
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for _ in range(15):
        features = body(x)
        with torch.no_grad():
            wanted = attention(teacher(x))
        seen = attention(features).detach()  # bug
        seen = attention(features)  # fix
        distilled = (seen - wanted).pow(2).mean()  # here
        loss = F.cross_entropy(head(features.mean((2, 3))), y) + 100 * distilled  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def semantic_loss_of_a_detached_translation(torch):
    """cut: the semantic loss is taken of a translation that was detached to silence an error.
    https://github.com/jolibrain/joliGEN/pull/20"""
    F = torch.nn.functional
    generator, segmenter = perceptron(torch, 4, 12, 4), perceptron(torch, 4, 12, 3)
    x, y = torch.randn(24, 4), torch.arange(24) % 3
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    for p in segmenter.parameters():
        p.requires_grad_(False)
    for _ in range(15):
        optimizer.zero_grad()
        translated = generator(x)
        known = translated.detach()  # bug
        known = translated  # fix
        semantic = F.cross_entropy(segmenter(known), y)  # here
        (F.l1_loss(translated, x) + semantic).backward()  # here
        optimizer.step()  # here
