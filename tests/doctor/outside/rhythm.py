"""The order of a step: clear, backward, clip, step, schedule; each in its place, each often enough."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, perceptron, regression


def adapters_never_cleared(torch):
    """accumulated: the trainer of low-rank adapters steps and never clears.
    https://github.com/tenstorrent/tt-blacksmith/pull/711"""
    nn, F = torch.nn, torch.nn.functional

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(4, 3)
            self.base.requires_grad_(False)
            self.down, self.up = nn.Linear(4, 2, bias=False), nn.Linear(2, 3, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    x, y = classes(torch)
    model = Adapted()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(4):
        for inputs, labels in batches(12, x, y):
            F.cross_entropy(model(inputs), labels).backward()  # here
            optimizer.step()  # here
            optimizer.zero_grad()  # fix


def cleared_at_the_head_of_every_micro_batch(torch):
    """cleared-early: zero_grad at the start of each iteration throws away what was accumulated.
    https://github.com/huggingface/accelerate/issues/1299"""
    F = torch.nn.functional
    x, y = regression(torch, n=64)
    model, every = perceptron(torch, 4, 12, 1), 4
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            optimizer.zero_grad()  # bug
            loss = F.mse_loss(model(inputs), targets) / every
            loss.backward()
            if (i + 1) % every == 0:
                optimizer.step()  # here
                optimizer.zero_grad()  # fix


def onsets_clipped_after_the_step(torch):
    """clipped-in-vain: clip_grad_norm_ stands behind backward and step, and before the next zero_grad.
    https://github.com/jongwook/onsets-and-frames/issues/24"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(8, 10, 3), torch.rand(8, 10, 2).round()
    lstm, out = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 2)
    model = nn.ModuleList([lstm, out])
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.98)
    for _ in range(15):
        losses = {"onset": F.binary_cross_entropy_with_logits(out(lstm(x)[0]), y)}
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # fix
        optimizer.step()
        scheduler.step()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # bug


def clipped_between_the_step_and_the_clearing(torch):
    """clipped-in-vain: the norm is clipped once the optimizer and its scheduler have stepped.
    https://github.com/taesunwhang/UMS-ResSel/issues/3"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    accumulated = 0
    for _ in range(3):
        for inputs, labels in batches(8, x, y):
            (F.cross_entropy(model(inputs), labels) / 2).backward()
            accumulated += 1
            if accumulated == 2:
                nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # fix
                optimizer.step()
                nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # bug
                optimizer.zero_grad()
                accumulated = 0


def clipping_that_does_nothing(torch):
    """clipped-in-vain: the model is clipped after opt.step(), and cleared before the next backward.
    https://github.com/VGraphRNN/VGRNN/issues/4"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(6, 8, 4), torch.randn(6, 8, 1) * 3
    rnn, out = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 1)
    params = [*rnn.parameters(), *out.parameters()]
    opt = torch.optim.Adam(params, lr=0.01)
    for _ in range(15):
        opt.zero_grad()
        loss = F.mse_loss(out(rnn(x)[0]), y)
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.1)  # fix
        opt.step()
        nn.utils.clip_grad_norm_(params, 0.1)  # bug


def client_clips_by_value_too_late(torch):
    """clipped-in-vain: the client clips the values of its gradients after its optimizer has stepped.
    https://github.com/APPFL/APPFL/pull/198"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=48)
    clients = [perceptron(torch, 4, 8, 1) for _ in range(2)]

    def local_update(model, x, y):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets * 5).backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.1)  # fix
            optimizer.step()
            nn.utils.clip_grad_value_(model.parameters(), 0.1)  # bug

    for _ in range(2):
        for i, client in enumerate(clients):
            local_update(client, x[i::2], y[i::2])


def horizon_in_epochs_stepped_per_update(torch):
    """schedule-period: a cosine's horizon is the number of epochs, and it is stepped once per update.
    https://github.com/ScrollPrize/villa/pull/1495"""
    F = torch.nn.functional
    x, y = regression(torch, n=80)
    model, epochs = perceptron(torch, 4, 12, 1), 8
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    horizon = epochs  # bug
    horizon = epochs * 10  # fix
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=horizon)  # here
    for _ in range(epochs):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            schedule.step()  # here


def schedules_made_and_never_stepped(torch):
    """schedule-never-stepped: with manual optimization nobody steps the two schedules, so no rate decays.
    https://github.com/voicepaw/so-vits-svc-fork/pull/291"""
    F = torch.nn.functional
    x, _ = classes(torch)
    gen, disc = perceptron(torch, 3, 12, 4), perceptron(torch, 4, 12, 1)
    opt_g = torch.optim.AdamW(gen.parameters(), lr=0.01)
    opt_d = torch.optim.AdamW(disc.parameters(), lr=0.01)
    schedule_g = torch.optim.lr_scheduler.ExponentialLR(opt_g, gamma=0.9)  # here
    schedule_d = torch.optim.lr_scheduler.ExponentialLR(opt_d, gamma=0.9)  # here
    for _ in range(8):
        for (real,) in batches(16, x):
            fake = gen(torch.randn(16, 3))
            loss_d = F.softplus(-disc(real)).mean() + F.softplus(disc(fake.detach())).mean()
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()
            loss_g = F.softplus(-disc(fake)).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
        schedule_g.step()  # fix
        schedule_d.step()  # fix


def mean_losses_summed_over_the_window(torch):
    """not-divided: the losses are means, so the sum over the window has to be divided by its length.
    https://github.com/ApolloResearch/e2e_sae/pull/70"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(96, 6)
    coder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
    optimizer = torch.optim.SGD(coder.parameters(), lr=0.01)
    steps = 4
    for _ in range(3):
        for i, (batch,) in enumerate(batches(8, x)):
            loss = F.mse_loss(coder(batch), batch) + 1e-3 * coder[:2](batch).abs().mean()
            loss = loss / steps  # fix
            loss.backward()  # here
            if (i + 1) % steps == 0:
                optimizer.step()  # here
                optimizer.zero_grad()


def window_without_a_division(torch):
    """not-divided: loss.backward() of each micro-batch is not normalized by the accumulation steps.
    https://github.com/karpathy/nanoGPT/issues/206"""
    F = torch.nn.functional
    x, y = classes(torch, n=96)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    micro_steps = 8
    parts = list(batches(6, x, y))
    for start in range(0, len(parts), micro_steps):
        for inputs, labels in parts[start : start + micro_steps]:
            loss = F.cross_entropy(model(inputs), labels)
            loss = loss / micro_steps  # fix
            loss.backward()  # here
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()  # here
        optimizer.zero_grad(set_to_none=True)
    for start in range(0, len(parts), micro_steps):
        for inputs, labels in parts[start : start + micro_steps]:
            loss = F.cross_entropy(model(inputs), labels)
            loss = loss / micro_steps  # fix
            loss.backward()  # here
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()  # here
        optimizer.zero_grad(set_to_none=True)


def generator_loss_accumulates_in_the_discriminator(torch):
    """accumulated: with accumulation nobody clears in between, and the tokenizer's loss is stepped, too.
    https://github.com/FoundationVision/OmniTokenizer/issues/15"""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch, n=64)
    coder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    disc = perceptron(torch, 4, 8, 1)
    opt_ae = torch.optim.Adam(coder.parameters(), lr=0.01)
    opt_disc = torch.optim.Adam(disc.parameters(), lr=0.01)
    for _ in range(4):
        for i, (batch,) in enumerate(batches(8, x)):
            fake = coder(batch)
            loss_ae = F.mse_loss(fake, batch) - 0.1 * disc(fake).mean()  # bug
            disc.requires_grad_(False)  # fix
            loss_ae = F.mse_loss(fake, batch) - 0.1 * disc(fake).mean()  # fix
            (loss_ae / 2).backward()  # here
            disc.requires_grad_(True)  # fix
            loss_disc = F.relu(1 - disc(batch)).mean() + F.relu(1 + disc(fake.detach())).mean()
            (loss_disc / 2).backward()  # here
            if i % 2:
                opt_ae.step()
                opt_disc.step()  # here
                opt_ae.zero_grad()
                opt_disc.zero_grad()


def discriminators_backward_without_a_step(torch):
    """never-stepped: the losses of both discriminators go backward, and no optimizer of theirs steps.
    https://github.com/zhaoyuzhi/DeblurGANv2-MobileNetv123-PyTorch/issues/7"""
    x, _ = classes(torch)
    gen, whole, patch = (perceptron(torch, *s) for s in ((4, 12, 4), (4, 8, 1), (2, 8, 1)))
    opt_g = torch.optim.Adam(gen.parameters(), lr=0.01)
    opt_d1 = torch.optim.Adam(whole.parameters(), lr=0.01)  # here
    opt_d2 = torch.optim.Adam(patch.parameters(), lr=0.01)  # here
    for _ in range(15):
        fake = gen(torch.randn(48, 4))
        for disc, opt_d, part in ((whole, opt_d1, slice(4)), (patch, opt_d2, slice(2))):
            opt_d.zero_grad()
            loss_d = disc(fake[:, part].detach()).mean() - disc(x[:, part]).mean()
            loss_d.backward()  # here
            opt_d.step()  # fix
        opt_g.zero_grad()
        (-whole(fake).mean() - patch(fake[:, :2]).mean()).backward()
        opt_g.step()
