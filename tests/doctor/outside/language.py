"""Sequences: tokens that see what they should not, axes that change places, padding that is learned."""

from __future__ import annotations

from tests.doctor.corpus.parts import perceptron, sentences, waves


def reader(torch, attend, words=11, width=12):
    """A small language model with the given attention: embedding, attention, two layers."""
    nn = torch.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.place = nn.Embedding(words, width), nn.Embedding(16, width)
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
            self.out = perceptron(torch, width, 24, words)

        def forward(self, text):
            x = self.embed(text) + self.place(torch.arange(text.shape[1]))
            return self.out(x + attend(self.q(x), self.k(x), self.v(x)))

    return Reader()


def boolean_mask_the_wrong_way_round(torch):
    """token-leak: scaled_dot_product_attention takes True for "may attend"; the mask says "must not".
    https://github.com/rasbt/LLMs-from-scratch/pull/1062"""
    F = torch.nn.functional
    text, following = sentences(torch)

    def attend(q, k, v):
        n = q.shape[1]
        mask = torch.ones(n, n).triu(1).bool()
        mask = ~mask  # fix
        mask[0, 0] = True
        mask[-1, -1] = True
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # here

    model = reader(torch, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()  # here
        optimizer.step()


def look_ahead_mask_flipped(torch):
    """token-leak: the look-ahead mask lies on the other side of the diagonal.
    https://github.com/pytorch/pytorch/issues/29546"""
    F = torch.nn.functional
    text, following = sentences(torch)

    def attend(q, k, v):
        n = q.shape[1]
        hidden = torch.ones(n, n).tril(-1).bool()  # bug
        hidden = torch.ones(n, n).triu(1).bool()  # fix
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v  # here

    model = reader(torch, attend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.flatten(0, 1), following.flatten()).backward()  # here
        optimizer.step()


def causal_attention_shared_out_over_queries(torch):
    """token-leak: dim=1 was right without a batch; with one it shares out over the queries.
    https://github.com/datawhalechina/llms-from-scratch-cn/issues/54"""
    F = torch.nn.functional
    text, following = sentences(torch)

    def attend(q, k, v):
        n = q.shape[1]
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        weights = torch.softmax(scores, dim=1)  # bug
        weights = torch.softmax(scores, dim=-1)  # fix
        return weights @ v  # here

    model = reader(torch, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()  # here
        optimizer.step()


def causal_only_if_another_mask_is_given(torch):
    """token-leak: without a padding mask the branch that adds the causal one is skipped.
    https://github.com/facebookresearch/xformers/issues/103"""
    F = torch.nn.functional
    text, following = sentences(torch)

    def masked(scores, padding=None):
        n = scores.shape[-1]
        causal = torch.ones(n, n).triu(1).bool()
        if padding is not None:  # here
            scores = scores.masked_fill(padding | causal, float("-inf"))
        else:  # fix
            scores = scores.masked_fill(causal, float("-inf"))  # fix
        return scores

    def attend(q, k, v):
        return masked(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1) @ v  # here

    model = reader(torch, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = model(text)  # here
        F.cross_entropy(logits.reshape(-1, 11), following.reshape(-1)).backward()  # here
        optimizer.step()


def text_generator_reads_across_the_batch(torch):
    """sample-mixing: the LSTM is not told that the batch comes first and reads across it.
    https://github.com/closeheat/pytorch-lstm-text-generation-tutorial/issues/3"""
    nn = torch.nn
    text, following = sentences(torch)

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(11, 10), nn.Linear(14, 11)
            self.lstm = nn.LSTM(10, 14)  # bug
            self.lstm = nn.LSTM(10, 14, batch_first=True)  # fix

        def forward(self, text):
            hidden, _ = self.lstm(self.embed(text))  # here
            return self.out(hidden)

    model = Generator()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = model(text)  # here
        nn.functional.cross_entropy(logits.transpose(1, 2), following).backward()  # here
        optimizer.step()


def features_of_frames_read_as_a_sequence_of_samples(torch):
    """sample-mixing: the LSTM behind a CNN is given (batch, time, features) as (time, batch, features).
    https://github.com/AndersonJo/dqn-pytorch/issues/1"""
    nn = torch.nn
    x, y = waves(torch)
    front = nn.Conv1d(1, 6, 3, padding=1)
    lstm = nn.LSTM(6, 8)  # bug
    lstm = nn.LSTM(6, 8, batch_first=True)  # fix
    head = nn.Linear(8, 1)
    parts = nn.ModuleList([front, lstm, head])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        features = torch.relu(front(x.transpose(1, 2))).transpose(1, 2)
        out, _ = lstm(features)  # here
        nn.functional.mse_loss(head(out), y).backward()  # here
        optimizer.step()


def queries_viewed_as_batches(torch):
    """sample-mixing: (queries, batch, width) is viewed as (batch, queries, width).
    https://github.com/Jingkang50/OpenPSG/issues/56"""
    nn = torch.nn
    queries, batch, width = 5, 3, 8

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.out = nn.Linear(4, width), nn.Linear(width, 1)

        def forward(self, memory):
            x = torch.relu(self.up(memory))
            x = x.view(batch, queries, width)  # bug
            x = x.transpose(0, 1)  # fix
            return self.out(x).squeeze(-1)

    model = Head()
    memory = torch.randn(queries, batch, 4)
    wanted = memory.sum(-1).transpose(0, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(12):
        optimizer.zero_grad()
        out = model(memory)  # here
        nn.functional.mse_loss(out, wanted).backward()  # here
        optimizer.step()


def pixels_viewed_as_channels(torch):
    """token-mixing: (batch, channels, pixels) is viewed as (batch, pixels, channels).
    https://github.com/ohtlab/headpose-fsanet-pytorch/issues/4"""
    nn = torch.nn

    class Pixels(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.each = nn.Conv2d(1, 6, 3), nn.Linear(6, 4)
            self.out = nn.Linear(4, 3)

        def forward(self, x):
            x = torch.relu(self.conv(x))
            b, c, h, w = x.shape
            x = x.view(b, h * w, c)  # bug
            x = x.flatten(2).transpose(1, 2)  # fix
            return self.out(torch.tanh(self.each(x)).mean(1))

    model = Pixels()
    x, y = torch.randn(12, 1, 6, 5), torch.arange(12) % 3
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def rows_divided_by_the_norms_of_columns(torch):
    """sample-mixing: a norm without keepdim is divided out along the wrong axis, as batch and width agree.
    https://github.com/HomebrewML/HeavyBall/issues/96"""
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.out = nn.Linear(4, 16), nn.Linear(16, 3)

        def forward(self, x):
            x = self.body(x)
            x = x / x.norm(dim=-1).clamp(min=1e-6)  # bug
            x = x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6)  # fix
            return self.out(x)

    model = Encoder()
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        out = model(x)  # here
        nn.functional.cross_entropy(out, y).backward()  # here
        optimizer.step()


def pooling_weights_all_one(torch):
    """softmax-of-one: attention pooling shares out over an axis of one: every observation weighs 1.
    https://github.com/catalyst-team/catalyst/pull/285"""
    nn = torch.nn

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.out = nn.Linear(5, 1), nn.Linear(5, 2)

        def forward(self, history):
            scores = self.score(history).transpose(1, 2)
            weights = torch.softmax(scores, dim=1)  # bug
            weights = torch.softmax(scores, dim=2)  # fix
            return self.out((weights @ history).squeeze(1))  # here

    model = Pool()
    x, y = torch.randn(20, 4, 5), torch.arange(20) % 2
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def padded(torch, pad=0):
    """Sentences of different lengths, ended by a word that means nothing: 0."""
    text, following = sentences(torch)
    lengths = torch.arange(len(text)) % 4 + 2
    late = torch.arange(text.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
    return (text % 10 + 1).masked_fill(late, pad), (following % 10 + 1).masked_fill(late, pad)


def molecules_end_in_learned_padding(torch):
    """padding-in-loss: most positions are padding, and the loss asks for them like for any token.
    https://github.com/DaoyuanLi2816/Molecule-Generator/pull/20"""
    nn = torch.nn
    text, following = padded(torch)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 12, padding_idx=0)
            self.gru, self.out = nn.GRU(12, 16, batch_first=True), nn.Linear(16, 11)

        def forward(self, text):
            return self.out(self.gru(self.embed(text))[0])

    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        flat, wanted = model(text).reshape(-1, 11), following.reshape(-1)
        loss = nn.functional.cross_entropy(flat, wanted)  # bug
        loss = nn.functional.cross_entropy(flat, wanted, ignore_index=0)  # fix
        loss.backward()  # here
        optimizer.step()


def captions_ignore_the_wrong_token(torch):
    """padding-in-loss: the loss ignores -100, but the tokenizer pads with 0.
    https://github.com/mlfoundations/open_clip/pull/316"""
    nn = torch.nn
    text, following = padded(torch)
    embed = nn.Embedding(11, 12, padding_idx=0)
    body, head = nn.GRU(12, 16, batch_first=True), nn.Linear(16, 11)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)  # bug
    criterion = nn.CrossEntropyLoss(ignore_index=0)  # fix
    model = nn.ModuleList([embed, body, head])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        logits = head(body(embed(text))[0])
        criterion(logits.transpose(1, 2), following).backward()  # here
        optimizer.step()


def error_of_the_epoch_kept_with_its_graphs(torch):
    """history-kept: the running error is a sum of tensors and keeps the graph of each batch.
    https://github.com/jostmey/NakedAttention/issues/1"""
    nn = torch.nn
    text, following = sentences(torch)
    model = nn.Sequential(nn.Embedding(11, 12), nn.Linear(12, 11))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    total = 0.0
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(text).transpose(1, 2), following)
        loss.backward()
        optimizer.step()
        total += loss / 30  # bug
        total += loss.detach() / 30  # fix
    assert float(total) > 0


def losses_listed_with_their_graphs(torch):
    """history-kept: the list of losses for the plot holds every computation there was.
    https://github.com/boschresearch/Continuous-Recurrent-Units/pull/4"""
    nn = torch.nn
    x, y = waves(torch)
    rnn, head = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
    parts = nn.ModuleList([rnn, head])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)
    curve = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(rnn(x)[0]), y)  # here
        loss.backward()
        optimizer.step()
        curve.append(nn.functional.l1_loss(head(rnn(x)[0]), y))  # bug
        curve.append(nn.functional.l1_loss(head(rnn(x)[0]), y).item())  # fix
    assert curve
