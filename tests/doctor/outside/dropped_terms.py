"""Terms that are computed and reach no backward, or reach it with nothing behind them."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, images, perceptron, regression


def speaker_loss_of_a_spectrogram_without_gradient(torch):
    """cut: the speaker encoder takes its spectrogram under no_grad, so its loss teaches the voice nothing.
    https://github.com/coqui-ai/TTS/issues/2348"""
    nn, F = torch.nn, torch.nn.functional
    text, wave = torch.randn(16, 6), torch.randn(16, 12)
    voice, torch_spec = perceptron(torch, 6, 16, 12), nn.Linear(12, 8, bias=False)

    class SpeakerEncoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(8, 4)

        def forward(self, x):
            with torch.no_grad():  # bug
                x = torch_spec(x)  # bug
            x = torch_spec(x)  # fix
            return F.normalize(self.net(x.tanh()), dim=1)

    encoder = SpeakerEncoder()
    for p in [*encoder.parameters(), *torch_spec.parameters()]:
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(voice.parameters(), lr=1e-3)
    for _ in range(20):
        made = voice(text)
        gt, syn = encoder(wave), encoder(made)
        loss_speaker = -F.cosine_similarity(gt, syn).mean()
        loss = F.l1_loss(made, wave) + 9.0 * loss_speaker  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def identity_loss_overwritten(torch):
    """term-dropped: the next term is assigned to the loss instead of being added to it.
    https://github.com/yuval-alaluf/restyle-encoder/issues/40"""
    F = torch.nn.functional
    x = torch.randn(32, 6)
    encoder, decoder, face = (perceptron(torch, 6, 12, 6) for _ in range(3))
    face.requires_grad_(False)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def calc_loss(x, y_hat, latent):
        loss = 0.0
        loss_dict = {}
        loss_id = 1 - F.cosine_similarity(face(y_hat), face(x)).mean()
        loss_dict["loss_id"] = float(loss_id)
        loss = loss_id * 0.5  # here
        loss_l2 = F.mse_loss(y_hat, x)
        loss_dict["loss_l2"] = float(loss_l2)
        loss = loss_l2 * 1.0  # bug
        loss += loss_l2 * 1.0  # fix
        loss_dict["loss"] = float(loss)
        return loss, loss_dict

    for (batch,) in [b for _ in range(4) for b in batches(8, x)]:
        latent = encoder(batch)
        optimizer.zero_grad()
        loss, _ = calc_loss(batch, decoder(latent), latent)
        loss.backward()
        optimizer.step()


def reconstruction_returned_without_its_auxiliary(torch):
    """term-dropped: the combined loss is logged, and the reconstruction alone is returned to backward.
    https://github.com/oclivegriffin/crosscode/pull/3"""
    nn = torch.nn
    x = torch.randn(64, 8)

    class Crosscoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(8, 24), nn.Linear(24, 8)

        def forward(self, x):
            latents = self.encode(x).relu()
            return latents, self.decode(latents)

    model = Crosscoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def calculate_loss_and_log(batch, log=False):
        latents, made = model(batch)
        reconstruction_loss = (made - batch).square().sum(-1).mean()
        aux_loss = (
            (model.decode(latents.square()) - (batch - made.detach())).square().sum(-1).mean()
        )
        loss = reconstruction_loss + aux_loss / 32  # here
        if log:
            float(loss.detach())
        return reconstruction_loss  # bug
        return loss  # fix

    for (batch,) in [b for _ in range(3) for b in batches(16, x)]:
        optimizer.zero_grad()
        calculate_loss_and_log(batch, log=True).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def constraint_instead_of_the_loss(torch):
    """term-dropped: where constraints are on, their loss takes the place of the model's.
    https://github.com/dair-iitd/openie6/issues/25"""
    nn = torch.nn
    x, y = classes(torch, n=48)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    def training_step(batch, constraints=True):
        words, labels = batch
        scores = model(words)
        loss = criterion(scores, labels)  # here
        if constraints:
            probabilities = scores.softmax(1)
            const_loss = (probabilities.sum(0) / len(words) - 0.4).relu().sum()
            loss = const_loss  # bug
            loss += const_loss  # fix
        return {"loss": loss}

    for batch in [b for _ in range(5) for b in batches(8, x, y)]:
        optimizer.zero_grad()
        training_step(batch)["loss"].backward()
        optimizer.step()


def edges_of_the_most_likely_class(torch):
    """cut: the edge loss is of the argmax of the prediction, which passes nothing back.
    https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3"""
    nn, F = torch.nn, torch.nn.functional
    image = torch.rand(8, 1, 6, 6)
    mask = (image[:, 0] > 0.5).long()

    class ImageGradientLoss(nn.Module):
        def forward(self, pred, gray):
            size = pred.shape
            pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()  # bug
            pred = pred.softmax(1)[:, 1:]  # fix
            dx, dy = pred.diff(dim=3), pred.diff(dim=2)
            gx, gy = gray.diff(dim=3), gray.diff(dim=2)
            return (dx.abs() * (1 - gx.abs())).mean() + (dy.abs() * (1 - gy.abs())).mean()

    net, edges = nn.Conv2d(1, 2, 3, padding=1), ImageGradientLoss()
    optimizer = torch.optim.Adadelta(net.parameters(), lr=1.0, eps=1e-7)
    for _ in range(16):
        optimizer.zero_grad()
        pred = net(image)
        loss = F.cross_entropy(pred, mask) + 0.5 * edges(pred, image)  # here
        loss.backward()  # here
        optimizer.step()


def codebook_loss_after_the_straight_through(torch):
    """cut: the loss of the codebook is of the vectors that already carry the encoder's gradient.
    https://github.com/andylolu2/jax-vqvae-gpt/issues/2"""
    nn = torch.nn
    x = torch.randn(32, 6)

    class Quantizer(nn.Module):
        def __init__(self, k=8, d=4):
            super().__init__()
            self.codebook = nn.Parameter(torch.randn(k, d))

        def forward(self, inputs):
            indices = torch.cdist(inputs.detach(), self.codebook.detach()).argmin(1)
            raw = self.codebook[indices]
            quantize = inputs + (raw - inputs).detach()  # here
            encoding_loss = (quantize.detach() - inputs).square().mean()
            commit_loss = (quantize - inputs.detach()).square().mean()  # bug
            commit_loss = (raw - inputs.detach()).square().mean()  # fix
            return quantize, encoding_loss, commit_loss

    encoder, decoder, quantizer = nn.Linear(6, 4), nn.Linear(4, 6), Quantizer()
    params = [p for m in (encoder, decoder, quantizer) for p in m.parameters()]
    optimizer = torch.optim.AdamW(params, lr=3e-3)
    for _ in range(16):
        q, encoding_loss, commit_loss = quantizer(encoder(x))
        loss = (decoder(q) - x).square().mean() + 0.25 * encoding_loss + commit_loss
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def value_detached_in_the_actors_loss(torch):
    """cut: the critic's verdict is detached in the actor's loss, so the actor maximizes its entropy alone.
    https://github.com/TianhongDai/reinforcement-learning-algorithms/issues/8"""
    F = torch.nn.functional
    obs = torch.randn(32, 3)
    actor, qf = perceptron(torch, 3, 16, 2), perceptron(torch, 4, 16, 1)
    actor_optim = torch.optim.Adam(actor.parameters(), lr=3e-4)
    qf_optim = torch.optim.Adam(qf.parameters(), lr=3e-4)
    alpha = 0.2
    for _ in range(16):
        action = torch.rand(32, 1) * 2 - 1
        q_loss = F.mse_loss(qf(torch.cat([obs, action], 1)), -(action - obs[:, :1]).square())
        qf_optim.zero_grad()
        q_loss.backward()
        qf_optim.step()
        mean, log_std = actor(obs).chunk(2, 1)
        pi = mean + log_std.clamp(-3, 1).exp() * torch.randn(32, 1)
        log_prob = -log_std.clamp(-3, 1)
        q_actions_ = qf(torch.cat([obs, pi.tanh()], 1))
        actor_loss = (alpha * log_prob - q_actions_.detach()).mean()  # bug
        actor_loss = (alpha * log_prob - q_actions_).mean()  # fix
        actor_optim.zero_grad()
        actor_loss.backward()  # here
        actor_optim.step()


def student_given_as_probabilities(torch):
    """loss-input: the distillation gives kl_div the student's probabilities, where it wants their logarithm.
    https://github.com/microsoft/ProDA/issues/43"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)
    model, teacher = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(1, 3, 3, padding=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(12):
        target_out = {"out": model(x)}
        loss = F.cross_entropy(target_out["out"].mean((2, 3)), y)
        student = F.softmax(target_out["out"], dim=1)  # bug
        student = F.log_softmax(target_out["out"], dim=1)  # fix
        with torch.no_grad():
            teacher_out = F.softmax(teacher(x), dim=1)
        loss_kd = F.kl_div(student, teacher_out, reduction="none")  # here
        keep = (teacher_out != 250).float()
        loss = loss + (loss_kd * keep).sum() / keep.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def smoothed_edges_of_a_triangle(torch):
    """non-finite: the loss of the mesh takes roots of squared lengths, which are 0 where two points meet.
    https://github.com/akanazawa/cmr/issues/11"""
    x, _ = regression(torch)
    offsets = torch.nn.Linear(4, 6)
    base = torch.zeros(3, 2)
    optimizer = torch.optim.Adam(offsets.parameters(), lr=1e-3)
    for _ in range(6):
        verts = base + offsets(x).view(-1, 3, 2)
        verts = torch.stack([verts[:, 0], verts[:, 1], verts[:, 1]], 1)
        a = (verts[:, 1] - verts[:, 0]).square().sum(1)
        b = (verts[:, 2] - verts[:, 1]).square().sum(1)
        edges = a.sqrt() + b.sqrt()  # bug
        edges = (a + 1e-6).sqrt() + (b + 1e-6).sqrt()  # fix
        loss = (edges - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def enclosing_box_of_equal_corners(torch):
    """non-finite: the width of the enclosing box is a root, whose slope is infinite for boxes of no width.
    https://github.com/lilanxiao/Rotated_IoU/issues/20"""
    x = torch.cat([torch.randn(12, 4), torch.zeros(4, 4)])
    net = torch.nn.Linear(4, 4, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(6):
        x1, y1, x2, y2 = net(x).unbind(1)
        num = torch.sqrt((y2 - y1).square() + (x2 - x1).square())  # bug
        num = torch.sqrt((y2 - y1).square() + (x2 - x1).square() + 1e-14)  # fix
        loss = (num - 1).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def gaussian_distance_without_a_floor(torch):
    """non-finite: the distance of two boxes is a root, and it is 0 as soon as a prediction is exact.
    https://github.com/open-mmlab/mmrotate/issues/205"""
    centers = torch.nn.Parameter(torch.zeros(8, 2))
    target = torch.cat([torch.zeros(2, 2), torch.randn(6, 2)])
    optimizer = torch.optim.SGD([centers], lr=0.05)

    def gd_loss(pred, target, tau=1.0):
        distance = (pred - target).square().sum(-1)
        distance = distance.clamp(0).sqrt()  # bug
        distance = distance.clamp(1e-7).sqrt()  # fix
        return (1 - 1 / (tau + torch.log1p(distance))).sum()

    for _ in range(6):
        optimizer.zero_grad()
        gd_loss(centers, target).backward()
        optimizer.step()
