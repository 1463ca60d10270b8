"""VAE: a variational autoencoder learns what handwritten digits look like, and draws some.

The encoder gives a normal distribution for each image, a draw from it goes through the decoder, and
the loss is the reconstruction's plus the divergence of the distribution from a standard normal.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from shared import digits, options, progress, report
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


class Autoencoder(nn.Module):
    """Maps images of 64 pixels to a few numbers, and back."""

    def __init__(self, hidden: int, latent: int) -> None:
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, 64))

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        hidden = self.encoder(images)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        drawn = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(drawn), mean, log_variance

    @torch.no_grad()
    def draw(self, count: int) -> torch.Tensor:
        """Generate new images from random numbers."""
        return torch.sigmoid(self.decoder(torch.randn(count, self.latent))).view(count, 8, 8)


def losses(model: Autoencoder, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Per image: the reconstruction's loss, and the divergence from the standard normal."""
    scores, mean, log_variance = model(images)
    reconstruction = F.binary_cross_entropy_with_logits(scores, images, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return reconstruction / len(images), divergence / len(images)


def as_text(images: torch.Tensor) -> str:
    """Images side by side, each pixel a character."""
    shades = " .:-=+*#%@"
    levels = (images * (len(shades) - 1)).round().long()
    rows = levels.permute(1, 0, 2).tolist()
    return "\n".join("  ".join("".join(shades[p] for p in image) for image in row) for row in rows)


def main() -> None:
    parser = options(__doc__, steps=1000, every=100)
    parser.add_argument("--latent", type=int, default=6, help="numbers per image; default: 6")
    parser.add_argument("--draw", type=int, default=6, help="images to draw; default: 6")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, _, test_images, _ = digits()
    data = TensorDataset(images.flatten(1))
    sampler = RandomSampler(data, replacement=True, num_samples=64 * chosen.steps)
    loader = DataLoader(data, batch_size=64, sampler=sampler)

    model = Autoencoder(hidden=128, latent=chosen.latent)
    print(model)
    optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
    for step, (batch,) in zip(progress(1, chosen.steps), loader, strict=True):
        optimizer.zero_grad()
        reconstruction, divergence = losses(model, batch)
        loss = reconstruction + divergence
        loss.backward()
        optimizer.step()
        if step % chosen.every == 0:
            parts = {"reconstruction": reconstruction.item(), "divergence": divergence.item()}
            report(step, loss=loss.item(), **parts)

    with torch.no_grad():
        reconstruction, divergence = losses(model, test_images.flatten(1))
    print(f"test loss {(reconstruction + divergence).item():.4f}")
    print(as_text(model.draw(chosen.draw)))


if __name__ == "__main__":
    main()
