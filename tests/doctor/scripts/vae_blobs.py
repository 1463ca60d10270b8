"""A variational autoencoder for small binary images: the sigmoid is taken twice."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

SIDE = 8
PIXELS = SIDE * SIDE


def blobs(n):
    """Filled squares at random places."""
    images = torch.zeros(n, SIDE, SIDE)
    for i in range(n):
        x, y = torch.randint(0, SIDE - 3, (2,)).tolist()
        images[i, y : y + 3, x : x + 3] = 1.0
    return images.view(n, PIXELS)


class VAE(nn.Module):
    """Gaussian latent variables, Bernoulli pixels."""

    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 64),
            nn.ReLU(),
            nn.Linear(64, PIXELS),
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        return torch.sigmoid(self.decoder(z))  # bug
        return self.decoder(z)  # fix

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(reconstruction, x, mu, logvar):
    """The negative evidence lower bound, per image."""
    bce = F.binary_cross_entropy_with_logits(reconstruction, x, reduction="sum")  # here
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / x.size(0)


loader = DataLoader(TensorDataset(blobs(256)), batch_size=32, shuffle=True)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for (x,) in loader:
        reconstruction, mu, logvar = model(x)
        loss = vae_loss(reconstruction, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
    print(f"epoch {epoch}: loss {total / 256:.3f}")

model.eval()
with torch.no_grad():
    samples = model.decode(torch.randn(16, 4))
print("a sample's pixels lie between", samples.min().item(), "and", samples.max().item())
