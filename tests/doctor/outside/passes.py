"""What a forward pass does that it should not: in which mode it runs, what it attends to, what it adds."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, perceptron, regression, sentences


def policy_left_in_evaluation_mode(torch):
    """mode-left: eval_policy() puts the policy into eval mode and does not put it back.
    https://github.com/huggingface/lerobot/issues/3668"""
    nn = torch.nn
    x, y = regression(torch, n=48)
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def eval_policy(policy):
        policy.eval()  # here
        with torch.no_grad():
            error = nn.functional.mse_loss(policy(x), y).item()
        policy.train()  # fix
        return error

    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    policy.train()
    for step in range(24):
        optimizer.zero_grad()
        out = policy(x)  # here
        nn.functional.mse_loss(out, y).backward()
        optimizer.step()  # here
        if (step + 1) % 6 == 0:
            eval_policy(policy)  # here


def inference_mode_taken_for_evaluation(torch):
    """mode-validation: estimate_loss() runs under inference_mode, and nobody calls eval().
    https://github.com/ipolharvard/ethos-ares/issues/20"""
    nn = torch.nn
    x, y = classes(torch, n=60)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    @torch.inference_mode()
    def estimate_loss():
        model.eval()  # fix
        losses = [
            nn.functional.cross_entropy(model(a), b).item() for a, b in batches(6, x[48:], y[48:])
        ]  # here
        model.train()  # fix
        return sum(losses) / len(losses)

    for iteration in range(24):
        if iteration % 6 == 0:
            estimate_loss()  # here
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[:48]), y[:48]).backward()
        optimizer.step()


def validation_loop_of_a_pipeline(torch):
    """mode-validation: val_loop() measures the accuracy with the dropout of training.
    https://github.com/giotto-ai/giotto-deep/issues/40"""
    nn = torch.nn
    x, y = classes(torch, n=72)

    class Pipeline:
        def __init__(self):
            self.model = nn.Sequential(
                nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3)
            )
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

        def train_loop(self):
            self.model.train()
            for inputs, targets in batches(12, x[:48], y[:48]):
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(inputs), targets).backward()
                self.optimizer.step()

        def val_loop(self):
            self.model.eval()  # fix
            right = 0
            with torch.no_grad():
                for inputs, targets in batches(12, x[48:], y[48:]):
                    right += (self.model(inputs).argmax(1) == targets).sum().item()  # here
            return right / 24

    pipeline = Pipeline()
    for _ in range(6):
        pipeline.train_loop()
        pipeline.val_loop()  # here


def dropout_of_embeddings_in_inference(torch):
    """mode-validation: F.dropout(out, p=...) is on unless it is told otherwise.
    https://github.com/facebookresearch/DME/issues/3"""
    nn, F = torch.nn, torch.nn.functional
    tokens, y = torch.randint(11, (24, 5)), torch.arange(24) % 3

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 3)

        def forward(self, tokens):
            out = self.embed(tokens).mean(1)
            out = F.dropout(out, p=0.2)  # bug
            out = F.dropout(out, p=0.2, training=self.training)  # fix
            return self.head(out)

    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(tokens), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(tokens), y)  # here


def evaluation_ends_with_everything_in_training_mode(torch):
    """frozen-norms: after each evaluation train() wakes the norms that were frozen.
    https://github.com/ContinualAI/avalanche/pull/772"""
    nn = torch.nn
    x, y = classes(torch, n=48)
    body = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU())
    head = nn.Linear(16, 3)
    model = nn.Sequential(body, head)
    body.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)

    def adapt():
        model.train()
        body.eval()

    def periodic_eval():
        modes = {part: part.training for part in model.modules()}
        model.eval()
        with torch.no_grad():
            (model(x).argmax(1) == y).float().mean().item()
        model.train()  # bug
        for part, mode in modes.items():  # fix
            part.training = mode  # fix

    adapt()
    for _ in range(8):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            out = model(inputs)  # here
            nn.functional.cross_entropy(out, targets).backward()
            optimizer.step()  # here
        periodic_eval()  # here


def attend(torch, x, q, k, v, mask):
    """Attention of one head, with a mask that is true where a key may be seen."""
    scores = (q(x) @ k(x).transpose(-2, -1)) / x.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(~mask, -10000.0), dim=-1) @ v(x)


def infinities_written_behind_the_softmax(torch):
    """non-finite: the masked weights are set to minus infinity after the softmax.
    https://github.com/huggingface/pytorch-image-models/pull/2236"""
    nn = torch.nn

    class EvaAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x, attn_mask):
            q, k, v = self.qkv(x).chunk(3, -1)
            attn = q @ k.transpose(-2, -1) * 8**-0.5
            attn = attn.softmax(dim=-1)  # bug
            attn = attn.masked_fill((~attn_mask)[:, None, :], float("-inf"))  # here
            attn = attn.softmax(dim=-1)  # fix
            return x + self.proj(attn @ v)  # here

    x, y = torch.randn(12, 6, 8), torch.arange(12) % 3
    mask = torch.arange(6) < torch.tensor([3, 4, 5, 6] * 3)[:, None]
    attention, head = EvaAttention(), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(attention(x, mask)[:, 0]), y)  # here
        loss.backward()  # here
        optimizer.step()


def padding_mask_of_the_rows(torch):
    """padding-attended: the mask is unsqueezed so that it covers padded queries instead of padded keys.
    https://github.com/hyunwoongko/transformer/pull/40"""
    nn = torch.nn
    text, _ = sentences(torch, n=16)
    text = text + 1
    text[torch.arange(6) >= torch.tensor([3, 4, 5, 6] * 4)[:, None]] = 0
    y = torch.arange(16) % 3

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(12, 8, padding_idx=0)
            self.place = nn.Parameter(0.1 * torch.randn(6, 8))
            self.q, self.k, self.v, self.head = (nn.Linear(8, 8) for _ in range(4))

        def forward(self, tokens):
            seen = tokens != 0
            mask = seen.unsqueeze(2)  # bug
            mask = seen.unsqueeze(1)  # fix
            x = self.embed(tokens) + self.place
            return self.head(x + attend(torch, x, self.q, self.k, self.v, mask))[:, 0]  # here

    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        out = model(text)  # here
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()


def label_attention_sees_the_padding_only(torch):
    """padding-attended: scaled_dot_product_attention is given a mask that is true at the padding.
    https://github.com/InseeFrLab/torchTextClassifiers/pull/92"""
    nn, F = torch.nn, torch.nn.functional
    text, _ = sentences(torch, n=16)
    text = text + 1
    text[torch.arange(6) >= torch.tensor([3, 4, 5, 3] * 4)[:, None]] = 0
    y = torch.arange(16) % 3

    class LabelAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(12, 8, padding_idx=0)
            self.place = nn.Parameter(0.1 * torch.randn(6, 8))
            self.labels, self.k, self.v = (
                nn.Parameter(torch.randn(3, 8)),
                nn.Linear(8, 8),
                nn.Linear(8, 8),
            )
            self.score = nn.Linear(8, 1)

        def forward(self, tokens):
            x = self.embed(tokens) + self.place
            mask = (tokens == 0)[:, None, :]  # bug
            mask = (tokens != 0)[:, None, :]  # fix
            queries = self.labels.expand(len(tokens), -1, -1)
            found = F.scaled_dot_product_attention(
                queries, self.k(x), self.v(x), attn_mask=mask
            )  # here
            return self.score(found).squeeze(-1)

    model = LabelAttention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        out = model(text)  # here
        F.cross_entropy(out, y).backward()
        optimizer.step()


def attention_added_to_itself(torch):
    """skip-of-itself: x, _ = attention(x) and then x = x + x: the residual is lost.
    https://github.com/kyegomez/BitNet/issues/32"""
    nn = torch.nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            made = nn.MultiheadAttention
            self.layers = nn.ModuleList([made(8, 2, batch_first=True) for _ in range(2)])
            self.ffn_layers = nn.ModuleList([perceptron(torch, 8, 16, 8) for _ in range(2)])

        def forward(self, x):
            for attn, ffn in zip(self.layers, self.ffn_layers, strict=True):
                skip = x
                x, _ = attn(x, x, x)
                x = x + x  # bug
                x = x + skip  # fix
                x = ffn(x) + x
            return x

    x, y = torch.randn(12, 5, 8), torch.arange(12) % 3
    model, head = Transformer(), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        out = head(model(x).mean(1))  # here
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()


def residual_block_that_doubles(torch):
    """skip-of-itself: the block's input was overwritten when it is added: x += x.
    https://github.com/werner-duvaud/muzero-general/issues/89"""
    nn = torch.nn

    class ResidualBlock(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1, self.bn1 = (
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
            )
            self.conv2, self.bn2 = (
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
            )

        def forward(self, x):
            skip = x
            x = torch.relu(self.bn1(self.conv1(x)))
            x = self.bn2(self.conv2(x))
            x += x  # bug
            x += skip  # fix
            return torch.relu(x)

    x, y = torch.randn(12, 4, 5, 5), torch.arange(12) % 3
    model = nn.Sequential(ResidualBlock(4), ResidualBlock(4), nn.Flatten(), nn.Linear(100, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        out = model(x)  # here
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()
