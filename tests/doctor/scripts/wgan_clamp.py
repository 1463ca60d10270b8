"""A Wasserstein GAN on one dimension: the critic's weights are clamped into variables that nobody reads.

Asked in forums about WGAN weights that stay unclipped; the loop variable is bound anew.
"""

import torch
from torch import nn

torch.manual_seed(0)
CLAMP, CRITIC_STEPS = 0.05, 3


def real(n):
    """Two bumps."""
    side = (torch.rand(n, 1) < 0.5).float() * 4 - 2
    return side + 0.3 * torch.randn(n, 1)


class Generator(nn.Module):
    def __init__(self, noise=4):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, n):
        return self.net(torch.randn(n, self.noise))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


generator, critic = Generator(), Critic()
g_optimizer = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
c_optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-4)

for step in range(30):
    for _ in range(CRITIC_STEPS):
        with torch.no_grad():
            fake = generator(64)
        c_loss = critic(fake).mean() - critic(real(64)).mean()
        c_optimizer.zero_grad()
        c_loss.backward()
        c_optimizer.step()
        with torch.no_grad():
            for p in critic.parameters():
                p = p.clamp(-CLAMP, CLAMP)  # bug
                p.clamp_(-CLAMP, CLAMP)  # fix

    for p in critic.parameters():
        p.requires_grad_(False)
    g_loss = -critic(generator(64)).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    if step % 10 == 9:
        print(f"step {step}: critic {c_loss.item():.4f}, generator {g_loss.item():.4f}")
