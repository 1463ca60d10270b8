"""Hand-made gradients and losses of several parts: adversaries, inner loops, equations, learned weights."""

from __future__ import annotations

import math


def reversal_reversed_once_more(torch):
    """sign-twice: the layer negates the gradient and its factor is negative, so the features learn to tell the
    domains apart. The run shows it: behind the reversal the gradient points where it pointed before.
    https://github.com/CuthbertCai/pytorch_DANN/issues/10"""
    nn, F = torch.nn, torch.nn.functional
    gamma = -10  # bug
    gamma = 10  # fix

    class GRL(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, constant):
            ctx.constant = constant
            return x.view_as(x) * 1.0

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.neg() * ctx.constant, None  # here

    n = 64
    label = torch.arange(n) % 2
    source = torch.cat(
        [2.0 * label.unsqueeze(1) - 1 + 0.3 * torch.randn(n, 1), torch.randn(n, 1) + 1], 1
    )
    target = torch.cat(
        [2.0 * label.unsqueeze(1) - 1 + 0.3 * torch.randn(n, 1), torch.randn(n, 1) - 1], 1
    )
    extractor, classifier = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        extractor.weight.copy_(torch.eye(2))
        extractor.bias.zero_()
    domain_classifier = nn.Linear(2, 2)
    modules = nn.ModuleList([extractor, classifier, domain_classifier])
    optimizer = torch.optim.SGD(modules.parameters(), lr=0.05, weight_decay=1e-2)
    epochs, where = 300, torch.arange(2 * n) // n
    for epoch in range(epochs):
        p = epoch / epochs
        constant = 2.0 / (1.0 + math.exp(-gamma * p)) - 1
        src, tgt = extractor(source), extractor(target)
        class_loss = F.cross_entropy(classifier(src), label)
        both = GRL.apply(torch.cat([src, tgt]), constant)
        domain_loss = F.cross_entropy(domain_classifier(both), where)
        loss = class_loss + domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        gap = (extractor(source).mean(0) - extractor(target).mean(0)).norm().item()
    return gap < 1.6  # it was two before the features were adapted


def factor_missing_in_the_backward(torch):
    """gradient-wrong: a layer multiplies by a constant and hands the gradient on unmultiplied. The run shows it:
    finite differences of the layer disagree with its backward.
    https://github.com/zergtant/pytorch-handbook/issues/69"""

    class MulConstant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor, constant):
            ctx.constant = constant
            return tensor * constant

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output, None  # bug
            return grad_output * ctx.constant, None  # fix

    class Thermometer(torch.nn.Module):
        """Volts in, degrees out; the last factor is the sensor's."""

        def __init__(self, sensitivity):
            super().__init__()
            self.sensitivity = sensitivity
            self.inner = torch.nn.Linear(2, 1)

        def forward(self, volts):
            return MulConstant.apply(self.inner(volts), self.sensitivity)  # here

    volts = torch.randn(50, 2)
    degrees = -0.04 * (volts[:, :1] + 2 * volts[:, 1:])
    model = Thermometer(sensitivity=-0.02)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for i in range(150):
        loss = (model(volts) - degrees).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 50 == 0:
            print(i, loss.item())
    return loss.item() < 1e-3


def fast_weights_taken_anew_for_each_support_set(torch):
    """adaptation-undone: the copy of the weights is made inside the loop over support sets, so only the last
    adapts anything. The source shows it: what the loop computes is overwritten at its head.
    https://github.com/AntreasAntoniou/FewShotContinualLearning/pull/2"""
    F = torch.nn.functional

    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.slope = torch.nn.Parameter(torch.zeros(1))
            self.shift = torch.nn.Parameter(torch.zeros(1))

        def get_inner_loop_parameter_dict(self):
            return dict(self.named_parameters())

        def forward(self, x, params):
            return params["slope"] * x + params["shift"]

    def inner_update(model, names_weights, x, y, steps=4, lr=0.3):
        for _ in range(steps):
            loss = F.mse_loss(model(x, names_weights), y)
            grads = torch.autograd.grad(loss, list(names_weights.values()), create_graph=True)
            names = zip(names_weights.items(), grads, strict=True)
            names_weights = {name: weight - lr * grad for (name, weight), grad in names}
        return names_weights

    def forward_task(model, task):
        slope, shift = task
        names_weights_copy = model.get_inner_loop_parameter_dict()  # fix
        # the first set says how steep it is, the second only where it stands
        for sub_task in (torch.tensor([-1.0, 1.0]), torch.tensor([0.0])):
            names_weights_copy = model.get_inner_loop_parameter_dict()  # bug
            names_weights_copy = inner_update(  # here
                model, names_weights_copy, sub_task, slope * sub_task + shift
            )
        query = torch.linspace(-1, 1, 9)
        return F.mse_loss(model(query, names_weights_copy), slope * query + shift)

    model = Classifier()
    meta_optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        tasks = [torch.randn(2) * 2 for _ in range(4)]
        loss = sum(forward_task(model, task) for task in tasks) / len(tasks)
        meta_optimizer.zero_grad()
        loss.backward()
        meta_optimizer.step()
    final = [forward_task(model, torch.randn(2) * 2).item() for _ in range(30)]
    return sum(final) / 30 < 0.3


def uncertainties_no_optimizer_knows(torch):
    """not-held: the loss has parameters of its own, and the optimizer is made of the model's alone. The run shows
    it: they get gradients at every step and never move.
    https://github.com/ifzhang/FairMOT/issues/19"""
    nn = torch.nn

    class MotLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.s_det = nn.Parameter(-1.85 * torch.ones(1))
            self.s_id = nn.Parameter(-1.05 * torch.ones(1))

        def forward(self, outputs, batch):
            det_loss = nn.functional.l1_loss(outputs["hm"], batch["hm"])
            id_loss = nn.functional.cross_entropy(outputs["id"], batch["ids"])
            loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss
            return 0.5 * (loss + self.s_det + self.s_id).squeeze(0)

    class Tracker(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
            self.heads = nn.ModuleDict({"hm": nn.Linear(24, 1), "id": nn.Linear(24, 5)})

        def forward(self, x):
            features = self.backbone(x)
            return {name: head(features) for name, head in self.heads.items()}

    class BaseTrainer:
        def __init__(self, model, optimizer):
            self.model, self.optimizer, self.loss = model, optimizer, MotLoss()
            self.optimizer.add_param_group({"params": self.loss.parameters()})  # fix

        def run_epoch(self, batches):
            for batch in batches:
                loss = self.loss(self.model(batch["input"]), batch)  # here
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

    batches = []
    for _ in range(6):
        x = torch.randn(12, 6)
        batches.append({"input": x, "hm": x[:, :1].abs(), "ids": torch.randint(0, 5, (12,))})
    model = Tracker()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    trainer = BaseTrainer(model, optimizer)
    for _ in range(10):
        trainer.run_epoch(batches)
    return abs(trainer.loss.s_id.item() + 1.05) > 0.05


def laplacian_with_the_mixed_derivative(torch):
    """term-miswritten: both first derivatives are differentiated together, so the mixed one slips into the
    Laplacian. The source shows it: the derivative of a sum of two columns is read as that of one.
    https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4"""
    nn, autograd = torch.nn, torch.autograd

    class PINN(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.linears = nn.ModuleList(
                [nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)]
            )

        def forward(self, x):
            for linear in self.linears[:-1]:
                x = torch.tanh(linear(x))
            return self.linears[-1](x)

        def loss_bc(self, x_bc, u_bc):
            return nn.functional.mse_loss(self.forward(x_bc), u_bc)

        def loss_pde(self, x_pde, f):
            g = x_pde.clone()
            g.requires_grad = True
            u = self.forward(g)
            u_x = autograd.grad(u, g, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
            u_xx = autograd.grad(u_x, g, torch.ones_like(u_x), create_graph=True)[0]  # bug
            lap = u_xx[:, [0]] + u_xx[:, [1]]  # bug
            one = autograd.grad(u_x[:, 0].sum(), g, create_graph=True)[0][:, [0]]  # fix
            two = autograd.grad(u_x[:, 1].sum(), g, create_graph=True)[0][:, [1]]  # fix
            lap = one + two  # fix
            return (lap - f).pow(2).mean()

    def exact(x):
        return x[:, [0]] * x[:, [1]]  # harmonic

    side = torch.linspace(-1, 1, 9)
    ones = torch.ones(9)
    edges = [(side, ones), (side, -ones), (ones, side), (-ones, side)]
    x_bc = torch.cat([torch.stack(edge, 1) for edge in edges])
    x_pde = 2 * torch.rand(64, 2) - 1
    model = PINN([2, 20, 20, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(350):
        optimizer.zero_grad()
        loss = model.loss_bc(x_bc, exact(x_bc)) + model.loss_pde(x_pde, 0.0)  # here
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return (model(x_pde) - exact(x_pde)).abs().mean().item() < 0.08


def weight_added_to_its_term(torch):
    """weights-without-effect: a loss is weighted by adding its weight. The run shows it: the gradient does not
    depend on the weight.
    https://github.com/neuraloperator/neuraloperator/pull/619"""
    nn = torch.nn

    class PoissonEqnLoss:
        def __init__(self, interior_weight, boundary_weight):
            self.interior_weight, self.boundary_weight = interior_weight, boundary_weight

        def interior(self, u, source, h):
            second = (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2
            return (second - source[1:-1]).pow(2).mean()

        def boundary(self, u, u_boundary, where):
            return (u[where] - u_boundary).pow(2).mean()

        def __call__(self, u, source, h, u_boundary, where):
            interior_loss = self.interior(u, source, h)
            boundary_loss = self.boundary(u, u_boundary, where)
            loss = self.interior_weight + interior_loss  # bug
            loss = self.interior_weight * interior_loss  # fix
            return loss + self.boundary_weight * boundary_loss  # here

    # a plate that is held at both ends and propped up in the middle: there, the source is not known
    points = torch.linspace(0, 1, 13)
    source = -8.0 * torch.ones(13)
    where = torch.tensor([0, 6, 12])
    held = torch.tensor([0.0, -1.0, 0.0])
    network = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    criterion = PoissonEqnLoss(interior_weight=1e-4, boundary_weight=1.0)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for epoch in range(400):
        u = network(points.unsqueeze(1)).squeeze(1)
        loss = criterion(u, source, 1 / 12, held, where)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 100 == 0:
            print(epoch, loss.item())
    with torch.no_grad():
        u = network(points.unsqueeze(1)).squeeze(1)
        return criterion.boundary(u, held, where).item() < 0.02
