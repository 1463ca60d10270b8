"""Reported as mistakes, and none: what the authors answered that it was meant so, or that it changes nothing."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, images, loader, perceptron, regression


def first_batch_of_a_shuffled_loader(torch):
    """next(iter(loader)) in every iteration: with shuffle=True each is another batch.
    https://github.com/leohsuofnthu/Pytorch-IterativeFCN/issues/7"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    train_loader = loader(torch, x, y, batch_size=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        inputs, targets = next(iter(train_loader))
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def warm_up_by_batches_then_steps_by_epochs(torch):
    """Two schedulers: one for the batches of the first epoch, the other for the epochs.
    https://github.com/pytorch/vision/issues/1261"""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    lr_scheduler = schedules.StepLR(optimizer, step_size=3, gamma=0.5)

    def train_one_epoch(epoch):
        warm_up = None
        if epoch == 0:
            warm_up = schedules.LinearLR(optimizer, start_factor=0.001, total_iters=7)
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            if warm_up is not None:
                warm_up.step()

    for epoch in range(6):
        train_one_epoch(epoch)
        lr_scheduler.step()


def dropout_that_says_it_is_always_on(torch):
    """Tacotron's prenet drops in inference, too: training=True is written out.
    https://github.com/BogiHsu/Tacotron2-PyTorch/issues/8"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Prenet(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 16), nn.Linear(16, 16)])

        def forward(self, x):
            for linear in self.layers:
                x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
            return x

    model = nn.Sequential(Prenet(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(8):
        model.train()
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            F.mse_loss(model(x), y)


def evaluated_as_another_network(torch):
    """train() is called once: each evaluation loads the weights into a network of its own.
    https://github.com/MILVLG/mcan-vqa/issues/26"""
    nn = torch.nn
    x, y = classes(torch)

    def build():
        return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))

    def evaluate(state):
        net = build()
        net.eval()
        net.load_state_dict(state)
        with torch.no_grad():
            return (net(x).argmax(1) == y).float().mean().item()

    net = build()
    net.train()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        if epoch % 5 == 4:
            evaluate(net.state_dict())


def one_number_against_one(torch):
    """The loss of a 0-dimensional prediction and a target of one element.
    https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/15"""
    states, rewards = torch.randn(24, 4), torch.randn(24)
    model = perceptron(torch, 4, 16, 3)
    loss_fn = torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for i in range(24):
        qval = model(states[i : i + 1])
        with torch.no_grad():
            aim = rewards[i] + 0.9 * model(states[i : i + 1]).max()
        wanted = torch.tensor([aim.item()])
        chosen = qval.squeeze()[i % 3]
        loss = loss_fn(chosen, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def trained_in_evaluation_mode(torch):
    """DeepLab on pretrained weights: eval() for the whole training, so that the norms keep their statistics.
    https://github.com/isht7/pytorch-deeplab-resnet/issues/39"""
    nn = torch.nn
    x, y = images(torch)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
    )
    for p in model[1].parameters():
        p.requires_grad = False
    model.eval()
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def masked_after_the_softmax_and_normalized_again(torch):
    """The mask comes behind the softmax, and what is left is divided by its sum: the same as before it.
    https://github.com/abisee/pointer-generator/issues/88"""
    nn = torch.nn
    x, y = torch.randn(16, 6, 4), torch.arange(16) % 3
    mask = (torch.arange(6) < torch.tensor([3, 4, 5, 6] * 4)[:, None]).float()
    energy, head = nn.Linear(4, 1), nn.Linear(4, 3)
    optimizer = torch.optim.Adam([*energy.parameters(), *head.parameters()], lr=0.01)
    for _ in range(15):
        attention = torch.softmax(energy(x).squeeze(2), 1) * mask
        attention = attention / attention.sum(1, keepdim=True)
        out = head((attention[:, :, None] * x).sum(1))
        optimizer.zero_grad()
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()


def loss_carried_by_a_function(torch):
    """An autograd.Function hands its input on and gives a balance loss the gradient 1.
    https://github.com/deepseek-ai/DeepSeek-MoE/issues/17"""
    nn = torch.nn
    x, y = classes(torch)

    class AddAuxiliaryLoss(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, loss):
            ctx.required = loss.requires_grad
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output, torch.ones(()) if ctx.required else None

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3)
            self.experts = nn.ModuleList([nn.Linear(4, 8) for _ in range(3)])

        def forward(self, x):
            weights = torch.softmax(self.gate(x), -1)
            mixed = sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))
            balance = 0.01 * 3 * weights.mean(0).square().sum()
            return AddAuxiliaryLoss.apply(mixed, balance)

    model = nn.Sequential(Mixture(), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def unlike_its_own_second_image(torch):
    """Diversity: the first image is driven away from a second one, which is detached.
    https://github.com/clovaai/stargan-v2/issues/99"""
    F = torch.nn.functional
    x = torch.randn(16, 4)
    generator = perceptron(torch, 6, 16, 4)
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for _ in range(15):
        fake = generator(torch.cat([x, torch.randn(16, 2)], 1))
        fake2 = generator(torch.cat([x, torch.randn(16, 2)], 1)).detach()
        loss_ds = (fake - fake2).abs().mean()
        loss = F.l1_loss(fake, x) - 0.1 * loss_ds
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def steps_counted_in_batches_and_called_in_batches(torch):
    """Warm-up and decay are meant per step, though the loop has epochs.
    https://github.com/crowsonkb/k-diffusion/issues/50"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def inverse(step):
        return (1 - 0.9 ** (step + 1)) * (1 + step / 100) ** -0.5

    sched = torch.optim.lr_scheduler.LambdaLR(optimizer, inverse)
    for _ in range(6):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            sched.step()
