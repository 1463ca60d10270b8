"""Right gradients of modules with states, randomness, lookups, recurrence and normalisation."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, filled, right, tensor


@right("module")
def multilayer_perceptron(torch: Any) -> Check:
    """Three layers with all their parameters."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.SiLU(), nn.Linear(4, 2))
    return Check(filled(net, torch), draw(torch, 2, 3))


@right("module")
def dropout_in_training(torch: Any) -> Check:
    """Dropout with the same random numbers in every run."""
    torch.manual_seed(3)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 2))
    return Check(filled(net, torch).train(), draw(torch, 2, 3))


@right("module")
def batch_norm_in_training(torch: Any) -> Check:
    """Batch norm while training: running statistics move with every run."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
    return Check(filled(net, torch).train(), draw(torch, 5, 3))


@right("module")
def batch_norm_in_evaluation(torch: Any) -> Check:
    """Batch norm with running statistics."""
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ELU())
    return Check(filled(net, torch).eval(), draw(torch, 2, 1, 3, 3))


@right("module")
def long_short_term_memory(torch: Any) -> Check:
    """An LSTM over three steps."""
    return Check(filled(torch.nn.LSTM(2, 3), torch), draw(torch, 3, 1, 2))


@right("module")
def gated_recurrent_unit(torch: Any) -> Check:
    """A GRU, both ways."""
    return Check(filled(torch.nn.GRU(2, 2, bidirectional=True), torch), draw(torch, 2, 2, 2))


@right("module")
def multi_head_attention(torch: Any) -> Check:
    """Attention with two heads."""

    class SelfAttention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    return Check(filled(SelfAttention(), torch), draw(torch, 1, 3, 4))


@right("module")
def transformer_layer(torch: Any) -> Check:
    """An encoder layer in evaluation."""
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    return Check(filled(layer, torch), draw(torch, 1, 2, 4))


@right("module")
def bag_of_embeddings(torch: Any) -> Check:
    """Words in two bags, one word twice."""
    bag = filled(torch.nn.EmbeddingBag(5, 3, mode="mean"), torch)
    return Check(bag, torch.tensor([0, 3, 3, 4]), torch.tensor([0, 2]))


@right("module")
def embedding_with_padding(torch: Any) -> Check:
    """An embedding whose padding row gets no gradient; no padding is among the words here."""
    return Check(
        filled(torch.nn.Embedding(5, 2, padding_idx=0), torch), torch.tensor([[1, 2], [4, 4]])
    )


@right("module")
def cross_entropy_with_ignored_rows(torch: Any) -> Check:
    """Rows with the label -100 do not count."""
    target = torch.tensor([1, -100, 0])
    weight = tensor(torch, [0.2, 1.0, 3.0], requires_grad=False)

    def loss(logits):
        return torch.nn.functional.cross_entropy(
            logits, target, weight=weight, ignore_index=-100, label_smoothing=0.1
        )

    return Check(loss, draw(torch, 3, 3))


@right("module")
def convolutions(torch: Any) -> Check:
    """Strided, dilated and grouped convolution, and its transpose."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2),
        nn.GroupNorm(2, 4),
        nn.ConvTranspose2d(4, 1, 2, stride=2),
    )
    return Check(filled(net, torch), draw(torch, 1, 2, 4, 4))


@right("module")
def sampled_image(torch: Any) -> Check:
    """grid_sample between the pixels."""

    def sample(image, grid):
        return torch.nn.functional.grid_sample(image, grid, align_corners=False)

    return Check(sample, draw(torch, 1, 1, 3, 3), draw(torch, 1, 2, 2, 2, low=-0.9, high=0.9))


@right("module")
def resized_image(torch: Any) -> Check:
    """Bicubic and bilinear resizing."""
    F = torch.nn.functional

    def resize(x):
        return F.interpolate(x, size=(5, 5), mode="bicubic", align_corners=True), F.interpolate(
            x, scale_factor=2, mode="bilinear", align_corners=False
        )

    return Check(resize, draw(torch, 1, 1, 3, 3))


@right("module")
def tied_weights(torch: Any) -> Check:
    """One matrix embeds and scores."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(4, 3)
            self.score = torch.nn.Linear(3, 4, bias=False)
            self.score.weight = self.embed.weight

        def forward(self, token):
            return self.score(self.embed(token).tanh())

    return Check(filled(Tied(), torch), torch.tensor([0, 2, 2]))


@right("module")
def frozen_layer(torch: Any) -> Check:
    """The first layer needs no gradient, on purpose."""
    nn = torch.nn
    net = filled(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)), torch)
    net[0].requires_grad_(False)
    return Check(net, draw(torch, 2, 3))


@right("module")
def weight_normalised(torch: Any) -> Check:
    """A weight computed from two parameters in every call."""
    from importlib import import_module

    parametrizations = import_module(f"{torch.__name__}.nn.utils.parametrizations")
    layer = parametrizations.weight_norm(filled(torch.nn.Linear(3, 2), torch))
    return Check(layer, draw(torch, 2, 3))


@right("module")
def noise_drawn_inside(torch: Any) -> Check:
    """The reparametrised sample of a variational encoder, with the same noise in every run."""
    torch.manual_seed(5)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.both = torch.nn.Linear(3, 4)

        def forward(self, x):
            mean, log_variance = self.both(x).chunk(2, -1)
            return mean + (0.5 * log_variance).exp() * torch.randn_like(mean)

    return Check(filled(Encoder(), torch), draw(torch, 2, 3))


@right("module")
def losses_of_every_kind(torch: Any) -> Check:
    """Smooth L1, KL, cosine, Poisson and Gaussian losses away from their kinks."""
    F = torch.nn.functional

    def losses(a, b):
        return (
            F.smooth_l1_loss(a, b),
            F.kl_div(a.log_softmax(-1), b.softmax(-1), reduction="batchmean"),
            F.cosine_similarity(a, b),
            F.poisson_nll_loss(a, b.abs()),
            F.gaussian_nll_loss(a, b, b.exp()),
        )

    return Check(losses, draw(torch, 2, 3), draw(torch, 2, 3, seed=1))
