"""Odd but right: loops as people write them in public that come near to a mistake and are none.

Each is a function of the engine, `torch`, and its docstring says what makes it easy to accuse and where it is from.
"""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import (
    batches,
    binary,
    classes,
    images,
    perceptron,
    regression,
    sentences,
    waves,
)


def group_relative_policy(torch):
    """exp(x - x.detach()) is always one, and keeps the gradient: meant so.
    https://github.com/huggingface/trl/issues/2769"""
    states, actions = torch.randn(32, 4), torch.randint(2, (32,))
    policy = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(15):
        log_p = torch.log_softmax(policy(states), 1)[torch.arange(32), actions]
        reward = (policy(states).argmax(1) == actions).float()
        advantage = (reward - reward.mean()) / (reward.std() + 1e-4)
        loss = -(torch.exp(log_p - log_p.detach()) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def log_softmax_taken_twice(torch):
    """log_softmax of a log_softmax is the same again; cross_entropy of it is right, if wasteful.
    https://github.com/bhanML/Co-teaching/issues/4"""
    x, y = classes(torch)
    model = torch.nn.Sequential(perceptron(torch, 4, 16, 3), torch.nn.LogSoftmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def eval_left_on_where_it_means_nothing(torch):
    """eval() is never undone, and no layer knows of modes.
    https://github.com/pytorch/tutorials/issues/1624"""
    x, y = classes(torch, n=60)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(x)


def teacher_with_batch_statistics(torch):
    """The teacher stays in training mode on purpose: its norms should see the student's batches.
    https://github.com/clovaai/overhaul-distillation/issues/37"""
    nn = torch.nn
    x, y = images(torch)

    def build(width):
        return nn.Sequential(
            nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * width, 3),
        )  # fmt: skip

    teacher, student = build(8), build(4)
    teacher.train()
    student.train()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    for _ in range(12):
        wanted = teacher(x).detach()
        out = student(x)
        loss = nn.functional.cross_entropy(out, y) + nn.functional.mse_loss(out, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def series_read_in_order(torch):
    """A forecast reads its windows in the order of time, unshuffled.
    https://github.com/pytorch/examples/tree/main/time_sequence_prediction"""
    series = torch.sin(torch.arange(200) * 0.1)
    windows = torch.stack([series[i : i + 8] for i in range(180)])
    ahead = series[8:188].unsqueeze(1)
    model = perceptron(torch, 8, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        for inputs, targets in batches(20, windows, ahead):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()


def whole_data_set_in_every_step(torch):
    """Full-batch gradient descent: the same batch for ever, because it is all there is.
    https://github.com/tkipf/pygcn/blob/master/pygcn/train.py"""
    x, y = classes(torch)
    adjacency = torch.eye(48) + 0.1 * torch.rand(48, 48)
    adjacency = adjacency / adjacency.sum(1, keepdim=True)
    first, second = torch.nn.Linear(4, 16), torch.nn.Linear(16, 3)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)
    for _ in range(30):
        hidden = torch.relu(adjacency @ first(x))
        logits = adjacency @ second(hidden)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits[:30], y[:30]).backward()
        optimizer.step()


def new_head_on_loaded_weights(torch):
    """Transfer: the weights are loaded, and the head is initialized anew.
    https://github.com/pytorch/tutorials/blob/main/beginner_source/transfer_learning_tutorial.py"""
    nn = torch.nn
    x, y = classes(torch)
    saved = nn.Sequential(perceptron(torch, 4, 16, 16), nn.Linear(16, 3)).state_dict()
    model = nn.Sequential(perceptron(torch, 4, 16, 16), nn.Linear(16, 3))
    model.load_state_dict(saved)
    model[1].reset_parameters()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def backbone_loaded_without_its_head(torch):
    """strict=False, and only the names of the head are missing.
    https://github.com/pytorch/vision/blob/main/references/detection/train.py"""
    nn = torch.nn
    x, y = classes(torch)
    saved = nn.ModuleDict({"body": perceptron(torch, 4, 16, 16)}).state_dict()
    model = nn.ModuleDict({"body": perceptron(torch, 4, 16, 16), "head": nn.Linear(16, 3)})
    model.load_state_dict(saved, strict=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model["head"](model["body"](x)), y).backward()
        optimizer.step()


def one_layer_used_three_times(torch):
    """ALBERT's way: all layers are one layer, listed several times.
    https://github.com/huggingface/transformers/blob/main/src/transformers/models/albert/modeling_albert.py"""
    nn = torch.nn
    x, y = regression(torch)

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.layer, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            x = self.first(x)
            for _ in range(3):
                x = x + torch.tanh(self.layer(x))
            return self.last(x)

    model = Shared()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def plateau_that_is_one(torch):
    """The loss does not come down any more, and the rate is reduced: as it should be.
    https://github.com/pytorch/pytorch/blob/main/torch/optim/lr_scheduler.py"""
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.5)
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step(loss.item())


def warm_restarts(torch):
    """The rate climbs again because the schedule is one with restarts.
    https://github.com/pytorch/pytorch/blob/main/torch/optim/lr_scheduler.py"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedules = torch.optim.lr_scheduler
    schedule = schedules.CosineAnnealingWarmRestarts(optimizer, T_0=8, T_mult=2)
    for _ in range(40):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


def triangular_rates_by_hand(torch):
    """Cyclical learning rates, written into the groups by hand.
    https://github.com/bckenstler/CLR"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(48):
        phase = abs((step % 16) / 8 - 1)
        for group in optimizer.param_groups:
            group["lr"] = 0.01 + 0.04 * (1 - phase)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def q_learning_without_a_target_network(torch):
    """The network makes its own targets under no_grad: the first form of deep Q-learning.
    https://github.com/pytorch/tutorials/issues/474"""
    states, actions = torch.randn(32, 4), torch.randint(2, (32,))
    rewards, after = torch.randn(32), torch.randn(32, 4)
    net = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.005)
    for _ in range(25):
        with torch.no_grad():
            wanted = rewards + 0.9 * net(after).max(1).values
        chosen = net(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        optimizer.zero_grad()
        torch.nn.functional.smooth_l1_loss(chosen, wanted).backward()
        optimizer.step()


def preferences_against_a_reference(torch):
    """DPO: the reference is a copy that is meant to stay as it is.
    https://github.com/eric-mitchell/direct-preference-optimization"""
    F = torch.nn.functional
    prompts, good, bad = torch.randn(24, 4), torch.arange(24) % 5, (torch.arange(24) + 2) % 5
    policy = perceptron(torch, 4, 16, 5)
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=0.001)

    def gap(model):
        log_p = torch.log_softmax(model(prompts), 1)
        return log_p[torch.arange(24), good] - log_p[torch.arange(24), bad]

    for _ in range(15):
        with torch.no_grad():
            before = gap(reference)
        loss = -F.logsigmoid(0.1 * (gap(policy) - before)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bootstrap_your_own_latent(torch):
    """BYOL: the target follows by a moving average in every training forward.
    https://github.com/lucidrains/byol-pytorch"""
    F = torch.nn.functional
    x = torch.randn(32, 4)
    online, predictor = perceptron(torch, 4, 16, 8), perceptron(torch, 8, 16, 8)
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=0.005)
    for _ in range(20):
        one, two = x + 0.1 * torch.randn(32, 4), x + 0.1 * torch.randn(32, 4)
        with torch.no_grad():
            wanted = target(two)
        loss = 2 - 2 * F.cosine_similarity(predictor(online(one)), wanted).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for t, o in zip(target.parameters(), online.parameters(), strict=True):
                t.mul_(0.99).add_(0.01 * o)


def codebook_moved_by_averages(torch):
    """VQ-VAE with an EMA codebook: a buffer that no gradient should reach.
    https://github.com/zalandoresearch/pytorch-vq-vae"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(48, 4)
    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
    book = torch.randn(6, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(20):
        z = encoder(x)
        index = torch.cdist(z.detach(), book).argmin(1)
        chosen = book[index]
        through = z + (chosen - z).detach()
        loss = F.mse_loss(decoder(through), x) + 0.25 * F.mse_loss(z, chosen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hot = F.one_hot(index, 6).float()
        mean = hot.T @ z.detach() / hot.sum(0).clamp(min=1).unsqueeze(1)
        book = torch.where(hot.sum(0).unsqueeze(1) > 0, 0.9 * book + 0.1 * mean, book)


def wasserstein_with_clipped_weights(torch):
    """WGAN: the critic's weights are clamped through .data after each step.
    https://github.com/martinarjovsky/WassersteinGAN"""
    g, d = perceptron(torch, 3, 12, 2), perceptron(torch, 2, 12, 1)
    g_optimizer = torch.optim.RMSprop(g.parameters(), lr=0.001)
    d_optimizer = torch.optim.RMSprop(d.parameters(), lr=0.001)
    for _ in range(6):
        for _ in range(3):
            d_optimizer.zero_grad()
            fake = g(torch.randn(16, 3)).detach()
            (d(fake).mean() - d(torch.randn(16, 2) + 2).mean()).backward()
            d_optimizer.step()
            for p in d.parameters():
                p.data.clamp_(-0.1, 0.1)
        g_optimizer.zero_grad()
        (-d(g(torch.randn(16, 3))).mean()).backward()
        g_optimizer.step()


def text_classes_that_count_from_zero(torch):
    """The embedding pads with 0, and class 0 is a class like any other.
    https://github.com/pytorch/text/blob/main/examples/text_classification/model.py"""
    nn = torch.nn
    text, _ = sentences(torch)
    text = text.clone()
    text[:, 4:] = 0
    labels = torch.arange(len(text)) % 3
    embed, out = nn.Embedding(11, 8, padding_idx=0), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*embed.parameters(), *out.parameters()], lr=0.02)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(out(embed(text).mean(1)), labels).backward()
        optimizer.step()


def masked_words_only(torch):
    """BERT: attention in both directions, and a loss of the masked words alone.
    https://github.com/codertimo/BERT-pytorch"""
    nn = torch.nn
    text, _ = sentences(torch)
    hidden = torch.rand(text.shape) < 0.3
    hidden[:, 0] = True
    seen = text.masked_fill(hidden, 10)
    wanted = text.masked_fill(~hidden, -100)
    layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True)
    embed, out = nn.Embedding(11, 12), nn.Linear(12, 11)
    parts = nn.ModuleList([embed, layer, out])
    optimizer = torch.optim.AdamW(parts.parameters(), lr=0.005)
    for _ in range(10):
        optimizer.zero_grad()
        logits = out(layer(embed(seen)))
        nn.functional.cross_entropy(logits.transpose(1, 2), wanted).backward()
        optimizer.step()


def residuals_that_start_as_nothing(torch):
    """ReZero and zero convolutions: whole branches start at exactly zero.
    https://github.com/majumderb/rezero"""
    nn = torch.nn
    x, y = classes(torch)

    class Rezero(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.gate = nn.Linear(8, 8), nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x + self.gate * torch.relu(self.layer(x))

    last = nn.Linear(8, 3)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    model = nn.Sequential(nn.Linear(4, 8), Rezero(), Rezero(), last)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def rare_positives(torch):
    """Most batches hold a single class, because the other one is rare.
    https://github.com/clcarwin/focal_loss_pytorch"""
    x = torch.randn(200, 4)
    y = (x.sum(1, keepdim=True) > 4.5).float()
    model = perceptron(torch, 4, 8, 1)
    weight = torch.tensor([20.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        order = torch.randperm(200)
        for inputs, targets in batches(10, x[order], y[order]):
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                model(inputs), targets, pos_weight=weight
            )
            loss.backward()
            optimizer.step()


def rest_of_the_window_stepped_at_the_end(torch):
    """Accumulation whose last, shorter window is stepped with its own divisor.
    https://github.com/huggingface/accelerate/blob/main/examples/by_feature/gradient_accumulation.py"""
    x, y = regression(torch, n=56)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        parts = list(batches(8, x, y))
        for start in range(0, len(parts), 3):
            window = parts[start : start + 3]
            for inputs, targets in window:
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                (loss / len(window)).backward()
            optimizer.step()
            optimizer.zero_grad()


def first_step_of_the_warm_up_at_zero(torch):
    """The warm-up begins at a rate of exactly zero, for one step.
    https://github.com/karpathy/nanoGPT/pull/578"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / 10))
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


def autoencoder_of_sequences(torch):
    """The target of a denoising autoencoder is its clean input.
    https://github.com/L1aoXingyu/pytorch-beginner/tree/master/08-AutoEncoder"""
    nn = torch.nn
    x, _ = waves(torch)
    encoder, decoder = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
    parts = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        out = decoder(encoder(x + 0.1 * torch.randn_like(x))[0])
        nn.functional.mse_loss(out, x).backward()
        optimizer.step()


def proximal_policy(torch):
    """PPO: in the first of its epochs the ratio is one, exactly.
    https://github.com/nikhilbarhate99/PPO-PyTorch"""
    policy, value = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.005)
    for _ in range(6):
        states = torch.randn(32, 4)
        with torch.no_grad():
            log_p = torch.log_softmax(policy(states), 1)
            actions = log_p.exp().multinomial(1).squeeze(1)
            old = log_p[torch.arange(32), actions]
        rewards = (states[:, 0] > 0).float() * (2 * actions - 1)
        for _ in range(4):
            new = torch.log_softmax(policy(states), 1)[torch.arange(32), actions]
            v = value(states).squeeze(1)
            advantage = rewards - v.detach()
            ratio = (new - old.detach()).exp()
            worst = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            loss = -worst.mean() + 0.5 * (v - rewards).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def siamese_with_stopped_gradients(torch):
    """SimSiam: each branch is the other's target, detached on purpose.
    https://github.com/facebookresearch/simsiam"""
    F = torch.nn.functional
    x = torch.randn(32, 4)
    encoder, predictor = perceptron(torch, 4, 16, 8), perceptron(torch, 8, 8, 8)
    optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05)
    for _ in range(15):
        z1, z2 = encoder(x + 0.1 * torch.randn(32, 4)), encoder(x + 0.1 * torch.randn(32, 4))
        p1, p2 = predictor(z1), predictor(z2)
        first = F.cosine_similarity(p1, z2.detach()).mean()
        second = F.cosine_similarity(p2, z1.detach()).mean()
        optimizer.zero_grad()
        (-0.5 * (first + second)).backward()
        optimizer.step()


def uncertainty_by_dropout(torch):
    """Monte Carlo dropout: predictions under no_grad with the dropout on, many times, on purpose.
    https://github.com/yaringal/DropoutUncertaintyExps"""
    nn = torch.nn
    x, y = regression(torch, n=60)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    with torch.no_grad():
        torch.stack([model(x[48:]) for _ in range(10)]).std(0)


def critic_watched_in_the_generator_step(torch):
    """The verdict on a detached fake is only for the log; the generator has a loss of its own.
    https://github.com/soumith/dcgan.torch"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 12, 2), perceptron(torch, 2, 12, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.005)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.005)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    seen = []
    for _ in range(15):
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()
        g_optimizer.step()
        seen.append(d(fake.detach()).mean().item())


def all_pairs_on_purpose(torch):
    """A metric loss: (N, 1, D) less (1, N, D) is meant to be all pairs.
    https://github.com/adambielski/siamese-triplet"""
    x, y = classes(torch, n=24)
    model = perceptron(torch, 4, 16, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    same = (y.unsqueeze(0) == y.unsqueeze(1)).float()
    for _ in range(15):
        z = model(x)
        apart = (z.unsqueeze(1) - z.unsqueeze(0)).pow(2).sum(-1)
        loss = (same * apart + (1 - same) * torch.relu(1 - apart)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def head_first_then_all(torch):
    """Two phases: the head alone, then everything, with a group added for the rest.
    https://github.com/fastai/fastai"""
    nn = torch.nn
    x, y = classes(torch)
    body, head = perceptron(torch, 4, 16, 16), nn.Linear(16, 3)
    body.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.02)
    for epoch in range(8):
        if epoch == 4:
            body.requires_grad_(True)
            optimizer.add_param_group({"params": list(body.parameters()), "lr": 0.002})
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(body(inputs)), targets).backward()
            optimizer.step()


def averaged_weights_in_and_out(torch):
    """The averaged weights go in for validation, and the trained ones come back.
    https://github.com/fadel/pytorch_ema"""
    x, y = binary(torch, n=60)
    model = perceptron(torch, 4, 8, 1)
    shadow = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            out = model(inputs)
            torch.nn.functional.binary_cross_entropy_with_logits(out, targets).backward()
            optimizer.step()
            for s, p in zip(shadow, model.parameters(), strict=True):
                s.mul_(0.9).add_(p.detach(), alpha=0.1)
        kept = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            for p, s in zip(model.parameters(), shadow, strict=True):
                p.copy_(s)
            model(x[48:])
            for p, k in zip(model.parameters(), kept, strict=True):
                p.copy_(k)


def rate_finder(torch):
    """Rates climb by a factor at each step until the loss explodes; then everything is put back.
    https://github.com/davidtvs/pytorch-lr-finder"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    for _ in range(25):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] *= 1.5
    model.load_state_dict(start)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(15):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
