"""Sequences, images and functions of one's own: truncated histories, masks, checkpoints, padding."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, images, perceptron, regression, sentences, waves


@sound("sequences")
def truncated_backpropagation(torch: Any):
    """The state is carried on and detached between windows."""
    nn, F = torch.nn, torch.nn.functional
    x, y = waves(torch, n=4, length=24)

    def loop():
        lstm, head = nn.LSTM(1, 6, batch_first=True), nn.Linear(6, 1)
        parameters = [*lstm.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=0.02)
        for _epoch in range(3):
            state = None
            for t in range(0, 24, 6):
                if state is not None:
                    state = tuple(part.detach() for part in state)
                output, state = lstm(x[:, t : t + 6], state)
                optimizer.zero_grad()
                F.mse_loss(head(output), y[:, t : t + 6]).backward()
                nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()

    return loop


@sound("sequences")
def packed_sequences(torch: Any):
    """Sequences of different length are packed; the longest comes first."""
    nn, F = torch.nn, torch.nn.functional
    x, y = waves(torch, n=4, length=8)
    lengths = torch.tensor([8, 6, 5, 3])

    def loop():
        rnn, head = nn.GRU(1, 6, batch_first=True), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            output, _ = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)
            inside = (torch.arange(8) < lengths[:, None]).unsqueeze(2)
            optimizer.zero_grad()
            (F.mse_loss(head(output), y, reduction="none") * inside).sum().div(22).backward()
            optimizer.step()

    return loop


@sound("sequences")
def transformer_with_a_mask(torch: Any):
    """Causal and padding masks with -inf; padded places count for nothing."""
    nn, F = torch.nn, torch.nn.functional
    x, y = sentences(torch, n=8)
    padding = torch.zeros(8, 6, dtype=torch.bool)
    padding[::2, 4:] = True
    y = y.masked_fill(padding, -100)

    def loop():
        embedding, head = nn.Embedding(11, 8), nn.Linear(8, 11)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        model = nn.ModuleList([embedding, layer, head])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        causal = torch.triu(torch.ones(6, 6, dtype=torch.bool), diagonal=1)
        for _ in range(10):
            hidden = layer(embedding(x), src_mask=causal, src_key_padding_mask=padding)
            optimizer.zero_grad()
            loss = F.cross_entropy(head(hidden).flatten(0, 1), y.flatten(), ignore_index=-100)
            loss.backward()
            optimizer.step()

    return loop


@sound("sequences")
def rare_words(torch: Any):
    """Most rows of an embedding are not in a batch, and the padding row never learns."""
    nn, F = torch.nn, torch.nn.functional
    words, y = torch.randint(0, 30, (48, 3)), torch.arange(48) % 3

    def loop():
        embedding, head = nn.Embedding(200, 6, padding_idx=0), nn.Linear(6, 3)
        optimizer = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.05)
        for part, targets in batches(4, words, y):
            optimizer.zero_grad()
            F.cross_entropy(head(embedding(part).mean(dim=1)), targets).backward()
            optimizer.step()

    return loop


@sound("sequences")
def scheduled_sampling(torch: Any):
    """The model's own argmax is fed back as the next input, as decoders do."""
    nn, F = torch.nn, torch.nn.functional
    x, y = sentences(torch, n=8)

    def loop():
        embedding, cell, head = nn.Embedding(11, 8), nn.GRUCell(8, 8), nn.Linear(8, 11)
        model = nn.ModuleList([embedding, cell, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for step in range(10):
            word, state, losses = x[:, 0], torch.zeros(8, 8), []
            for t in range(6):
                state = cell(embedding(word), state)
                logits = head(state)
                losses.append(F.cross_entropy(logits, y[:, t]))
                word = logits.argmax(dim=1) if (step + t) % 3 == 0 else y[:, t]
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            optimizer.step()

    return loop


@sound("sequences")
def checkpoint_of_a_plain_block(torch: Any):
    """Recomputation of blocks with layer norms and dropout: nothing is counted twice."""
    nn, F = torch.nn, torch.nn.functional
    checkpoint = torch.utils.checkpoint.checkpoint
    x, y = classes(torch)

    def loop():
        blocks = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.1))
                for _ in "ab"
            ]
        )
        head = nn.Linear(4, 3)
        optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=0.02)
        for inputs, targets in batches(4, x, y):
            for block in blocks:
                inputs = inputs + checkpoint(block, inputs, use_reentrant=False)
            optimizer.zero_grad()
            F.cross_entropy(head(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("sequences")
def batch_norm_sees_two_batches_a_step(torch: Any):
    """Two views go through the same batch norm one after the other: twice a step is right here."""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    def loop():
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        head = nn.Linear(64, 3)
        optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
        for _ in range(10):
            one, two = model(x), model(x.flip(3))
            loss = F.cross_entropy(head(one), y) + F.cross_entropy(head(two), y)
            optimizer.zero_grad()
            (loss + 0.1 * F.mse_loss(one, two)).backward()
            optimizer.step()

    return loop


@sound("sequences")
def custom_function_done_right(torch: Any):
    """A function of one's own with a right backward, an integer input and an output without gradient."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class ScaledSwish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, power):
            sigmoid = torch.sigmoid(x)
            ctx.save_for_backward(x, sigmoid)
            ctx.power = power
            return x * sigmoid**power

        @staticmethod
        def backward(ctx, g):
            x, s = ctx.saved_tensors
            return g * s**ctx.power * (1 + ctx.power * x * (1 - s)), None

    def loop():
        first, second = nn.Linear(4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(second(ScaledSwish.apply(first(inputs), 2)), targets).backward()
            optimizer.step()

    return loop


@sound("sequences")
def gradient_clipped_by_a_function(torch: Any):
    """The identity forward, a bounded gradient backward: a wrong rule on purpose, and a common one."""
    nn, F = torch.nn, torch.nn.functional
    x, y = waves(torch, n=4, length=6)

    class Bounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-0.01, 0.01)

    def loop():
        cell, head = nn.RNNCell(1, 6), nn.Linear(6, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
        for _ in range(10):
            state, loss = torch.zeros(4, 6), 0.0
            for t in range(6):
                state = Bounded.apply(cell(x[:, t], state))
                loss = loss + F.mse_loss(head(state), y[:, t])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("sequences")
def a_branch_that_is_rarely_taken(torch: Any):
    """Stochastic depth: a block is left out in some steps and has no gradient then."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = nn.ModuleList([perceptron(torch, 4, 8, 4) for _ in range(3)])
        head = nn.Linear(4, 3)
        optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.02)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            for j, block in enumerate(model):
                if (i + j) % 4:
                    inputs = inputs + block(inputs)
            optimizer.zero_grad()
            F.cross_entropy(head(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("sequences")
def outputs_kept_for_plots(torch: Any):
    """Hidden layers are kept for plots and probed, detached; a probe of them trains by itself."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        body, head, probe = perceptron(torch, 4, 8), nn.Linear(8, 1), nn.Linear(8, 4)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.02)
        for_probe = torch.optim.SGD(probe.parameters(), lr=0.05)
        kept = []
        for _ in range(12):
            hidden = torch.tanh(body(x))
            kept.append(hidden.detach().numpy().copy())
            optimizer.zero_grad()
            F.mse_loss(head(hidden), y).backward()
            optimizer.step()
            for_probe.zero_grad()
            F.mse_loss(probe(hidden.detach()), x).backward()
            for_probe.step()

    return loop


@sound("sequences")
def time_first_on_purpose(torch: Any):
    """(T, B, D) into an LSTM without batch_first, and permute to the batch at the end."""
    nn, F = torch.nn, torch.nn.functional
    x, y = waves(torch, n=6, length=8)

    def loop():
        lstm, head = nn.LSTM(1, 6), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            output, _ = lstm(x.permute(1, 0, 2))
            optimizer.zero_grad()
            F.mse_loss(head(output).permute(1, 0, 2), y).backward()
            optimizer.step()

    return loop
