"""What a loss should not have: tokens to come, padding, a class left out, a divergence that grows."""

from __future__ import annotations

from tests.doctor.corpus.parts import sentences


def decoder(torch, attend, width=12):
    """Embedding and place, the given attention, and a layer of scores."""
    nn = torch.nn

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.place = nn.Embedding(11, width), nn.Embedding(8, width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 11)

        def forward(self, tokens):
            x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1]))
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            return self.out(x + attend(q, k, v))

    return Decoder()


def causal_only_on_the_fused_path(torch):
    """token-leak: the mask is left to the fused kernel; with dropout the other path runs, without one.
    https://github.com/keras-team/keras/issues/23038"""
    F = torch.nn.functional

    def attend(q, k, v, dropout=0.1):
        mask = None
        mask = torch.triu(torch.ones(q.shape[1], q.shape[1], dtype=torch.bool), 1)  # fix
        if dropout == 0:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5  # here
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return torch.softmax(scores, -1) @ v  # here

    source, target = sentences(torch)
    model = decoder(torch, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        scores = model(source)  # here
        loss = F.cross_entropy(scores.flatten(0, 1), target.flatten())  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def causal_flag_lost_with_the_slice(torch):
    """token-leak: the mask that is cut to the length forgets that it is causal.
    https://github.com/facebookresearch/fairseq2/pull/59"""
    F = torch.nn.functional

    class Mask:
        def __init__(self, size, causal=False):
            self.size, self.causal = size, causal

        def cut(self, size):
            return Mask(size)  # bug
            return Mask(size, self.causal)  # fix

    whole = Mask(32, causal=True)

    def attend(q, k, v):
        mask = whole.cut(q.shape[1])
        return F.scaled_dot_product_attention(q, k, v, is_causal=mask.causal)  # here

    source, target = sentences(torch)
    model = decoder(torch, attend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(12):
        scores = model(source)  # here
        loss = F.cross_entropy(scores.transpose(1, 2), target)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def mask_of_its_own_without_causality(torch):
    """token-leak: with no padding no mask is made, and the layer's own sparse mask is not causal.
    https://github.com/huggingface/transformers/issues/48748"""
    F = torch.nn.functional

    def attend(q, k, v):
        strength = v.norm(dim=-1).unsqueeze(1)
        mask = torch.where(strength > 2.0, 0.0, -2.0).detach()
        mask = mask.expand(-1, q.shape[1], -1)
        ahead = torch.triu(torch.ones(q.shape[1], q.shape[1], dtype=torch.bool), 1)  # fix
        mask = mask.masked_fill(ahead, float("-inf"))  # fix
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # here

    source, target = sentences(torch)
    model = decoder(torch, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        loss = F.cross_entropy(model(source).flatten(0, 1), target.flatten())  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def encoder_of_a_language_model_without_a_mask(torch):
    """token-leak: src_mask is None by default, so the encoder of a language model sees all of the text.
    https://github.com/pytorch/tutorials/pull/2662"""
    nn, F = torch.nn, torch.nn.functional

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True)
            self.embed, self.place = nn.Embedding(11, 12), nn.Embedding(8, 12)
            self.encode, self.out = nn.TransformerEncoder(layer, 1), nn.Linear(12, 11)

        def forward(self, tokens, mask=None):
            length = tokens.shape[1]
            if mask is None:  # fix
                mask = torch.triu(torch.full((length, length), float("-inf")), 1)  # fix
            x = self.embed(tokens) + self.place(torch.arange(length))
            return self.out(self.encode(x, mask))  # here

    source, target = sentences(torch)
    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        loss = F.cross_entropy(model(source).flatten(0, 1), target.flatten())  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def mask_after_the_mean(torch):
    """padding-in-loss: the loss is a mean already when it is multiplied by the mask and averaged again.
    https://github.com/jingyaogong/minimind/issues/51"""
    nn, F = torch.nn, torch.nn.functional
    text = torch.randint(1, 11, (16, 9))
    lengths = torch.randint(3, 8, (16,))
    text[torch.arange(9) > lengths.unsqueeze(1)] = 0
    x, y = text[:, :-1], text[:, 1:]
    model = nn.Sequential(nn.Embedding(11, 12, padding_idx=0), nn.Linear(12, 11))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    mask = (y != 0).float().flatten()
    for _ in range(15):
        scores = model(x).flatten(0, 1)
        loss = F.cross_entropy(scores, y.flatten())  # bug
        loss = F.cross_entropy(scores, y.flatten(), reduction="none")  # fix
        loss = (loss * mask).sum() / mask.sum()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def first_tag_is_never_asked_for(torch):
    """class-ignored: the loss ignores index 0 as padding, and 0 is a tag like the others.
    https://github.com/nyu-mll/jiant/issues/925"""
    nn, F = torch.nn, torch.nn.functional
    words = torch.randint(1, 13, (24, 7))
    tags = words % 4
    model = nn.Sequential(nn.Embedding(13, 10, padding_idx=0), nn.Linear(10, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    pad = 0  # bug
    pad = -100  # fix
    for _ in range(20):
        scores = model(words).flatten(0, 1)
        loss = F.cross_entropy(scores, tags.flatten(), ignore_index=pad)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def divergence_from_the_reference_grows(torch):
    """divergence-grows: the penalty for leaving the reference policy is taken off where it is to be added.
    https://github.com/Unakar/Logic-RL/issues/58"""
    nn, F = torch.nn, torch.nn.functional
    states = torch.randn(48, 4)
    policy, reference = nn.Linear(4, 5), nn.Linear(4, 5)
    reference.load_state_dict(policy.state_dict())
    reference.requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    for _ in range(20):
        logs, old = F.log_softmax(policy(states), 1), F.log_softmax(reference(states), 1)
        actions = torch.distributions.Categorical(logits=logs.detach()).sample()
        chosen = logs.gather(1, actions.unsqueeze(1)).squeeze(1)
        reward = (actions == 0).float() - 0.2
        kl = (logs.exp() * (logs - old)).sum(1)
        loss = -(chosen * reward).mean() - 0.5 * kl.mean()  # bug
        loss = -(chosen * reward).mean() + 0.5 * kl.mean()  # fix
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def divergence_of_the_latent_with_the_wrong_sign(torch):
    """divergence-grows: the sign of the KL term is wrong, so the posterior is driven from the prior.
    https://github.com/FluxML/model-zoo/pull/147"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.rand(48, 6).round()
    encode, decode = nn.Linear(6, 6), nn.Linear(3, 6)
    model = nn.ModuleList([encode, decode])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(25):
        mu, logvar = encode(x).chunk(2, dim=1)
        z = mu + (0.5 * logvar).exp() * torch.randn(48, 3)
        likelihood = F.binary_cross_entropy_with_logits(decode(z), x, reduction="sum")
        kl = 0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()  # bug
        kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()  # fix
        loss = (likelihood + kl) / len(x)  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()
