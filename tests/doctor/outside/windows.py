"""Between one step and the next: clearing, summing up, scaling and clipping at the wrong moment."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, perceptron, regression


def cleared_at_every_micro_batch(torch):
    """cleared-early: gradients are cleared in the inner loop that should add them up.
    https://github.com/bytetriper/RAE/issues/67"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad(set_to_none=True)  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad(set_to_none=True)  # bug
            (torch.nn.functional.mse_loss(model(inputs), targets) / 4).backward()
        optimizer.step()  # here


def rest_of_the_epoch_thrown_away(torch):
    """cleared-early: the epoch begins with zero_grad, which throws away what the last one left unstepped.
    https://github.com/ultralytics/ultralytics/pull/11217"""
    x, y = classes(torch, n=60)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    size = 4  # bug
    size = 3  # fix
    for _ in range(5):
        optimizer.zero_grad()  # here
        for i, (inputs, targets) in enumerate(batches(10, x, y)):
            (torch.nn.functional.cross_entropy(model(inputs), targets) / size).backward()
            if (i + 1) % size == 0:
                optimizer.step()
                optimizer.zero_grad()


def last_batches_under_the_threshold(torch):
    """cleared-early: a step waits for a number of samples; the last of each epoch are never used.
    https://github.com/tomhosking/torchseq/issues/8"""
    x, y = regression(torch, n=56)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()  # here
        seen = 0
        for start in range(0, 56, 8):
            inputs, targets = x[start : start + 8], y[start : start + 8]
            size = 3  # bug
            size = 3 if start < 48 else 1  # fix
            (torch.nn.functional.mse_loss(model(inputs), targets) / size).backward()
            seen += 8
            full = seen >= 24  # bug
            full = seen >= 24 or start == 48  # fix
            if full:
                optimizer.step()
                optimizer.zero_grad()
                seen = 0


def division_by_the_accumulation_missing(torch):
    """not-divided: gradient_acc backwards make a step, and nothing divides by gradient_acc.
    https://github.com/deepinsight/insightface/issues/2258"""
    x, y = classes(torch, n=96)
    backbone, head = perceptron(torch, 4, 16, 8), torch.nn.Linear(8, 3)
    parameters = [*backbone.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=5e-4)
    gradient_acc = 4
    for _ in range(3):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            loss = torch.nn.functional.cross_entropy(head(backbone(inputs)), targets)
            loss = loss / gradient_acc  # fix
            loss.backward()  # here
            if (i + 1) % gradient_acc == 0:
                optimizer.step()  # here
                optimizer.zero_grad()


def clipped_while_scaled(torch):
    """clipped-scaled: clip_grad_norm_ sees gradients that are still multiplied by the scale.
    https://github.com/pytorch/examples/issues/1196"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(12):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # fix
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
        scaler.step(optimizer)
        scaler.update()


def both_the_scaler_and_the_optimizer_step(torch):
    """stepped-twice: after the scaler has stepped, the optimizer is stepped once more.
    https://github.com/IAHispano/Applio/pull/860"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # here
        optimizer.step()  # bug
        scaler.update()


def clipping_with_an_exhausted_generator(torch):
    """clipped-in-vain: the norm uses up the generator of parameters, so nothing is left to be clipped.
    https://github.com/pytorch/torchtitan/pull/1258"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(12):
        optimizer.zero_grad()
        (50 * torch.nn.functional.mse_loss(model(x), y)).backward()
        parameters = model.parameters()  # bug
        parameters = list(model.parameters())  # fix
        norm = sum(p.grad.pow(2).sum() for p in parameters).sqrt()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # here
        assert float(norm) > 0
        optimizer.step()


def clipped_gradients_thrown_away(torch):
    """clipped-in-vain: the clipped gradients are computed, and the others are used.
    https://github.com/NVIDIA/OpenSeq2Seq/pull/192"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        (50 * torch.nn.functional.mse_loss(model(x), y)).backward()
        for p in model.parameters():
            p.grad.clamp(-1.0, 1.0)  # bug
            p.grad.clamp_(-1.0, 1.0)  # fix
        optimizer.step()


def cleared_outside_the_training_stage(torch):
    """accumulated: zero_grad stands before the loop over the data.
    https://github.com/salesforce/corr_based_prediction/issues/1"""
    x, y = classes(torch, n=48)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()  # fix
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()  # here
            optimizer.step()  # here


def trainer_without_zero_grad(torch):
    """accumulated: the base trainer has no zero_grad at all.
    https://github.com/yastrebksv/TennisCourtDetector/issues/7"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

    def train_step(inputs, targets):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()  # fix
        loss.backward()  # here
        optimizer.step()  # here
        return loss.item()

    for _ in range(12):
        train_step(x, y)


def stepped_inside_and_outside_the_condition(torch):
    """accumulated: besides the step of each full window there is one for every batch of it.
    https://github.com/mzolfaghari/ECO-pytorch/pull/1"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    iter_size = 4
    for _ in range(3):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets) / iter_size
            loss.backward()  # here
            if (i + 1) % iter_size == 0:
                optimizer.step()  # here
                optimizer.zero_grad()
            else:  # bug
                optimizer.step()  # bug
