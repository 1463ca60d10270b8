"""Gradients that end on the way: through a codebook, a conversion, a constraint, a second pass."""

from __future__ import annotations

from tests.doctor.corpus.parts import regression, waves


def codebook_loss_of_the_straight_through_output(torch):
    """cut: the codebook stands only inside detach(), so the loss that should move it cannot.
    https://github.com/showlab/Olaf-World/issues/8"""
    nn, F = torch.nn, torch.nn.functional

    class Quantized(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(4, 3), nn.Linear(3, 4)
            self.codebook = nn.Embedding(6, 3)

        def forward(self, x):
            z_e = self.encode(x)
            index = torch.cdist(z_e, self.codebook.weight).argmin(1)
            z = self.codebook(index)
            z_q = z_e + (z - z_e).detach()  # here
            codebook_loss = F.mse_loss(z_q, z_e.detach())  # bug
            codebook_loss = F.mse_loss(z, z_e.detach())  # fix
            commitment = F.mse_loss(z_e, z.detach())
            return self.decode(z_q), codebook_loss + 0.25 * commitment  # here

    x = torch.randn(32, 4)
    model = Quantized()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        out, quantization = model(x)
        optimizer.zero_grad()
        (F.mse_loss(out, x) + quantization).backward()  # here
        optimizer.step()  # here


def embeddings_returned_detached(torch):
    """cut: the quantizer returns its embeddings detached, so they have no gradient in its own loss.
    https://github.com/EdoardoBotta/RQ-VAE-Recommender/issues/24"""
    nn, F = torch.nn, torch.nn.functional

    class Level(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)

        def forward(self, x):
            chosen = self.embedding(torch.cdist(x, self.embedding.weight).argmin(1))
            through = x + (chosen - x).detach()
            return through, chosen.detach()  # bug
            return through, chosen  # fix

    x = torch.randn(32, 4)
    encoder, decoder, level = nn.Linear(4, 3), nn.Linear(3, 4), Level()
    model = nn.ModuleList([encoder, decoder, level])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        residual = encoder(x)
        through, chosen = level(residual)
        loss = F.mse_loss(decoder(through), x)
        loss = loss + F.mse_loss(residual.detach(), chosen) + F.mse_loss(residual, chosen.detach())
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here


def constraint_under_no_grad(torch):
    """cut: the kernel is clamped under no_grad in forward, and the clamped copy is what is used.
    https://github.com/denfed/leaf-audio-pytorch/issues/3"""
    nn, F = torch.nn, torch.nn.functional

    class Gabor(nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel, self.out = nn.Parameter(torch.randn(4, 1, 5) * 0.3), nn.Linear(4, 1)

        def forward(self, x):
            with torch.no_grad():  # bug
                kernel = self.kernel.clamp(-1.0, 1.0)  # bug
            kernel = self.kernel.clamp(-1.0, 1.0)  # fix
            features = torch.relu(F.conv1d(x.transpose(1, 2), kernel, padding=2))  # here
            return self.out(features.transpose(1, 2))

    x, y = waves(torch)
    model = Gabor()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def layer_computed_in_numpy(torch):
    """cut: the forward of one layer goes through NumPy and back.
    https://github.com/ligerlac/torchlogix/pull/17"""
    nn = torch.nn

    class Logic(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            h = torch.tanh(self.first(x))
            h = torch.from_numpy(h.detach().numpy() * 2)  # bug
            h = h * 2  # fix
            return self.last(h)

    x, y = regression(torch)
    model = Logic()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def input_made_a_tensor_twice(torch):
    """cut: each layer casts its input to a tensor again, and the second cast cuts the first layer off.
    https://github.com/brendanhasz/probflow/pull/65"""
    nn = torch.nn

    class Dense(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.linear = nn.Linear(a, b)

        def forward(self, x):
            x = torch.tensor(x.tolist())  # bug
            return torch.tanh(self.linear(x))

    x, y = regression(torch)
    model = nn.Sequential(Dense(4, 16), Dense(16, 8), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def residual_levels_whose_commitment_is_zero(torch):
    """zero-for-ever: the second level quantizes what the first passed straight through: its loss is constant.
    https://github.com/facebookresearch/encodec/issues/25"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(32, 4)
    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
    gain = nn.Parameter(torch.ones(3))
    books = [torch.randn(6, 3), 0.3 * torch.randn(6, 3)]
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), gain], lr=0.01)
    for _ in range(15):
        z = encoder(x)
        residual, out, commitment = z, 0.0, 0.0
        for i, book in enumerate(books):
            residual = residual * gain if i else residual  # here
            chosen = book[torch.cdist(residual.detach(), book).argmin(1)]
            commitment = commitment + F.mse_loss(residual, chosen)
            through = residual + (chosen - residual).detach()
            residual = (residual - through).detach() + 0 * residual  # bug
            residual = residual - through.detach()  # fix
            out = out + through
        optimizer.zero_grad()
        (F.mse_loss(decoder(out), x) + commitment).backward()  # here
        optimizer.step()  # here
