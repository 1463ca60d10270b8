"""Which parameters an optimizer holds, and which it should."""

from __future__ import annotations

from tests.doctor.corpus.parts import classes, images, perceptron, regression


def layers_in_a_list(torch):
    """not-held: layers in a plain list are not parameters of the module.
    https://github.com/pytorch/pytorch/issues/715"""
    nn = torch.nn
    x, y = classes(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(4, 8), nn.Linear(8, 8)]  # bug
            self.hidden = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])  # fix
            self.out = nn.Linear(8, 3)

        def forward(self, x):
            for layer in self.hidden:
                x = torch.relu(layer(x))  # here
            return self.out(x)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def branches_in_a_dict(torch):
    """not-held: branches in a plain dict are not parameters of the module.
    https://github.com/asyml/texar-pytorch/issues/72"""
    nn = torch.nn
    x, y = regression(torch)

    class Merge(nn.Module):
        def __init__(self):
            super().__init__()
            parts = {"left": nn.Linear(4, 4), "right": nn.Linear(4, 4)}
            self.branches = parts  # bug
            self.branches = nn.ModuleDict(parts)  # fix
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            parts = [torch.tanh(branch(x)) for branch in self.branches.values()]  # here
            return self.out(torch.cat(parts, dim=1))

    model = Merge()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def ten_networks_in_a_list(torch):
    """not-held: the networks of an ensemble are in a list; only the coordinator is trained.
    https://github.com/LianpoWang/SLIIF/issues/13"""
    nn = torch.nn
    x, y = regression(torch)

    class Ensemble(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = [perceptron(torch, 4, 4, 1) for _ in range(3)]  # bug
            self.parts = nn.ModuleList(perceptron(torch, 4, 4, 1) for _ in range(3))  # fix
            self.weight = nn.Linear(4, 3)

        def forward(self, x):
            outs = torch.cat([part(x) for part in self.parts], dim=1)  # here
            return (outs * self.weight(x).softmax(1)).sum(1, keepdim=True)

    model = Ensemble()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def parameter_wrapped_in_a_tensor(torch):
    """not-held: a learned scale that is a plain tensor is no parameter.
    https://github.com/pytorch/pytorch/issues/59925"""
    nn = torch.nn
    x, y = regression(torch)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 1)
            self.scale = torch.ones(1, requires_grad=True)  # bug
            self.scale = nn.Parameter(torch.ones(1))  # fix

        def forward(self, x):
            return self.scale * self.linear(x)  # here

    model = Scaled()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def same_discriminator_named_twice(torch):
    """not-held: the list of parameters names one discriminator twice and the other not at all.
    https://github.com/line/open-universe/issues/5"""
    F = torch.nn.functional
    first, second = perceptron(torch, 2, 8, 1), perceptron(torch, 2, 8, 1)
    params = list(first.parameters()) + list(first.parameters())[:0]  # bug
    params = list(first.parameters()) + list(second.parameters())  # fix
    optimizer = torch.optim.Adam(params, lr=0.01)  # here
    x, y = torch.randn(32, 2), (torch.arange(32) % 2).float().unsqueeze(1)
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(first(x), y)
        loss = loss + F.binary_cross_entropy_with_logits(second(x + 1), y)
        loss.backward()  # here
        optimizer.step()  # here


def optimizer_of_the_wrong_network(torch):
    """wrong-optimizer: the discriminator's optimizer holds the generator's parameters.
    https://github.com/zhaoyuzhi/deepfillv2/pull/3"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)  # bug
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)  # fix
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()  # here
        d_optimizer.step()  # here
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()
        g_optimizer.step()


def encoder_and_decoder_swapped(torch):
    """wrong-optimizer: each loss steps the optimizer of the other half.
    https://github.com/wiseodd/controlled-text-generation/issues/15"""
    F = torch.nn.functional
    x, y = regression(torch)
    encoder, decoder = perceptron(torch, 4, 8, 3), perceptron(torch, 3, 8, 4)
    e_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)  # bug
    d_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)  # bug
    e_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)  # fix
    d_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)  # fix
    for _ in range(20):
        e_optimizer.zero_grad()
        code = encoder(x)
        F.mse_loss(code[:, :1], y).backward()  # here
        e_optimizer.step()  # here
        d_optimizer.zero_grad()
        F.mse_loss(decoder(encoder(x).detach()), x).backward()  # here
        d_optimizer.step()  # here


def two_optimizers_on_the_same_parameters(torch):
    """held-twice: the second optimizer holds the model's parameters besides those of the head.
    https://github.com/bohaohuang/mrs/issues/68"""
    F = torch.nn.functional
    x, y = classes(torch)
    body, head = perceptron(torch, 4, 8, 8), torch.nn.Linear(8, 3)
    first = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)  # bug
    first = torch.optim.Adam(body.parameters(), lr=0.01)  # fix
    second = torch.optim.Adam(head.parameters(), lr=0.01)  # here
    for _ in range(20):
        first.zero_grad()
        second.zero_grad()
        F.cross_entropy(head(torch.tanh(body(x))), y).backward()
        first.step()
        second.step()  # here


def unfrozen_after_the_optimizer(torch):
    """not-held: the optimizer took only what could be trained before the backbone was unfrozen.
    https://github.com/fastai/fastai/issues/2133"""
    nn = torch.nn
    x, y = images(torch)
    backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
    head = nn.Linear(64, 3)
    model = nn.Sequential(backbone, head)
    for p in backbone.parameters():
        p.requires_grad = False
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=0.01)  # here
    for epoch in range(20):
        if epoch == 5:
            for p in backbone.parameters():
                p.requires_grad = True  # here
            optimizer.add_param_group({"params": list(backbone.parameters())})  # fix
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def names_and_parameters_swapped(torch):
    """freeze-failed: requires_grad is set on the module, which has no such switch.
    https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18"""
    nn = torch.nn
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)
    model[2].requires_grad = False  # bug
    model[2].requires_grad_(False)  # fix
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here


def projector_made_in_forward(torch):
    """parameter-anew: a layer is made in forward, so another one answers at every call.
    https://github.com/lucidrains/byol-pytorch/issues/89"""
    nn = torch.nn
    x, y = regression(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 8)
            self.project = nn.Linear(8, 1)  # fix

        def forward(self, x):
            h = torch.tanh(self.hidden(x))
            self.project = nn.Linear(8, 1)  # bug
            return self.project(h)  # here

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def constrained_by_a_new_parameter(torch):
    """parameter-anew: the clamped weight is wrapped in a Parameter, which cuts it off.
    https://github.com/square-coder/STGODE/issues/11"""
    nn = torch.nn
    x, y = regression(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.raw = nn.Parameter(torch.randn(4, 8) * 0.3)
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            weight = nn.Parameter(self.raw.clamp(-1, 1))  # bug
            weight = self.raw.clamp(-1, 1)  # fix
            return self.out(x @ weight)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
