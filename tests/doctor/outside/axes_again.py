"""Axes taken for each other, masks that let the future through, padding that counts."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, sentences, waves


def policy_with_a_softmax_of_the_batch(torch):
    """sample-mixing: the policy ends in Softmax(dim=0), and is given a batch of states.
    https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/32"""
    nn = torch.nn
    states = torch.randn(64, 4)
    actions = (states[:, 0] > 0).long()
    model = nn.Sequential(
        nn.Linear(4, 24),
        nn.LeakyReLU(),
        nn.Linear(24, 2),
        nn.Softmax(dim=0),  # bug
        nn.Softmax(dim=1),  # fix
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.009)

    def loss_fn(preds, r):
        return -1 * torch.sum(r * torch.log(preds))

    for _ in range(6):
        for state_batch, action_batch in batches(16, states, actions):
            pred_batch = model(state_batch)  # here
            prob_batch = pred_batch.gather(dim=1, index=action_batch.view(-1, 1)).squeeze()
            loss = loss_fn(prob_batch, torch.linspace(1, 0.1, len(prob_batch)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def mixture_normalized_over_the_batch(torch):
    """sample-mixing: the weights of the mixture are normalized over the batch, not over the gaussians.
    https://github.com/ctallec/world-models/issues/10"""
    nn = torch.nn
    x, y = waves(torch, n=6, length=12)
    x, y = x.transpose(0, 1), y.transpose(0, 1)

    class MDRNN(nn.Module):
        def __init__(self, hiddens=12, gaussians=3):
            super().__init__()
            self.gaussians = gaussians
            self.rnn = nn.LSTM(1, hiddens)
            self.gmm_linear = nn.Linear(hiddens, 3 * gaussians)

        def forward(self, latents):
            seq_len, bs = latents.shape[:2]
            outs, _ = self.rnn(latents)
            mus, sigmas, pi = self.gmm_linear(outs).chunk(3, -1)
            pi = pi.reshape(seq_len, bs, self.gaussians)
            logpi = torch.log_softmax(pi, dim=-2)  # bug
            logpi = torch.log_softmax(pi, dim=-1)  # fix
            return mus, sigmas.exp(), logpi

    model = MDRNN()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9)
    for _ in range(12):
        mus, sigmas, logpi = model(x)  # here
        log_probs = -(((y - mus) / sigmas).square() / 2) - sigmas.log() + logpi
        loss = -torch.logsumexp(log_probs, dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def softmax_by_hand_of_the_first_axis(torch):
    """sample-mixing: a softmax of one's own transposes its input and normalizes over the batch.
    https://github.com/ethanfetaya/NRI/issues/25"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=48)

    def my_softmax(input, axis=1):
        trans = input.transpose(axis, 0).contiguous()
        soft = trans.softmax(1)  # bug
        soft = trans.softmax(0)  # fix
        return soft.transpose(axis, 0)

    encoder, decoder = nn.Linear(4, 5), nn.Linear(5, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-4)
    for _ in range(5):
        for data, label in batches(12, x, y):
            optimizer.zero_grad()
            edges = my_softmax(encoder(data))  # here
            F.cross_entropy(decoder(edges), label).backward()
            optimizer.step()


def prototypes_shared_out_among_the_samples(torch):
    """sample-mixing: the similarities to the prototypes are normalized with dim=0.
    https://github.com/Lackel/DPN/issues/1"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=48)
    encoder, prototypes = nn.Linear(4, 8), torch.randn(3, 8)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)

    def transfer_loss(features, labels):
        similarity = F.normalize(features, dim=1) @ F.normalize(prototypes, dim=1).T
        weights = F.softmax(similarity / 0.1, dim=0)  # bug
        weights = F.softmax(similarity / 0.1, dim=1)  # fix
        return -(weights[range(len(labels)), labels] + 1e-8).log().mean()

    for _ in range(5):
        for texts, labels in batches(12, x, y):
            loss = transfer_loss(encoder(texts), labels)  # here
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def trajectories_attend_over_the_batch(torch):
    """sample-mixing: the encoder wants time first and is given the batch first, with its positions as well.
    https://github.com/songyangco/GETNext/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    pois, nexts = sentences(torch, n=24, length=5)

    class TransformerModel(nn.Module):
        def __init__(self, num, size=8):
            super().__init__()
            self.embed = nn.Embedding(num, size)
            layer = nn.TransformerEncoderLayer(size, 2, 16, dropout=0.0)  # bug
            layer = nn.TransformerEncoderLayer(size, 2, 16, dropout=0.0, batch_first=True)  # fix
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.decoder = nn.Linear(size, num)

        def forward(self, src):
            mask = torch.full((src.shape[1], src.shape[1]), float("-inf")).triu(1)
            mask = torch.zeros(len(src), len(src))  # bug
            return self.decoder(self.encoder(self.embed(src), mask))  # here

    model = TransformerModel(11)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(5):
        for batch, target in batches(8, pois, nexts):
            scores = model(batch)  # here
            loss = F.cross_entropy(scores.flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def positions_of_the_samples(torch):
    """sample-mixing: the encoding is made for time first, so each sample gets the position of its place.
    https://github.com/tanjimin/C.Origami/issues/42"""
    nn = torch.nn
    x, y = waves(torch, n=16, length=8)

    class PositionalEncoding(nn.Module):
        def __init__(self, hidden, max_len=64):
            super().__init__()
            angles = torch.arange(max_len).unsqueeze(1) * 0.3 ** torch.arange(hidden)
            self.register_buffer("pe", angles.sin().unsqueeze(1))

        def forward(self, x):
            return x + self.pe[: x.size(0)]  # bug
            return x + self.pe[: x.size(1)].transpose(0, 1)  # fix

    class Origami(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.positions = nn.Linear(1, 8), PositionalEncoding(8)
            self.mix, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.out(self.mix(self.positions(self.inp(x))).relu())  # here

    model = Origami()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    for _ in range(6):
        for seq, mat in batches(4, x, y):
            optimizer.zero_grad()
            (model(seq) - mat).square().mean().backward()  # here
            optimizer.step()


def encoding_unsqueezed_at_the_wrong_end(torch):
    """token-mixing: positions are unsqueezed at axis 0 for a batch of time first: they follow the sample.
    https://github.com/NeuracoreAI/neuracore/pull/154"""
    nn = torch.nn
    x, y = waves(torch, n=6, length=6)
    x, y = x.transpose(0, 1), y.transpose(0, 1)

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=6):
            super().__init__()
            pe = (torch.arange(max_len).unsqueeze(1) * 0.5 ** torch.arange(d_model)).cos()
            self.pe = nn.Parameter(pe.unsqueeze(0), requires_grad=False)  # bug
            self.pe = nn.Parameter(pe.unsqueeze(1), requires_grad=False)  # fix

        def forward(self, x):
            return x + self.pe  # here

    model = nn.Sequential(nn.Linear(1, 8), PositionalEncoding(8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(20):
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def heads_made_by_a_view(torch):
    """token-mixing: queries of (B, L, H, D) become (B, H, L, D) by view instead of transpose.
    https://github.com/zhouhaoyi/Informer2020/issues/59"""
    nn = torch.nn
    x, y = waves(torch, n=8, length=6)

    class ProbAttention(nn.Module):
        def forward(self, queries, keys, values):
            B, L, H, D = queries.shape
            queries, keys = queries.view(B, H, L, -1), keys.view(B, H, L, -1)  # bug
            values = values.view(B, H, L, -1)  # bug
            queries, keys = queries.transpose(1, 2), keys.transpose(1, 2)  # fix
            values = values.transpose(1, 2)  # fix
            scores = (queries @ keys.transpose(-2, -1) / D**0.5).softmax(-1)
            return (scores @ values).transpose(1, 2).reshape(B, L, H * D)

    class Layer(nn.Module):
        def __init__(self, d=8, heads=2):
            super().__init__()
            self.inp, self.out, self.heads = nn.Linear(1, d), nn.Linear(d, 1), heads
            self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
            self.inner = ProbAttention()

        def forward(self, x):
            x = self.inp(x)
            B, L, _ = x.shape
            q, k, v = (f(x).view(B, L, self.heads, -1) for f in (self.q, self.k, self.v))
            return self.out(self.inner(q, k, v))

    model, criterion = Layer(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(20):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


def compressed_blocks_of_the_future(torch):
    """token-leak: the mask says which keys to keep, and is written as if it said which to leave out.
    https://github.com/tilde-research/nsa-release/issues/3"""
    nn, F = torch.nn, torch.nn.functional
    text, target = sentences(torch, n=24, length=6)

    def mask_fn(q_idx, kv_idx):
        return q_idx <= kv_idx  # bug
        return q_idx >= kv_idx  # fix

    class Attention(nn.Module):
        def __init__(self, d=8):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, d), nn.Linear(d, 11)
            self.qkv = nn.Linear(d, 3 * d)

        def forward(self, ids):
            q, k, v = self.qkv(self.embed(ids)).chunk(3, -1)
            places = torch.arange(ids.shape[1])
            keep = mask_fn(places[:, None], places[None])  # here
            scores = (q @ k.transpose(1, 2)).masked_fill(~keep, float("-inf"))
            return self.head(scores.softmax(-1) @ v)

    model = Attention()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(20):
        loss = F.cross_entropy(model(text).transpose(1, 2), target)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def formula_padded_and_asked_for(torch):
    """padding-in-loss: the wrapper pads with 0, and its loss ignores -100.
    https://github.com/lukas-blecher/LaTeX-OCR/issues/305"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=24, length=6)
    text = torch.where(torch.arange(6) < torch.randint(3, 6, (24, 1)), text % 10 + 1, 0)

    class Wrapper(nn.Module):
        def __init__(self, ignore_index=-100, pad_value=0):
            super().__init__()
            self.ignore_index = ignore_index
            self.embed = nn.Embedding(11, 8, padding_idx=pad_value)
            self.rnn, self.head = nn.GRU(8, 16, batch_first=True), nn.Linear(16, 11)

        def forward(self, x):
            xi, xo = x[:, :-1], x[:, 1:]
            out = self.head(self.rnn(self.embed(xi))[0])
            return F.cross_entropy(out.transpose(1, 2), xo, ignore_index=self.ignore_index)  # here

    model = Wrapper()  # bug
    model = Wrapper(ignore_index=0)  # fix
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(5):
        for (batch,) in batches(8, text):
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()


def ignored_index_declared_and_not_passed(torch):
    """padding-in-loss: ignore_index is an attribute of the model, and its loss is not told.
    https://github.com/lucidrains/DALLE-pytorch/issues/57"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=24, length=6)
    text = torch.where(torch.arange(6) < torch.randint(3, 6, (24, 1)), text % 10 + 1, 0)
    model = nn.Sequential(
        nn.Embedding(11, 8, padding_idx=0), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 11)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=4.5e-4)
    ignore_index = 0
    for _ in range(6):
        for (batch,) in batches(8, text):
            logits, labels = model(batch[:, :-1]).transpose(1, 2), batch[:, 1:]
            loss = F.cross_entropy(logits, labels)  # bug
            loss = F.cross_entropy(logits, labels, ignore_index=ignore_index)  # fix
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def masks_of_ones_for_padded_pairs(torch):
    """padding-attended: the attention mask of every sentence is all ones, its padding as well.
    https://github.com/yg211/bert_nli/pull/3"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=24, length=6)
    lengths = torch.randint(2, 6, (24, 1))
    text = torch.where(torch.arange(6) < lengths, text % 10 + 1, 0)
    label = (text[:, 0] + text[:, 1]) % 3

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8, padding_idx=0), nn.Linear(8, 3)
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, ids, attention_mask):
            h = self.embed(ids)
            h = self.attention(h, h, h, key_padding_mask=attention_mask == 0)[0]  # here
            return self.head(h[:, 0])

    model = Bert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(6):
        for ids, y in batches(8, text, label):
            masks = torch.ones_like(ids)  # bug
            masks = (ids != 0).long()  # fix
            optimizer.zero_grad()
            F.cross_entropy(model(ids, masks), y).backward()
            optimizer.step()


def language_model_of_its_own_input(torch):
    """label-leak: the causal model is given labels that are its input, and does not shift them.
    https://github.com/macrocosm-os/pretraining/pull/64"""
    nn = torch.nn
    text, _ = sentences(torch, n=24, length=7)

    class ForCausalLM(nn.Module):
        def __init__(self, vocab=11):
            super().__init__()
            self.vocab, self.embed = vocab, nn.Embedding(vocab, 8)
            self.rnn, self.lm_head = nn.GRU(8, 16, batch_first=True), nn.Linear(16, vocab)

        def forward(self, input_ids, labels=None):
            logits = self.lm_head(self.rnn(self.embed(input_ids))[0])
            if labels is None:
                return logits
            loss_fct = nn.CrossEntropyLoss()
            logits, labels = logits[:, :-1].contiguous(), labels[:, 1:].contiguous()  # fix
            return loss_fct(logits.view(-1, self.vocab), labels.reshape(-1))  # here

    model = ForCausalLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(6):
        for (batch,) in batches(8, text):
            optimizer.zero_grad()
            loss = model(batch, labels=batch)
            loss.backward()
            optimizer.step()


def head_of_the_memory_without_a_shift(torch):
    """label-leak: the head computes the likelihood of the very tokens that it was given.
    https://github.com/huggingface/transformers/issues/3711"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=16, length=7)
    embed, core, head = nn.Embedding(11, 12), nn.Linear(12, 12), nn.Linear(12, 11)
    params = [p for m in (embed, core, head) for p in m.parameters()]
    optimizer = torch.optim.Adam(params, lr=2e-3)

    def lm_head(input_ids, labels):
        hidden = embed(input_ids)
        steps = torch.arange(1, hidden.shape[1] + 1).view(1, -1, 1)
        hidden = hidden + core(hidden.cumsum(1) / steps).tanh()
        logp = head(hidden).log_softmax(-1)
        logp, labels = logp[:, :-1], labels[:, 1:]  # fix
        return F.nll_loss(logp.reshape(-1, 11), labels.reshape(-1))  # here

    for _ in range(24):
        loss = lm_head(text, labels=text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
