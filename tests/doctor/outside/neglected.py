"""Parts that are there and never move: unregistered, unheld, cut off, unused, or copied by name."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import batches, classes, images, perceptron, regression


def convolutions_of_three_widths_in_a_list(torch):
    """not-held: the convolutions for words of three widths stand in a list and are no parameters.
    https://github.com/pytorch/pytorch/issues/1053"""
    nn, F = torch.nn, torch.nn.functional

    class TextNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, 6)
            convs = [nn.Conv1d(6, 4, width) for width in (2, 3, 4)]
            self.convs = convs  # bug
            self.convs = nn.ModuleList(convs)  # fix
            self.out = nn.Linear(12, 2)

        def forward(self, words):
            x = self.embed(words).transpose(1, 2)
            pooled = [torch.relu(conv(x)).amax(2) for conv in self.convs]
            return self.out(torch.cat(pooled, 1))

    words = torch.randint(20, (32, 9))
    y = (words[:, 0] > 9).long()
    model = TextNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(12):
        optimizer.zero_grad()
        F.cross_entropy(model(words), y).backward()  # here
        optimizer.step()  # here


def layers_of_a_thesis_in_a_list(torch):
    """not-held: `self.my_modules = [...]` registers nothing, and nothing says so.
    https://github.com/pytorch/pytorch/issues/72580"""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self, depth=3):
            super().__init__()
            self.stem = nn.Conv2d(1, 4, 3, padding=1)
            self.my_modules = []  # bug
            self.my_modules = nn.ModuleList()  # fix
            for _ in range(depth):
                self.my_modules.append(nn.Conv2d(4, 4, 3, padding=1))
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            x = self.stem(x)
            for module in self.my_modules:
                x = x + torch.relu(module(x))
            return self.head(x.mean((2, 3)))

    x, y = images(torch)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)  # here
    for _ in range(12):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here


def layers_replaced_by_smaller_ones(torch):
    """not-held: pruning puts smaller layers in place, and the optimizer goes on with the old ones.
    https://github.com/microsoft/nni/issues/4521"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here

    def epoch():
        for inputs, labels in batches(12, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()  # here
            optimizer.step()  # here

    epoch()
    kept = model[0].weight.detach().norm(dim=1).topk(8).indices
    first, last = nn.Linear(4, 8), nn.Linear(8, 3)
    with torch.no_grad():
        first.weight.copy_(model[0].weight[kept])
        last.weight.copy_(model[2].weight[:, kept])
    model[0], model[2] = first, last  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # fix
    for _ in range(4):
        epoch()


def layers_switched_on_after_the_optimizer_was_made(torch):
    """not-held: the optimizer took what required a gradient at the start; other layers are switched on.
    https://github.com/OptimalScale/LMFlow/issues/726"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    blocks = [nn.Linear(8, 8) for _ in range(4)]
    model = nn.Sequential(nn.Linear(4, 8), *blocks, nn.Linear(8, 1))
    for block in blocks:
        block.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]  # bug
    trained = list(model.parameters())  # fix
    optimizer = torch.optim.AdamW(trained, lr=0.01)  # here
    for step in range(16):
        if step % 4 == 0:
            for i, block in enumerate(blocks):
                block.requires_grad_(i == (step // 4) % 4)  # here
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def appearance_codes_both_detached(torch):
    """cut: both codes of a reconstruction loss are detached in the encoder, so the loss moves nothing.
    https://github.com/NVlabs/DG-Net/issues/59"""
    nn, F = torch.nn, torch.nn.functional

    class Appearance(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.classify = nn.Linear(6, 8), nn.Linear(8, 3)

        def forward(self, x):
            f = torch.tanh(self.body(x))
            scores = self.classify(f)
            f = f.detach()  # bug
            return f, scores

    x, y = torch.randn(24, 6), torch.arange(24) % 3
    encoder, decoder = Appearance(), nn.Linear(8, 6)
    model = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        f, scores = encoder(x)
        again, _ = encoder(decoder(f).detach())
        loss_f = F.l1_loss(again, f)  # here
        loss = F.cross_entropy(scores, y) + F.mse_loss(decoder(f), x) + 0.5 * loss_f  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def adjacency_detached(torch):
    """cut: the learned adjacency is detached, so the two matrices it is made of never change.
    https://github.com/queenie88/A-GCN/issues/4"""
    nn, F = torch.nn, torch.nn.functional

    class Adaptive(nn.Module):
        def __init__(self):
            super().__init__()
            self.phi, self.theta = nn.Linear(4, 4), nn.Linear(4, 4)
            self.out = nn.Linear(4, 3)

        def forward(self, nodes):
            scores = self.phi(nodes) @ self.theta(nodes).transpose(1, 2)
            adj = torch.softmax(scores, -1)
            adj = adj.detach()  # bug
            return self.out(torch.relu(adj @ nodes)).mean(1)

    nodes, y = torch.randn(20, 5, 4), torch.arange(20) % 3
    model = Adaptive()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(12):
        loss = F.cross_entropy(model(nodes), y)
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here


def deconvolution_nobody_calls(torch):
    """layer-unused: a deconvolution is defined for the last level and no line of forward calls it.
    https://github.com/NVlabs/PWC-Net/issues/110"""
    nn, F = torch.nn, torch.nn.functional

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
            self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
            self.last_up = nn.ConvTranspose2d(2, 2, 4, stride=2, padding=1)  # bug

        def forward(self, x):
            return self.up(torch.relu(self.down(x)))

    x, _ = images(torch)
    flow = torch.cat([x, -x], 1)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(12):
        optimizer.zero_grad()
        F.mse_loss(model(x), flow).backward()  # here
        optimizer.step()  # here


def adversarial_loss_of_the_true_frame(torch):
    """cut: the generator's adversarial loss is taken of the true frame, which it did not make.
    https://github.com/SunnerLi/RecycleGAN/issues/2"""
    F = torch.nn.functional
    frames, _ = classes(torch)
    gen, disc = perceptron(torch, 4, 12, 4), perceptron(torch, 4, 8, 1)
    opt_g = torch.optim.Adam(gen.parameters(), lr=0.01)  # here
    opt_d = torch.optim.Adam(disc.parameters(), lr=0.01)
    for _ in range(12):
        fake = gen(torch.randn(48, 4))
        loss_d = F.mse_loss(disc(frames), torch.ones(48, 1))
        loss_d = loss_d + F.mse_loss(disc(fake.detach()), torch.zeros(48, 1))
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        last = frames  # bug
        last = fake  # fix
        loss_g = F.mse_loss(disc(last), torch.ones(48, 1))  # here
        opt_g.zero_grad()
        loss_g.backward()  # here
        opt_g.step()  # here


def gradient_switched_on_at_the_loss(torch):
    """cut: the embeddings have lost their past; requires_grad of the mean loss only silences the error.
    https://github.com/roman-vygon/triplet_loss_kws/issues/6"""
    F = torch.nn.functional
    x, _ = classes(torch, n=36)
    model = perceptron(torch, 4, 12, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        embedded = F.normalize(model(x), dim=1)
        embedded = torch.tensor(embedded.tolist())  # bug
        anchor, positive, negative = embedded[:12], embedded[12:24], embedded[24:]
        losses = F.relu((anchor - positive).norm(dim=1) - (anchor - negative).norm(dim=1) + 1)
        mean_losses = losses.mean()
        mean_losses.requires_grad_(True)  # bug
        mean_losses.backward()  # here
        optimizer.step()  # here


def knowledge_graph_keeps_its_newest(torch):
    """best-not-copied: the best state_dict of an embedding model is always the newest one.
    https://github.com/thunlp/OpenKE/pull/131"""
    nn, F = torch.nn, torch.nn.functional
    heads, tails = torch.randint(12, (40,)), torch.randint(12, (40,))
    model = nn.Embedding(12, 5)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    best, best_model = float("inf"), None
    for _ in range(10):
        optimizer.zero_grad()
        loss = F.softplus((model(heads) - model(tails)).norm(dim=1) - 1).mean()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best = loss.item()
            best_model = model.state_dict()  # bug
            best_model = copy.deepcopy(model.state_dict())  # fix
    model.load_state_dict(best_model)  # here


def few_shot_best_state_follows(torch):
    """best-not-copied: best_state is a reference to the state of the network, not a copy of it.
    https://github.com/sicara/easy-few-shot-learning/pull/129"""
    F = torch.nn.functional
    x, y = classes(torch, n=60)
    network = perceptron(torch, 4, 10, 3)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    best_state, best_score = network.state_dict(), -1.0  # here
    for _ in range(6):
        for inputs, labels in batches(12, x[:48], y[:48]):
            optimizer.zero_grad()
            F.cross_entropy(network(inputs), labels).backward()
            optimizer.step()
        with torch.no_grad():
            score = (network(x[48:]).argmax(1) == y[48:]).float().mean().item()
        if score > best_score:
            best_state, best_score = network.state_dict(), score  # bug
            best_state, best_score = copy.deepcopy(network.state_dict()), score  # fix
    network.load_state_dict(best_state)  # here


def transfer_tutorial_without_a_copy(torch):
    """best-not-copied: best_model_wts changes always to the last epoch's state.
    https://github.com/pytorch/tutorials/pull/188"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch, n=32)
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train_model(epochs=5):
        best_model_wts, best_acc = model.state_dict(), 0.0  # here
        for _ in range(epochs):
            for phase, part in (("train", slice(24)), ("val", slice(24, 32))):
                model.train(phase == "train")
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    scores = model(x[part])
                    loss = F.cross_entropy(scores, y[part])
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                accuracy = (scores.argmax(1) == y[part]).float().mean().item()
                if phase == "val" and accuracy >= best_acc:
                    best_acc, best_model_wts = accuracy, model.state_dict()  # bug
                    best_acc, best_model_wts = accuracy, copy.deepcopy(model.state_dict())  # fix
        model.load_state_dict(best_model_wts)  # here
        return model

    train_model()


def averages_looked_up_by_another_name(torch):
    """copy-frozen: the wrapper's names have a prefix, so update() finds none of them and skips them all.
    https://github.com/wandb/senpai/pull/2899"""
    nn, F = torch.nn, torch.nn.functional

    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    x, y = regression(torch)
    bare = perceptron(torch, 4, 8, 1)
    average, model = copy.deepcopy(bare), Wrapper(bare)
    shadow = dict(average.named_parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def update():
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                name = name.removeprefix("inner.")  # fix
                if name in shadow:  # here
                    shadow[name].mul_(0.9).add_(parameter, alpha=0.1)

    for _ in range(12):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        update()  # here
        with torch.no_grad():
            F.mse_loss(average(x), y)  # here


def statistics_of_the_average_stay_behind(torch):
    """copy-frozen: update() walks over the average's own buffers, so its statistics never move.
    https://github.com/lucidrains/ema-pytorch/issues/8"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=48)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    average = copy.deepcopy(model).eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def update():
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
            source = dict(average.named_buffers())  # bug
            source = dict(model.named_buffers())  # fix
            for name, buffer in average.named_buffers():
                buffer.copy_(source[name])  # here

    for _ in range(4):
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            update()  # here
        with torch.no_grad():
            F.mse_loss(average(x), y)  # here
