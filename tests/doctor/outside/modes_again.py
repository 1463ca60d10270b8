"""Modes and parts of a model that are on when they should be off, or never run."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, images, loader, regression


def evaluated_for_the_log_and_never_back(torch):
    """mode-left: the runner evaluates every few steps for its log, and leaves the score network there.
    https://github.com/ermongroup/ncsn/issues/2"""
    nn = torch.nn

    class Runner:
        def __init__(self):
            self.score = nn.Sequential(
                nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Softplus(), nn.Linear(16, 4)
            )
            self.optimizer = torch.optim.Adam(self.score.parameters(), lr=1e-3)
            self.data, self.test = torch.randn(64, 4), torch.randn(16, 4)

        def denoising(self, batch, sigma=0.5):
            noise = sigma * torch.randn(batch.shape)
            return (self.score(batch + noise) + noise / sigma**2).square().sum(1).mean()

        def train(self):
            step = 0
            for _ in range(4):
                for (batch,) in batches(8, self.data):
                    step += 1
                    self.score.train()  # fix
                    loss = self.denoising(batch)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()  # here
                    if step % 5 == 0:
                        self.score.eval()  # here
                        with torch.no_grad():
                            self.denoising(self.test)

    Runner().train()


def trained_once_before_the_epochs(torch):
    """mode-left: model.train() stands before the loop over epochs, each of which ends in eval mode.
    https://github.com/optuna/optuna/pull/1725"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=48)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    model.train()  # bug
    for _epoch in range(6):
        model.train()  # fix
        for data, target in batches(16, x, y):
            optimizer.zero_grad()
            F.nll_loss(F.log_softmax(model(data), dim=1), target).backward()
            optimizer.step()  # here
        model.eval()  # here
        with torch.no_grad():
            (model(x).argmax(1) == y).float().mean().item()


def validated_several_times_an_epoch(torch):
    """mode-left: with more than one validation in an epoch, the batches after the first run in eval mode.
    https://github.com/webis-de/small-text/issues/40"""
    nn = torch.nn
    x, y = classes(torch, n=64)

    class Classification:
        def __init__(self, validations_per_epoch):
            self.model = nn.Sequential(
                nn.Linear(4, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 3)
            )
            self.criterion = nn.CrossEntropyLoss()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
            self.every = 8 // validations_per_epoch

        def validate(self):
            self.model.eval()  # here
            with torch.no_grad():
                return self.criterion(self.model(x[:16]), y[:16]).item()

        def process(self, batch):
            self.model.train()  # fix
            texts, labels = batch
            self.optimizer.zero_grad()
            self.criterion(self.model(texts), labels).backward()
            self.optimizer.step()  # here

        def fit(self, epochs):
            for _ in range(epochs):
                self.model.train()
                for i, batch in enumerate(batches(8, x, y)):
                    self.process(batch)
                    if (i + 1) % self.every == 0:
                        self.validate()

    Classification(validations_per_epoch=4).fit(epochs=4)


def dropout_made_outside_of_the_model(torch):
    """mode-validation: the dropout is a variable of forward's module that no model knows, so it never stops.
    https://github.com/Linardos/SalEMA/issues/6"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch, n=32)
    dropout2d = nn.Dropout2d(0.3)

    class Saliency(nn.Module):
        def __init__(self, dropout=True):
            super().__init__()
            self.dropout = dropout
            self.dropout2d = nn.Dropout2d(0.3)  # fix
            self.conv = nn.Conv2d(1, 4, 3, padding=1)
            self.out = nn.Linear(4 * 36, 3)

        def forward(self, x):
            x = self.conv(x).relu()
            if self.dropout is True:
                x = dropout2d(x)  # bug
                x = self.dropout2d(x)  # fix
            return self.out(x.flatten(1))

    model = Saliency()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        model.train()
        for batch, target in batches(8, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(batch), target).backward()
            optimizer.step()
        model.eval()  # here
        with torch.no_grad():
            model(x).argmax(1)


def dropout_of_the_block_never_called(torch):
    """layer-unused: the residual block makes a dropout of its argument, and forward does not call it.
    https://github.com/NX-AI/tirex/issues/19"""
    nn = torch.nn
    x, y = regression(torch)

    class ResidualBlock(nn.Module):
        def __init__(self, inputs, hidden, outputs, dropout=0.2):
            super().__init__()
            self.dropout = nn.Dropout(dropout)  # here
            self.hidden = nn.Linear(inputs, hidden)
            self.output = nn.Linear(hidden, outputs)
            self.residual = nn.Linear(inputs, outputs)

        def forward(self, x):
            out = self.output(self.hidden(x).relu())  # bug
            out = self.dropout(self.output(self.hidden(x).relu()))  # fix
            return out + self.residual(x)  # here

    model = ResidualBlock(4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(6):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            (model(inputs) - targets).square().mean().backward()
            optimizer.step()


def files_in_the_order_of_their_names(torch):
    """sorted-data: the loader is made without shuffling, and the files are sorted by their class.
    https://github.com/ultralytics/yolov5/issues/5622"""
    nn = torch.nn
    x, y = classes(torch, n=72)
    order = torch.argsort(y)
    x, y = x[order], y[order]
    train = loader(torch, x, y, batch_size=12, shuffle=False)  # bug
    train = loader(torch, x, y, batch_size=12, shuffle=True)  # fix
    model = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
    for _epoch in range(4):
        for batch, target in train:  # here
            loss = nn.functional.cross_entropy(model(batch), target)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def several_critic_steps_cleared_once(torch):
    """accumulated: the discriminator's gradients are cleared before its steps, not between them.
    https://github.com/ajbrock/BigGAN-PyTorch/issues/25"""
    nn = torch.nn
    D, G = nn.Linear(4, 1), nn.Linear(3, 4)
    d_optim = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.0, 0.999))
    g_optim = torch.optim.Adam(G.parameters(), lr=5e-5, betas=(0.0, 0.999))

    def train(x, num_d_steps=3):
        G.zero_grad()
        D.zero_grad()
        parts = x.split(8)
        for part in parts[:num_d_steps]:
            d_optim.zero_grad()  # fix
            fake = G(torch.randn(8, 3)).detach()
            d_loss = (1 - D(part)).relu().mean() + (1 + D(fake)).relu().mean()
            d_loss.backward()  # here
            d_optim.step()
        G.zero_grad()
        (-D(G(torch.randn(8, 3))).mean()).backward()
        g_optim.step()

    for _ in range(8):
        train(torch.randn(24, 4) + 1)


def binary_targets_of_a_column(torch):
    """broadcast: with one step to predict, the forecast is a column and the batch of targets is not.
    https://github.com/jsboige/CoursIA/pull/926"""
    nn = torch.nn
    x, y = binary(torch, n=64)

    class PatchNet(nn.Module):
        def __init__(self, pred_len):
            super().__init__()
            self.embed, self.head = nn.Linear(4, 16), nn.Linear(16, pred_len)

        def forward(self, window):
            return self.head(self.embed(window).tanh())

    model, criterion = PatchNet(pred_len=1), nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        for x_batch, y_batch in loader(torch, x, y.squeeze(1), batch_size=16):
            pred = model(x_batch)
            optimizer.zero_grad()
            loss = criterion(pred, y_batch)  # bug
            loss = criterion(pred, y_batch.view_as(pred))  # fix
            loss.backward()
            optimizer.step()
