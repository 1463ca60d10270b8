"""Axes taken for others: classes for pixels, heads for positions, the batch for time."""

from __future__ import annotations

from tests.doctor.corpus.parts import classes, images, sentences, waves


def patches(torch, n=16, size=6, k=3):
    """Noisy images and a class for each of their pixels."""
    masks = torch.randint(k, (n, size, size))
    return masks.unsqueeze(1).float() + 0.1 * torch.randn(n, 1, size, size), masks


def fully_convolutional(torch, k=3):
    """A class score for each pixel: (n, k, rows, columns)."""
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, k, 1))


def pixels_distilled_in_the_wrong_rows(torch):
    """token-mixing: view(-1, C) of (N, C, W, H) takes C neighbouring pixels for the classes of one.
    https://github.com/irfanICMLL/structure_knowledge_distillation/issues/11"""
    F = torch.nn.functional
    x, masks = patches(torch)
    teacher, student = fully_convolutional(torch), fully_convolutional(torch)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    for _ in range(12):
        with torch.no_grad():
            wanted = teacher(x)
        scores = student(x)
        _, c, w, h = scores.shape
        soft = F.softmax(wanted.view(-1, c), dim=1)  # bug
        soft = F.softmax(wanted.permute(0, 2, 3, 1).reshape(-1, c), dim=1)  # fix
        logs = F.log_softmax(scores.view(-1, c), dim=1)  # bug
        logs = F.log_softmax(scores.permute(0, 2, 3, 1).reshape(-1, c), dim=1)  # fix
        loss = -(soft * logs).sum() / w / h  # here
        loss = loss + F.cross_entropy(scores, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def frames_scored_in_the_wrong_rows(torch):
    """token-mixing: (batch, class, frame) is reshaped to (-1, class) as it lies, after its log_softmax.
    https://github.com/weirme/FCSN/issues/32"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(6, 5, 20)
    labels = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Conv1d(5, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 2, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        score = model(x)
        log_p = torch.log_softmax(score, dim=1).reshape(-1, 2)  # bug
        log_p = torch.log_softmax(score, dim=1).permute(0, 2, 1).reshape(-1, 2)  # fix
        loss = F.nll_loss(log_p, labels.flatten())  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def probabilities_viewed_as_an_image(torch):
    """token-mixing: (batch, pixels, classes) is viewed as (batch, classes, rows, columns).
    https://github.com/yihong-97/Source-free-IAPC/pull/6"""
    nn, F = torch.nn, torch.nn.functional
    x, masks = patches(torch)
    features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
    prototypes = nn.Linear(8, 3)
    model = nn.ModuleList([features, prototypes])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        points = features(x).flatten(2).transpose(1, 2)
        scores = prototypes(points)
        b, _, c = scores.shape
        scores = scores.contiguous().view(b, c, 6, 6)  # bug
        scores = scores.view(b, 6, 6, c).permute(0, 3, 1, 2)  # fix
        loss = F.cross_entropy(scores, masks)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def heads_spliced_into_time(torch):
    """token-mixing: the heads are viewed back into the width without a transpose before it.
    https://github.com/meta-pytorch/opacus/pull/825"""
    nn, F = torch.nn, torch.nn.functional

    class Decoder(nn.Module):
        def __init__(self, width=12, heads=3):
            super().__init__()
            self.embed, self.place = nn.Embedding(11, width), nn.Embedding(6, width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 11)
            self.heads = heads

        def forward(self, tokens):
            x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1]))
            b, t, e = x.shape
            parts = self.qkv(x).view(b, t, 3, self.heads, e // self.heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            mixed = mixed.contiguous().view(b, t, e)  # bug
            mixed = mixed.transpose(1, 2).reshape(b, t, e)  # fix
            return self.out(mixed)  # here

    source, target = sentences(torch)
    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        loss = F.cross_entropy(model(source).flatten(0, 1), target.flatten())  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def windows_attend_to_each_other(torch):
    """sample-mixing: windows are laid out batch first for an attention that takes the sequence first.
    https://github.com/aipixel/AEMatter/issues/3"""
    nn, F = torch.nn, torch.nn.functional

    class Windowed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(1, 8)
            self.attend = nn.MultiheadAttention(8, 2)  # bug
            self.attend = nn.MultiheadAttention(8, 2, batch_first=True)  # fix
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            h = self.embed(x)
            mixed, _ = self.attend(h, h, h, need_weights=False)  # here
            return self.out(h + mixed)

    x, y = waves(torch)
    model = Windowed()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        loss = F.mse_loss(model(x), y)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def encoder_of_detections_across_the_batch(torch):
    """sample-mixing: the attention of an encoder layer of one's own is not told that the batch is first.
    https://github.com/om-ai-lab/OmDet/issues/19"""
    nn, F = torch.nn, torch.nn.functional

    class EncoderLayer(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.attention = nn.MultiheadAttention(width, 2)  # bug
            self.attention = nn.MultiheadAttention(width, 2, batch_first=True)  # fix
            self.norm, self.mlp = nn.LayerNorm(width), nn.Linear(width, width)

        def forward(self, x):
            x = self.norm(x + self.attention(x, x, x)[0])  # here
            return x + torch.relu(self.mlp(x))

    x, y = images(torch, n=12)
    stem, encoder, head = nn.Conv2d(1, 8, 2, stride=2), EncoderLayer(), nn.Linear(8, 3)
    model = nn.ModuleList([stem, encoder, head])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        tokens = stem(x).flatten(2).transpose(1, 2)
        loss = F.cross_entropy(head(encoder(tokens).mean(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def frames_attend_over_the_batch(torch):
    """sample-mixing: MultiheadAttention's default layout is (length, batch, width), the frames' is not.
    https://github.com/kyegomez/movie-gen/issues/8"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(10, 7, 8)
    y = x.cumsum(1)[..., :1]
    attention = nn.MultiheadAttention(8, 4)  # bug
    attention = nn.MultiheadAttention(8, 4, batch_first=True)  # fix
    out = nn.Linear(8, 1)
    model = nn.ModuleDict({"attention": attention, "out": out})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        mixed, _ = attention(x, x, x)  # here
        loss = F.mse_loss(out(mixed), y)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def embeddings_normalized_by_the_whole_batch(torch):
    """sample-mixing: l2-normalization without an axis divides by the norm of all embeddings together.
    https://github.com/tensorflow/similarity/issues/237"""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch, n=24)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        za = model(x + 0.1 * torch.randn(24, 4))
        zb = model(x + 0.1 * torch.randn(24, 4))
        za, zb = za / za.norm(), zb / zb.norm()  # bug
        za, zb = F.normalize(za, dim=-1), F.normalize(zb, dim=-1)  # fix
        loss = F.cross_entropy(za @ zb.t() / 0.5, torch.arange(24))  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
