"""Adversaries, autoencoders, flows and diffusion whose terms fight each other or the wrong thing."""

from __future__ import annotations

import math


def critic_and_generator_pull_the_same_way(torch):
    """labels-swapped: fakes are "true" for the discriminator and for the generator, which it then helps. The
    source shows it: both losses of a fake have the same target.
    https://github.com/https-deeplearning-ai/GANs-Public/issues/1"""
    nn, F = torch.nn, torch.nn.functional

    class Loss(nn.Module):
        def adv_loss(self, x, is_real):
            target = torch.zeros_like(x) if is_real else torch.ones_like(x)  # bug
            target = torch.ones_like(x) if is_real else torch.zeros_like(x)  # fix
            return F.binary_cross_entropy_with_logits(x, target)  # here

        def forward(self, generator, discriminator, real, noise):
            fake = generator(noise)
            fake_preds_for_g = discriminator(fake)
            fake_preds_for_d = discriminator(fake.detach())
            real_preds_for_d = discriminator(real)
            g_loss = self.adv_loss(fake_preds_for_g, False)  # bug
            g_loss = self.adv_loss(fake_preds_for_g, True)  # fix
            d_loss = 0.5 * (
                self.adv_loss(real_preds_for_d, True) + self.adv_loss(fake_preds_for_d, False)
            )
            return g_loss, d_loss, fake

    generator = nn.Linear(1, 1)
    discriminator = nn.Sequential(nn.Linear(1, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.9))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.02, betas=(0.5, 0.9))
    loss_fn, means = Loss(), []
    for _step in range(600):
        real = 2.5 + 0.5 * torch.randn(64, 1)
        g_loss, d_loss, fake = loss_fn(generator, discriminator, real, torch.randn(64, 1))

        g_optimizer.zero_grad()
        g_loss.backward()
        d_optimizer.zero_grad()
        d_loss.backward()
        g_optimizer.step()
        d_optimizer.step()
        means.append(fake.mean().item())
    return abs(sum(means[-200:]) / 200 - 2.5) < 1.0


def feature_matching_on_the_discriminators_fakes(torch):
    """cut: the vocoder's feature matching reads the features that were made of detached sound. The run
    shows it: the term has no gradient with regard to any weight of the generator.
    https://github.com/rishikksh20/TFGAN/issues/7"""
    nn, F = torch.nn, torch.nn.functional

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(1, 12, 5, padding=2)
            self.post = nn.Conv1d(12, 1, 3, padding=1)

        def forward(self, wave):
            feature = F.leaky_relu(self.conv(wave), 0.2)
            return feature, self.post(feature)

    n = 8
    mel = torch.randn(n, 4)
    t = torch.linspace(0, 6.28, 24)
    audio = (mel[:, :1] * torch.sin(t) + mel[:, 1:2] * torch.cos(t)).unsqueeze(1)
    netg = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 24))
    netd = Discriminator()
    optim_g = torch.optim.Adam(netg.parameters(), lr=5e-3)
    optim_d = torch.optim.Adam(netd.parameters(), lr=1e-4)

    for _ in range(150):
        fake_audio = netg(mel).unsqueeze(1)

        # Discriminator
        optim_d.zero_grad()
        disc_real = netd(audio)
        disc_fake = netd(fake_audio.detach())
        loss_d = ((disc_real[1] - 1) ** 2).mean() + (disc_fake[1] ** 2).mean()
        loss_d.backward()
        optim_d.step()

        # how well it tells them apart now
        disc_real = [out.detach() for out in netd(audio)]
        disc_fake = netd(fake_audio.detach())
        gap = (disc_real[1].mean() - disc_fake[1].mean()).item()

        # Generator
        optim_g.zero_grad()
        disc_fake_g = netd(fake_audio)
        adv_loss = ((disc_fake_g[1] - 1) ** 2).mean()
        feat_loss = F.l1_loss(disc_fake[0], disc_real[0])  # bug
        feat_loss = F.l1_loss(disc_fake_g[0], disc_real[0])  # fix
        (0.1 * adv_loss + 10 * feat_loss).backward()  # here
        optim_g.step()
    print(f"gap {gap:.3f} features {feat_loss.item():.3f}")
    with torch.no_grad():
        return F.mse_loss(netg(mel).unsqueeze(1), audio).item() < 0.25 * audio.var().item()


def penalty_of_single_pixels(torch):
    """norm-of-wrong-axis: the penalty takes the norm over the channel of a picture, so each pixel's gradient
    is drawn to 1, not the sample's. The run shows it: the norms have one value a pixel.
    https://github.com/Zeleni9/pytorch-wgan/issues/40"""
    nn, autograd = torch.nn, torch.autograd

    class WGANGP:
        def __init__(self):
            self.D = nn.Sequential(
                nn.Flatten(), nn.Linear(36, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
            )
            self.d_optimizer = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.5, 0.9))
            self.lambda_term, self.batch_size = 10, 16

        def calculate_gradient_penalty(self, real_images, fake_images):
            eta = torch.rand(self.batch_size, 1, 1, 1).expand(self.batch_size, 1, 6, 6)
            interpolated = (eta * real_images + (1 - eta) * fake_images).requires_grad_(True)
            prob = self.D(interpolated)
            gradients = autograd.grad(
                outputs=prob,
                inputs=interpolated,
                grad_outputs=torch.ones_like(prob),
                create_graph=True,
                retain_graph=True,
            )[0]
            norms = gradients.norm(2, dim=1)  # bug
            norms = gradients.view(gradients.shape[0], -1).norm(2, dim=1)  # fix
            self.slope = gradients.detach().flatten(1).norm(dim=1).mean().item()
            return ((norms - 1) ** 2).mean() * self.lambda_term  # here

        def train(self, iterations):
            slopes = []
            for _ in range(iterations):
                images = 0.3 * torch.randn(self.batch_size, 1, 6, 6)
                images[:, :, 2] += 1.0
                fake = 0.3 * torch.randn(self.batch_size, 1, 6, 6)
                self.d_optimizer.zero_grad()
                penalty = self.calculate_gradient_penalty(images, fake)
                (self.D(fake).mean() - self.D(images).mean() + penalty).backward()
                self.d_optimizer.step()
                slopes.append(self.slope)
            return sum(slopes[-20:]) / 20

    return 0.5 < WGANGP().train(250) < 1.6


def denoiser_compared_with_the_noisy_sample(torch):
    """wrong-target: the predicted noise is compared with the noisy sample. The run shows it: the target holds
    the input itself, so that the best network is one that hands it back.
    https://github.com/EDAPINENUT/GNTPP/issues/5"""
    nn = torch.nn

    class GaussianDiffusion(nn.Module):
        def __init__(self, denoise_fn, steps=20):
            super().__init__()
            self.denoise_fn, self.steps = denoise_fn, steps
            betas = torch.linspace(0.01, 0.3, steps)
            bars = torch.cumprod(1 - betas, 0)
            self.register_buffer("signal", bars.sqrt().unsqueeze(1))
            self.register_buffer("sigma", (1 - bars).sqrt().unsqueeze(1))

        def q_sample(self, x_start, t, noise):
            return self.signal[t] * x_start + self.sigma[t] * noise

        def p_losses(self, x_start, t, noise=None):
            noise = torch.randn_like(x_start) if noise is None else noise
            x_noisy = self.q_sample(x_start, t, noise)
            level = t.unsqueeze(1) / self.steps
            x_recon = self.denoise_fn(torch.cat([x_noisy, level], 1))
            self.error = (noise - x_recon).detach().pow(2).mean().item()
            return torch.square(x_noisy - x_recon).mean()  # bug
            return torch.square(noise - x_recon).mean()  # fix

    denoise_fn = nn.Sequential(
        nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1)
    )
    diffusion = GaussianDiffusion(denoise_fn)
    optim, errors = torch.optim.Adam(denoise_fn.parameters(), lr=5e-3), []
    for _ in range(300):
        arrivals = 3.0 * (torch.rand(64, 1) > 0.5).float() - 1.5 + 0.05 * torch.randn(64, 1)
        t = torch.randint(0, diffusion.steps, (64,))
        loss = diffusion.p_losses(arrivals, t)
        optim.zero_grad()
        loss.backward()
        optim.step()
        errors.append(diffusion.error)
    return sum(errors[-30:]) / 30 < 0.45


def divergence_of_a_graph_code_without_the_square(torch):
    """term-miswritten: the divergence takes exp(logstd) where the variance belongs. The source shows it: the
    codes are drawn with exp(logstd) as their deviation.
    https://github.com/DaehanKim/vgae_pytorch/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    n = 16
    block = (torch.arange(n) % 2).float()
    adj = (block.unsqueeze(0) == block.unsqueeze(1)).float()
    adj_norm = adj / adj.sum(1, keepdim=True)

    class VGAE(nn.Module):
        def __init__(self, features, hidden, code):
            super().__init__()
            self.base = nn.Linear(features, hidden, bias=False)
            self.gcn_mean = nn.Linear(hidden, code, bias=False)
            self.gcn_logstd = nn.Linear(hidden, code)

        def encode(self, x):
            hidden = torch.tanh(adj_norm @ self.base(x))
            self.mean = adj_norm @ self.gcn_mean(hidden)
            self.logstd = adj_norm @ self.gcn_logstd(hidden)
            return self.mean + torch.randn_like(self.mean) * torch.exp(self.logstd)

        def forward(self, x):
            z = self.encode(x)
            return torch.sigmoid(0.05 * z @ z.t())

    model = VGAE(4, 8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x = torch.randn(n, 4)
    for _epoch in range(250):
        a_pred = model(x)
        optimizer.zero_grad()
        loss = F.binary_cross_entropy(a_pred.view(-1), adj.view(-1))
        var = torch.exp(model.logstd)  # bug
        var = torch.exp(model.logstd) ** 2  # fix
        inner = 1 + 2 * model.logstd - model.mean**2 - var  # here
        kl_divergence = 0.5 * inner.sum(1).mean()
        loss = loss - kl_divergence
        loss.backward()
        optimizer.step()
    # the prior has a deviation of one, and pays far more than the reconstruction
    return abs(math.log(model.logstd.detach().exp().mean().item())) < 0.3


def annealing_restarted_by_each_batch(torch):
    """annealing-undone: the weight of the divergence is put back to its start after every batch of the epoch in
    which the cycle begins. The source shows it: what asks for the epoch stands in the loop over batches.
    https://github.com/valdersoul/bn-vae/issues/1"""
    nn = torch.nn
    epochs, cycle, kl_start, anneal_rate = 6, 2, 0.1, 0.06
    data = torch.randn(40, 6) @ torch.randn(6, 6)
    enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.01)
    kl_weight, at_the_end = kl_start, []

    for epoch in range(epochs):
        report_kl_loss = report_rec_loss = 0.0
        if cycle > 0 and (epoch - 1) % cycle == 0:  # fix
            kl_weight = kl_start  # fix
        for i in torch.randperm(8).tolist():
            batch_data = data[i * 5 : i * 5 + 5]
            kl_weight = min(1.0, kl_weight + anneal_rate)  # here
            if cycle > 0 and (epoch - 1) % cycle == 0:  # bug
                kl_weight = kl_start  # bug

            mu, logvar = enc(batch_data).chunk(2, 1)
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
            rec = ((dec(z) - batch_data) ** 2).sum(1).mean()
            kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
            opt.zero_grad()
            (rec + kl_weight * kl).backward()
            opt.step()
            report_rec_loss += rec.item()
            report_kl_loss += kl.item()
        print(f"epoch {epoch} rec {report_rec_loss / 8:.3f} kl {report_kl_loss / 8:.3f}")
        at_the_end.append(kl_weight)
    return min(at_the_end) > 0.5


def beta_taken_and_left_unused(torch):
    """setting-ignored: the β of the β-VAE is kept and multiplies nothing. The source shows it: the attribute
    that the constructor sets is read nowhere.
    https://github.com/AlexanderVNikitin/tsgm/issues/69"""
    nn = torch.nn

    class BetaVAE(nn.Module):
        def __init__(self, length, latent_dim, beta=1.0):
            super().__init__()
            self.beta = beta
            self.encoder = nn.Sequential(
                nn.Linear(length, 24), nn.Tanh(), nn.Linear(24, 2 * latent_dim)
            )
            self.decoder = nn.Sequential(
                nn.Linear(latent_dim, 24), nn.Tanh(), nn.Linear(24, length)
            )

        def train_step(self, data, optimizer):
            z_mean, z_log_var = self.encoder(data).chunk(2, dim=1)
            z = z_mean + torch.exp(0.5 * z_log_var) * torch.randn_like(z_mean)
            reconstruction_loss = (self.decoder(z) - data).pow(2).sum(1).mean()
            kl_loss = -0.5 * (1 + z_log_var - z_mean.pow(2) - z_log_var.exp()).sum(1).mean()
            total_loss = reconstruction_loss + kl_loss  # bug
            total_loss = reconstruction_loss + self.beta * kl_loss  # fix
            optimizer.zero_grad()
            total_loss.backward()
            optimizer.step()
            return {"loss": total_loss.item(), "kl_loss": kl_loss.item()}

    phase = torch.rand(64, 1) * 6.28
    series = torch.sin(torch.linspace(0, 6.28, 12) + phase)
    vae = BetaVAE(12, latent_dim=3, beta=30.0)
    optimizer = torch.optim.Adam(vae.parameters(), lr=5e-3)
    history = []
    for epoch in range(60):
        for batch in series[torch.randperm(64)].split(16):
            metrics = vae.train_step(batch, optimizer)
        history.append(metrics)
        if epoch % 20 == 19:
            print(epoch, metrics)
    # with so strong a beta the posterior has nothing left to say
    return history[-1]["kl_loss"] < 0.2


def density_of_the_inverse_with_the_sign_of_the_forward(torch):
    """term-miswritten: the inverse pass gives the log-determinant of the forward one. The source shows it: one
    divides by exp(a), the other multiplies, and both return the same sign.
    https://github.com/ikostrikov/pytorch-flows/issues/16"""
    nn = torch.nn

    class Affine(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.m = nn.Parameter(torch.zeros(dim))
            self.a = nn.Parameter(torch.zeros(dim))

        def forward(self, inputs, mode="direct"):
            a = self.a.expand_as(inputs)
            if mode == "direct":
                u = (inputs - self.m) * torch.exp(-a)
                return u, -a.sum(-1, keepdim=True)
            x = inputs * torch.exp(a) + self.m
            return x, -a.sum(-1, keepdim=True)  # bug
            return x, a.sum(-1, keepdim=True)  # fix

    def log_target(x):
        return -0.5 * (((x - 1.0) / 2.0) ** 2).sum(-1, keepdim=True)

    flow = Affine(2)
    optimizer = torch.optim.Adam(flow.parameters(), lr=0.02)
    for step in range(400):
        u = torch.randn(64, 2)
        x, log_jacob = flow(u, mode="inverse")
        log_q = -0.5 * (u**2).sum(-1, keepdim=True) - log_jacob
        loss = (log_q - log_target(x)).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, loss.item())
    width = flow.a.detach().exp().mean().item()
    return abs(width - 2.0) < 0.4
