"""Train and eval: switched too late, not switched back, or not asked by a layer that should ask."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, images, loader, regression, sentences


def tagger(torch, dropout=0.2):
    """An embedding, a dropout and a layer: a score for each word of each position."""
    nn = torch.nn
    return nn.Sequential(nn.Embedding(11, 12), nn.Dropout(dropout), nn.Linear(12, 11))


def validated_every_so_many_updates(torch):
    """mode-left: the dev set is scored every few updates, and the rest of the epoch runs in eval mode.
    https://github.com/joeynmt/joeynmt/issues/184"""
    F = torch.nn.functional
    source, target = sentences(torch, n=64)
    model = tagger(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def score():
        model.eval()  # here
        with torch.no_grad():
            return F.cross_entropy(model(source[:8]).flatten(0, 1), target[:8].flatten()).item()

    updates = 0
    for _ in range(3):
        model.train()
        for inputs, wanted in batches(8, source, target):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs).flatten(0, 1), wanted.flatten())  # here
            loss.backward()  # here
            optimizer.step()  # here
            updates += 1
            if updates % 3 == 0:
                score()
                model.train()  # fix


def validation_inside_of_an_epoch(torch):
    """mode-left: validation comes before the end of the epoch and nothing goes back to training mode.
    https://github.com/wkentaro/pytorch-fcn/pull/56"""
    nn, F = torch.nn, torch.nn.functional

    class Trainer:
        def __init__(self):
            self.x, self.y = images(torch, n=48)
            self.model = nn.Sequential(
                nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(),
                nn.Linear(216, 3),
            )  # fmt: skip
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
            self.iteration = 0

        def validate(self):
            training = self.model.training  # fix
            self.model.eval()  # here
            with torch.no_grad():
                self.model(self.x[:8]).argmax(1)
            self.model.train(training)  # fix

        def train_epoch(self):
            self.model.train()
            for x, y in batches(8, self.x, self.y):
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)  # here
                loss.backward()  # here
                self.optimizer.step()  # here
                self.iteration += 1
                if self.iteration % 4 == 1:
                    self.validate()

    trainer = Trainer()
    for _ in range(3):
        trainer.train_epoch()


def evaluator_at_half_an_epoch(torch):
    """mode-left: an evaluator that runs at fractions of an epoch leaves the model in eval mode.
    https://github.com/pfnet/pytorch-pfn-extras/issues/688"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=64)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.25), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    class Evaluator:
        def begin(self):
            model.eval()  # here

        def run(self):
            self.begin()
            with torch.no_grad():
                F.mse_loss(model(x[:16]), y[:16])
            self.end()

        def end(self):
            """What comes after each evaluation."""
            model.train()  # fix

    evaluator = Evaluator()
    for _ in range(4):
        model.train()
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()  # here
            if i in (3, 7):
                evaluator.run()


def dropout_layer_made_in_forward(torch):
    """mode-validation: `nn.Dropout(0.5)(x)` in forward is a new layer, which no eval() reaches.
    https://github.com/yangze0930/NTS-Net/issues/14"""
    nn, F = torch.nn, torch.nn.functional

    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(1, 6, 3), nn.Linear(6, 3)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            x = torch.relu(self.conv(x)).mean((2, 3))
            x = nn.Dropout(p=0.5)(x)  # bug
            x = self.drop(x)  # fix
            return self.fc(x)

    x, y = images(torch, n=32)
    model = Features()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        model.train()
        for inputs, labels in batches(8, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x), y)


def attention_drops_out_in_validation(torch):
    """mode-validation: scaled_dot_product_attention is given the rate of dropout in eval mode, too.
    https://github.com/karpathy/nanoGPT/pull/240"""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width=12, dropout=0.2):
            super().__init__()
            self.embed, self.qkv = nn.Embedding(11, width), nn.Linear(width, 3 * width)
            self.head, self.dropout = nn.Linear(width, 11), dropout

        def forward(self, tokens):
            q, k, v = self.qkv(self.embed(tokens)).unsqueeze(1).chunk(3, dim=-1)
            rate = self.dropout  # bug
            rate = self.dropout if self.training else 0.0  # fix
            mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)  # here
            return self.head(mixed.squeeze(1))

    source, target = sentences(torch, n=32)
    model = Attention()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()
        for inputs, wanted in batches(8, source, target):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs).flatten(0, 1), wanted.flatten()).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(source).flatten(0, 1), target.flatten())


def validated_without_eval(torch):
    """mode-validation: validate() is called on a model that is still in training mode.
    https://github.com/rsommerfeld/trocr/issues/9"""
    F = torch.nn.functional
    source, target = sentences(torch, n=40)
    model = tagger(torch, dropout=0.3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def validate(data):
        model.eval()  # fix
        right = 0
        with torch.no_grad():
            for inputs, wanted in data:
                right += (model(inputs).argmax(-1) == wanted).sum().item()  # here
        return right

    train = loader(torch, source[:32], target[:32])
    valid = loader(torch, source[32:], target[32:], shuffle=False)
    for _ in range(4):
        model.train()
        for inputs, wanted in train:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs).flatten(0, 1), wanted.flatten()).backward()
            optimizer.step()
        validate(valid)


def eval_undone_a_few_lines_later(torch):
    """mode-validation: the validation calls eval() and, a few lines on, train() again before it measures.
    https://github.com/pliang279/MultiBench/issues/26"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=64)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        model.train()
        for inputs, labels in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model.train()  # bug
            F.cross_entropy(model(x[48:]), y[48:])  # here


def losses_of_the_validation_with_dropout(torch):
    """mode-validation: the loop over the validation batches never puts the network into eval mode.
    https://github.com/citoverse/cito/issues/55"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=60)
    net = nn.Sequential(nn.Linear(4, 20), nn.SELU(), nn.Dropout(0.2), nn.Linear(20, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    history = {"train": [], "valid": []}
    for _ in range(6):
        net.train()
        losses = []
        for inputs, targets in batches(12, x[:48], y[:48]):
            optimizer.zero_grad()
            loss = F.mse_loss(net(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history["train"].append(sum(losses) / len(losses))
        net.eval()  # fix
        with torch.no_grad():
            valid = [F.mse_loss(net(a), b).item() for a, b in batches(12, x[48:], y[48:])]  # here
        history["valid"].append(sum(valid) / len(valid))
