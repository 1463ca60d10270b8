"""Sequences and tokens read at another place than the one that was meant, and routers that learn nothing."""

from __future__ import annotations


def labels_shifted_by_model_and_loss(torch):
    """shift-twice: the model shifts the labels, and the loss function that it calls shifts them again. The run
    shows it: position t is compared with token t + 2.
    https://github.com/huggingface/transformers/issues/47394"""
    nn = torch.nn
    vocab_size = 11

    def for_causal_lm_loss(logits, labels=None, shift_labels=None):
        if shift_labels is None:
            labels = nn.functional.pad(labels, (0, 1), value=-100)
            shift_labels = labels[..., 1:]
        logits = logits.reshape(-1, logits.size(-1))
        return nn.functional.cross_entropy(logits, shift_labels.reshape(-1), ignore_index=-100)

    class GitForCausalLM(nn.Module):
        loss_function = staticmethod(for_causal_lm_loss)

        def __init__(self, hidden):
            super().__init__()
            self.embeddings = nn.Embedding(vocab_size, hidden)
            self.encoder = nn.GRU(hidden, hidden, batch_first=True)
            self.output = nn.Linear(hidden, vocab_size)

        def forward(self, input_ids, labels=None):
            logits, loss = self.output(self.encoder(self.embeddings(input_ids))[0]), None
            if labels is not None:
                # we are doing next-token prediction
                shifted_logits = logits[:, :-1].contiguous()
                labels = labels[:, 1:].contiguous()
                loss = self.loss_function(shifted_logits, labels)  # bug
                loss = self.loss_function(shifted_logits, shift_labels=labels)  # fix
            return loss, logits

    first = torch.arange(vocab_size)
    rows = [first]
    for _ in range(8):
        rows.append((3 * rows[-1] + 2) % vocab_size)
    text = torch.stack(rows, 1)
    model = GitForCausalLM(24)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(80):
        loss, _ = model(text, labels=text)
        loss.backward()  # here
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0:
            print({"step": step, "loss": round(loss.item(), 4)})
    with torch.no_grad():
        _, logits = model(text)
    return (logits[:, :-1].argmax(2) == text[:, 1:]).float().mean().item() > 0.9


def cell_taken_from_the_hidden_state(torch):
    """wrong-variable: the states are put back in order, and both names get the hidden one. The source shows it:
    the cell is assigned without being read.
    https://github.com/salesforce/decaNLP/issues/9"""
    nn = torch.nn

    class PackedLSTM(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.rnn = nn.LSTM(d_in, d_out, batch_first=True)

        def forward(self, inputs, lengths, hidden=None):
            lens, indices = torch.sort(lengths, descending=True)
            inputs = inputs[indices]
            if hidden is not None:
                hidden = tuple(state[:, indices].contiguous() for state in hidden)
            steps = nn.utils.rnn.pack_padded_sequence(inputs, lens, batch_first=True)
            outputs, (h, c) = self.rnn(steps, hidden)
            outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
            _, _indices = torch.sort(indices)
            h, c = h[:, _indices, :], h[:, _indices, :]  # bug
            h, c = h[:, _indices, :], c[:, _indices, :]  # fix
            return outputs[_indices], (h, c)

    n, steps = 24, 8
    x = torch.randn(n, steps, 2)
    y = x.sum((1, 2)).unsqueeze(1) / 4
    encoder, head = PackedLSTM(2, 12), nn.Linear(12, 1)
    params = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(params, lr=0.02)
    half = torch.full((n,), steps // 2)
    for _ in range(60):
        _, states = encoder(x[:, : steps // 2], half)
        _, (h, _) = encoder(x[:, steps // 2 :], half, states)  # here
        loss = nn.functional.mse_loss(head(h[0]), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    # a text that is read in two halves is still the same text
    with torch.no_grad():
        _, states = encoder(x[:, : steps // 2], half)
        _, (halves, _) = encoder(x[:, steps // 2 :], half, states)
        _, (whole, _) = encoder(x, torch.full((n,), steps))
    return torch.allclose(halves, whole, atol=1e-4)


def state_after_the_padding(torch):
    """padding-read: the last state of a padded sequence is the one after its zeros. The run shows it: the
    lengths of the sequences are at hand, and the position that is read is the same for all.
    https://github.com/ray-project/ray/issues/21392"""
    nn = torch.nn
    n, longest, kinds = 90, 30, 5

    class RecurrentNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(kinds, 16, batch_first=True)
            self._logits = nn.Linear(16, kinds)

        def forward(self, obs, seq_lens):
            features, _ = self.rnn(obs)
            state = features[:, -1]  # bug
            state = features[torch.arange(len(obs)), seq_lens - 1]  # fix
            return self._logits(state)  # here

    seq_lens = torch.randint(2, 9, (n,))
    seq_lens[0] = longest
    what = torch.randint(0, kinds, (n, longest))
    obs = torch.eye(kinds)[what]
    obs[torch.arange(longest) >= seq_lens.unsqueeze(1)] = 0.0
    last = what[torch.arange(n), seq_lens - 1]

    policy = RecurrentNetwork()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for iteration in range(60):
        for rows in torch.randperm(n).split(30):
            loss = nn.functional.cross_entropy(policy(obs[rows], seq_lens[rows]), last[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if iteration % 20 == 0:
            print(iteration, loss.item())
    with torch.no_grad():
        right = policy(obs, seq_lens).argmax(1) == last
    return right.float().mean().item() > 0.9


def gate_of_one_expert_is_always_one(torch):
    """softmax-of-one: with k = 1 the softmax is over a single logit, so the gate is 1 and gets no gradient. The
    run shows it: a softmax over an axis of length one, and a parameter whose gradient is zero.
    https://github.com/davidmrau/mixture-of-experts/issues/27"""
    nn = torch.nn

    class MoE(nn.Module):
        def __init__(self, input_size, num_experts, k):
            super().__init__()
            self.k = k
            self.experts = nn.ModuleList([nn.Linear(input_size, 1) for _ in range(num_experts)])
            self.w_gate = nn.Parameter(0.1 * torch.randn(input_size, num_experts))

        def top_k_gating(self, x):
            logits = x @ self.w_gate
            logits = torch.softmax(logits, dim=1)  # fix
            top_k_logits, top_k_indices = logits.topk(self.k, dim=1)
            top_k_gates = torch.softmax(top_k_logits, dim=1)  # bug
            top_k_gates = top_k_logits  # fix
            return torch.zeros_like(logits).scatter(1, top_k_indices, top_k_gates)  # here

        def forward(self, x):
            gates = self.top_k_gating(x)
            outputs = torch.cat([expert(x) for expert in self.experts], 1)
            return (gates * outputs).sum(1, keepdim=True)

    x = torch.randn(128, 3)
    y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 1:2])
    moe = MoE(input_size=3, num_experts=3, k=1)
    before = moe.w_gate.detach().clone()
    optim = torch.optim.Adam(moe.parameters(), lr=0.01)
    for epoch in range(20):
        for part in torch.randperm(128).split(32):
            loss = nn.functional.mse_loss(moe(x[part]), y[part])
            optim.zero_grad()
            loss.backward()
            optim.step()
        if epoch % 5 == 0:
            print(epoch, loss.item())
    return (moe.w_gate.detach() - before).abs().max().item() > 1e-3


def auxiliary_loss_attached_to_nothing(torch):
    """term-dropped: a function hangs the balancing loss onto the weights, and what it returns is thrown away. The
    source shows it: the result of `apply` is not assigned.
    https://github.com/NVIDIA-NeMo/Automodel/issues/1408"""
    nn = torch.nn

    class MoEAuxLossAutoScaler(torch.autograd.Function):
        @staticmethod
        def forward(ctx, output, aux_loss):
            ctx.save_for_backward(aux_loss)
            return output.view_as(output)

        @staticmethod
        def backward(ctx, grad_output):
            (aux_loss,) = ctx.saved_tensors
            return grad_output, torch.ones_like(aux_loss)

    class Gate(nn.Module):
        def __init__(self, dim, n_experts, aux_loss_coeff):
            super().__init__()
            self.weight = nn.Linear(dim, n_experts)
            self.n_experts, self.aux_loss_coeff = n_experts, aux_loss_coeff
            with torch.no_grad():
                self.weight.bias[0] += 3.0  # the favourite, by chance

        def forward(self, x):
            scores = torch.softmax(self.weight(x), dim=-1)
            indices = scores.argmax(-1)
            load = torch.bincount(indices, minlength=self.n_experts) / len(x)
            aux_loss = self.aux_loss_coeff * self.n_experts * (load * scores.mean(0)).sum()
            weights = scores.gather(1, indices.unsqueeze(1))
            MoEAuxLossAutoScaler.apply(weights, aux_loss)  # bug
            weights = MoEAuxLossAutoScaler.apply(weights, aux_loss)  # fix
            return weights, indices, load

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = Gate(6, 4, aux_loss_coeff=0.5)
            self.experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])

        def forward(self, x):
            weights, indices, load = self.gate(x)
            outputs = torch.stack([expert(x) for expert in self.experts], 1)
            return weights * outputs[torch.arange(len(x)), indices], load

    layer = Layer()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    busiest = []
    for _ in range(200):
        x = torch.randn(64, 6)
        out, load = layer(x)
        loss = nn.functional.mse_loss(out, x.roll(1, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        busiest.append(load.max().item())
    return sum(busiest[-20:]) / 20 < 0.7


def pixels_made_of_channels(torch):
    """axes-viewed: feature maps of (N, C, H, W) are viewed as (N, H·W, C) without a permutation. The run shows
    it: the shape that comes out names other axes than the memory holds.
    https://github.com/fawazsammani/knowing-when-to-look-adaptive-attention/issues/6"""
    nn = torch.nn
    n, held_out, side, features, words = 160, 60, 3, 4, 4

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(features, features, 1)

        def forward(self, images):
            batch_size, num_pixels = len(images), side * side
            encoded_image = torch.tanh(self.conv(images))
            encoded_image = encoded_image.permute(0, 2, 3, 1)  # fix
            return encoded_image.reshape(batch_size, num_pixels, features)  # here

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine = nn.Linear(features, 12)
            self.att = nn.Linear(12, 1)
            self.word = nn.Linear(features, words)

        def forward(self, enc_image):
            alpha = torch.softmax(self.att(torch.tanh(self.affine(enc_image))).squeeze(2), 1)
            return self.word((enc_image * alpha.unsqueeze(2)).sum(1))

    # one pixel in nine is marked in the last channel; its colour is the caption
    caption = torch.randint(0, 3, (n,))
    place = torch.randint(0, side * side, (n,))
    images = torch.zeros(n, features, side * side)
    colours = torch.randint(0, 3, (n, side * side))
    colours[torch.arange(n), place] = caption
    images.scatter_(1, colours.unsqueeze(1), 1.0)
    images[torch.arange(n), features - 1, place] = 1.0
    images = images.view(n, features, side, side)

    encoder, decoder = Encoder(), Attention()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
    for _ in range(200):
        scores = decoder(encoder(images[held_out:]))
        loss = nn.functional.cross_entropy(scores, caption[held_out:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        said = decoder(encoder(images[:held_out])).argmax(1)
    return (said == caption[:held_out]).float().mean().item() > 0.85
