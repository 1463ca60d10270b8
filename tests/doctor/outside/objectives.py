"""What is minimized: inputs a loss does not take, terms that are left out, numbers that are none."""

from __future__ import annotations

from tests.doctor.corpus.parts import binary, classes, images, perceptron, regression


def auxiliary_classifier_of_probabilities(torch):
    """loss-input: the auxiliary classifier ends in Softmax and goes into NLLLoss.
    https://github.com/clvrai/ACGAN-PyTorch/pull/4"""
    nn = torch.nn

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.real, self.kind = nn.Linear(4, 16), nn.Linear(16, 1), nn.Linear(16, 3)
            self.softmax = nn.Softmax(dim=1)  # bug
            self.softmax = nn.LogSoftmax(dim=1)  # fix

        def forward(self, x):
            x = torch.tanh(self.body(x))
            return self.real(x), self.softmax(self.kind(x))  # here

    x, y = classes(torch)
    model, aux_criterion = Discriminator(), nn.NLLLoss()
    real = torch.ones(len(x), 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        judged, kinds = model(x)
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(judged, real)
        (loss + aux_criterion(kinds, y)).backward()  # here
        optimizer.step()


def movements_by_softmax_and_nll(torch):
    """loss-input: F.softmax where nll_loss wants log_softmax.
    https://github.com/midas-research/man-sf-emnlp/issues/2"""
    F = torch.nn.functional
    x, y = classes(torch, k=2)
    model = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        out = F.softmax(model(x), dim=1)  # bug
        out = F.log_softmax(model(x), dim=1)  # fix
        loss = F.nll_loss(out, y)  # here
        loss.backward()
        optimizer.step()


def recommender_with_two_sigmoids(torch):
    """loss-input: the score is a sigmoid already when BCEWithLogitsLoss takes it.
    https://github.com/yudi-mars/daisyRec/pull/15"""
    nn = torch.nn
    users, items = torch.arange(40) % 8, torch.arange(40) % 5
    label = ((users + items) % 2).float()

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(8, 6), nn.Embedding(5, 6)

        def forward(self, u, i):
            score = (self.user(u) * self.item(i)).sum(-1)
            return score.sigmoid()  # bug
            return score  # fix

    model, criterion = Factors(), nn.BCEWithLogitsLoss(reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(12):
        optimizer.zero_grad()
        criterion(model(users, items), label).backward()  # here
        optimizer.step()


def mask_through_a_sigmoid_twice(torch):
    """loss-input: the network returns a sigmoid, and the loss with logits takes it for a logit.
    https://github.com/avBuffer/UNet3plus_pth/issues/23"""
    nn = torch.nn

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 1, 3, padding=1)

        def forward(self, x):
            d1 = self.up(torch.relu(self.down(x)))
            return torch.sigmoid(d1)  # bug
            return d1  # fix

    x, _ = images(torch)
    masks = (x > 0.5).float()
    model, criterion = Unet(), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)
    for _ in range(10):
        loss = criterion(model(x), masks)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def second_term_is_the_first_again(torch):
    """term-unused: a copy-paste slip adds the first pair of losses twice; the rate's head gets nothing.
    https://github.com/nxsEdson/CVD-Physiological-Measurement/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    body, map_head, rate_head = nn.Linear(4, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    model = nn.ModuleList([body, map_head, rate_head])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        hidden = torch.tanh(body(x))
        loss_fn = F.mse_loss(map_head(hidden), y)
        loss_fhr = F.l1_loss(rate_head(hidden), 2 * y)  # here
        loss = loss_fn + 0.5 * loss_fn  # bug
        loss = loss_fn + 0.5 * loss_fhr  # fix
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()  # here
    assert loss_fhr is not None


def only_the_last_of_the_tasks(torch):
    """term-unused: the loss of each task replaces the one before instead of being added.
    https://github.com/samvanstroud/hepattn/pull/23"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    body = perceptron(torch, 4, 16, 16)
    heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])
    optimizer = torch.optim.Adam([*body.parameters(), *heads.parameters()], lr=0.01)  # here
    for _ in range(15):
        hidden, total = body(x), 0.0
        for i, head in enumerate(heads):
            total = F.mse_loss(head(hidden), (i + 1) * y)  # bug
            total = total + F.mse_loss(head(hidden), (i + 1) * y)  # fix
        optimizer.zero_grad()
        total.backward()  # here
        optimizer.step()  # here


def threshold_wrapped_in_a_tensor(torch):
    """cut: the thresholded prediction is wrapped in a new tensor that requires grad.
    https://github.com/qubvel-org/segmentation_models.pytorch/pull/611"""
    nn = torch.nn
    x, _ = images(torch)
    masks = (x > 0.5).float()
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))

    def dice(prediction, mask):
        p = prediction.sigmoid()
        p = (p > 0.5).float().detach().clone().requires_grad_()  # bug
        both = (p * mask).sum()
        return 1 - (2 * both + 1) / (p.sum() + mask.sum() + 1)  # here

    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        loss = dice(model(x), masks)  # here
        loss.backward()  # here
        optimizer.step()  # here


def regression_behind_a_relu(torch):
    """dead: the last layer of the proposals has a ReLU, and the offsets it should give are negative.
    https://github.com/tsinghua-rll/VoxelNet-tensorflow/issues/10"""
    nn = torch.nn
    x, y = regression(torch)
    offsets = -y.abs() - 0.5
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())  # bug
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))  # fix
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.smooth_l1_loss(model(x), offsets).backward()  # here
        optimizer.step()  # here


def every_weight_the_same(torch):
    """symmetric: all weights start at one number, so all units of a layer are one unit for ever.
    https://github.com/HomericIntelligence/Mnemosyne/pull/1987"""
    nn = torch.nn
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    for p in model.parameters():
        nn.init.constant_(p, 0.1)  # bug
        nn.init.normal_(p, std=0.3)  # fix
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(25):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def everything_starts_at_zero(torch):
    """symmetric: all weights start at zero; the hidden layers get no gradient, or all units the same.
    https://github.com/wagonhelm/NaNmnist/issues/2"""
    nn = torch.nn
    x, y = images(torch)
    flat = x.flatten(1)
    model = nn.Sequential(nn.Linear(36, 12), nn.Sigmoid(), nn.Linear(12, 3))
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.zeros_(m.weight)  # bug
            nn.init.xavier_normal_(m.weight)  # fix
            nn.init.zeros_(m.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(25):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(flat), y).backward()  # here
        optimizer.step()  # here


def branch_not_taken_gives_nan(torch):
    """non-finite: where() picks the safe branch, and the root of the other still gives NaN.
    https://github.com/pytorch/pytorch/issues/187297"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        optimizer.zero_grad()
        out = model(x)
        rooted = torch.where(out > 0, torch.sqrt(out), out)  # bug
        rooted = torch.where(out > 0, torch.sqrt(out.clamp(min=1e-6)), out)  # fix
        torch.nn.functional.mse_loss(rooted, y).backward()  # here
        optimizer.step()


def norm_with_its_epsilon_too_late(torch):
    """non-finite: the epsilon is added behind the root, so a silent frame has an infinite slope.
    https://github.com/mpariente/pytorch_stoi/issues/7"""
    x = torch.randn(12, 6)
    x[3] = 0.0
    clean = torch.randn(12, 6)
    gain = torch.nn.Linear(6, 6, bias=False)
    optimizer = torch.optim.Adam(gain.parameters(), lr=0.01)
    for _ in range(8):
        optimizer.zero_grad()
        out = gain(x)
        energy = out.pow(2).sum(1, keepdim=True)
        out = out / (energy.sqrt() + 1e-8)  # bug
        out = out / (energy + 1e-8).sqrt()  # fix
        torch.nn.functional.mse_loss(out, clean).backward()  # here
        optimizer.step()


def focal_power_of_a_certain_prediction(torch):
    """non-finite: (1 - p) to a power below one has an infinite slope where p is exactly 1.
    https://github.com/kornia/kornia/issues/918"""
    x, y = binary(torch)
    x = x * 60
    model = torch.nn.Linear(4, 1)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    eps = 1e-6
    for _ in range(8):
        p = torch.sigmoid(model(x))
        hard = (1 - p).pow(0.5) * y + p.pow(0.5) * (1 - y)  # bug
        hard = (1 - p + eps).pow(0.5) * y + (p + eps).pow(0.5) * (1 - y)  # fix
        likely = y * torch.log(p + eps) + (1 - y) * torch.log(1 - p + eps)
        loss = -(hard * likely).mean()
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def class_without_a_positive(torch):
    """non-finite: a sample with no other of its class divides by zero, and the loss is NaN.
    https://github.com/HobbitLong/SupContrast/pull/142"""
    F = torch.nn.functional
    x, _ = classes(torch, n=24)
    y = torch.arange(24) % 3
    y[0] = 7
    model = perceptron(torch, 4, 16, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        z = F.normalize(model(x))
        similar = z @ z.T / 0.5
        other = 1 - torch.eye(24)
        same = (y.unsqueeze(0) == y.unsqueeze(1)).float() * other
        log_p = similar - torch.log((similar.exp() * other).sum(1, keepdim=True))
        pairs = same.sum(1)  # bug
        pairs = same.sum(1).clamp(min=1)  # fix
        loss = -((same * log_p).sum(1) / pairs).mean()  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def logarithm_of_a_masked_probability(torch):
    """non-finite: a large negative logit has probability 0, and its logarithm meets a zero weight.
    https://github.com/Alibaba-MIIL/ASL/pull/6"""
    x, y = binary(torch)
    x = x * 80
    model = torch.nn.Linear(4, 1)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(8):
        p = torch.sigmoid(model(x))
        right, wrong = p, 1 - p  # bug
        right, wrong = p.clamp(min=1e-8), (1 - p).clamp(min=1e-8)  # fix
        likely = y * torch.log(right) + (1 - y) * torch.log(wrong)  # here
        loss = -likely.mean()
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()
