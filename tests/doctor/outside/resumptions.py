"""What is kept, resumed, chosen or corrected between steps: checkpoints, best models, averages, optimizers."""

from __future__ import annotations

import copy


def optimizer_rebuilt_beside_the_one_that_is_saved(torch):
    """state-lost: the loop builds an optimizer of its own, so the checkpoint holds one that never made a step.
    The run shows it: the state that is saved is empty after training.
    https://github.com/CodefyUI/CodefyUI/pull/147"""
    x = torch.randn(64, 3)
    y = (x @ torch.tensor([1.0, -2.0, 3.0])).unsqueeze(1)

    class TrainingLoop:
        """A node of the graph: model and optimizer in, the same out."""

        def execute(self, model, optimizer, epochs):
            optimizer_cls, defaults = type(optimizer), dict(optimizer.defaults)
            optimizer = optimizer_cls(model.parameters(), **defaults)  # bug
            print(optimizer_cls.__name__, defaults["lr"])
            for _ in range(epochs):
                for k in range(0, 64, 16):
                    optimizer.zero_grad()
                    loss = torch.nn.functional.mse_loss(model(x[k : k + 16]), y[k : k + 16])
                    loss.backward()
                    optimizer.step()  # here
            return loss.item()

    class CheckpointSaver:
        def execute(self, model, optimizer):
            state = {"model": model.state_dict(), "optimizer_state_dict": optimizer.state_dict()}
            return copy.deepcopy(state)  # here

    class CheckpointLoader:
        def execute(self, state):
            model = torch.nn.Linear(3, 1)
            model.load_state_dict(state["model"])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            optimizer.load_state_dict(state["optimizer_state_dict"])
            return model, optimizer

    def fresh():
        model = torch.nn.Linear(3, 1)
        with torch.no_grad():
            model.weight.zero_()
            model.bias.zero_()
        return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    model, optimizer = fresh()
    TrainingLoop().execute(model, optimizer, 2)
    resumed, its_optimizer = CheckpointLoader().execute(CheckpointSaver().execute(model, optimizer))
    TrainingLoop().execute(resumed, its_optimizer, 1)

    straight, its_optimizer = fresh()
    TrainingLoop().execute(straight, its_optimizer, 3)
    return torch.allclose(resumed.weight, straight.weight, atol=1e-5)


def best_epoch_forgotten_at_a_restart(torch):
    """best-forgotten: the best loss is not in the checkpoint, so the first epoch after a restart overwrites the
    best model. The source shows it: what is compared with is saved nowhere.
    https://github.com/MIC-DKFZ/nnUNet/pull/401"""
    nn = torch.nn
    x = torch.randn(60, 4)
    y = torch.sin(x.sum(1, keepdim=True))
    disk = {}

    class NetworkTrainer:
        def __init__(self, lr):
            self.network = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
            self.optimizer = torch.optim.Adam(self.network.parameters(), lr=lr)
            self.best_val_loss, self.epoch = float("inf"), 0

        def save_checkpoint(self, name):
            disk[name] = {
                "epoch": self.epoch,
                "state_dict": copy.deepcopy(self.network.state_dict()),
                "optimizer_state_dict": copy.deepcopy(self.optimizer.state_dict()),
                "best_val_loss": self.best_val_loss,  # fix
            }

        def load_checkpoint(self, name):
            self.epoch = disk[name]["epoch"]
            self.network.load_state_dict(disk[name]["state_dict"])  # here
            self.best_val_loss = disk[name]["best_val_loss"]  # fix

        def validate(self):
            with torch.no_grad():
                return nn.functional.mse_loss(self.network(x[40:]), y[40:]).item()

        def run_training(self, until):
            while self.epoch < until:
                for part in torch.randperm(40).split(8):
                    self.optimizer.zero_grad()
                    nn.functional.mse_loss(self.network(x[part]), y[part]).backward()
                    self.optimizer.step()
                self.epoch += 1
                val_loss = self.validate()
                print(self.epoch, val_loss)
                if val_loss < self.best_val_loss:
                    self.best_val_loss = val_loss
                    self.save_checkpoint("model_best")  # here
            self.save_checkpoint("model_latest")

    NetworkTrainer(lr=0.01).run_training(until=25)
    good = disk["model_best"]["state_dict"]
    again = NetworkTrainer(lr=0.3)  # a rate that was tried and turned out too high
    again.load_checkpoint("model_latest")
    again.run_training(until=30)
    trainer = NetworkTrainer(lr=0.01)
    trainer.network.load_state_dict(good)
    before = trainer.validate()
    trainer.network.load_state_dict(disk["model_best"]["state_dict"])
    return trainer.validate() <= before


def score_of_which_the_smallest_is_kept(torch):
    """selection-reversed: the score is the negative error, and an epoch is kept when it is smaller. The run shows
    it: what was kept is worse than what was thrown away.
    https://github.com/microsoft/qlib/issues/263"""
    nn = torch.nn

    class TabnetModel:
        def __init__(self, d_feat, n_epochs=40, early_stop=6):
            self.n_epochs, self.early_stop = n_epochs, early_stop
            self.tabnet_model = nn.Sequential(nn.Linear(d_feat, 24), nn.ReLU(), nn.Linear(24, 1))
            self.train_optimizer = torch.optim.Adam(self.tabnet_model.parameters(), lr=0.01)

        def metric_fn(self, pred, label):
            return -((pred - label) ** 2).mean().item()

        def test_epoch(self, data_x, data_y):
            self.tabnet_model.eval()
            with torch.no_grad():
                return self.metric_fn(self.tabnet_model(data_x), data_y)

        def train_epoch(self, data_x, data_y):
            self.tabnet_model.train()
            for batch in torch.randperm(len(data_x)).split(16):
                loss = nn.functional.mse_loss(self.tabnet_model(data_x[batch]), data_y[batch])
                self.train_optimizer.zero_grad()
                loss.backward()
                self.train_optimizer.step()

        def fit(self, train, valid):
            stop_steps = 0
            best_score = float("inf")  # bug
            best_score = -float("inf")  # fix
            for epoch_idx in range(self.n_epochs):
                self.train_epoch(*train)
                val_score = self.test_epoch(*valid)
                improved = val_score < best_score  # bug
                improved = val_score > best_score  # fix
                if improved:
                    best_score = val_score
                    stop_steps = 0
                    best_param = copy.deepcopy(self.tabnet_model.state_dict())  # here
                else:
                    stop_steps += 1
                    if stop_steps >= self.early_stop:
                        print(f"early stop at {epoch_idx}")
                        break
            self.tabnet_model.load_state_dict(best_param)

    x = torch.randn(96, 6)
    y = x[:, :1] * 2 - x[:, 1:2]
    model = TabnetModel(d_feat=6)
    model.fit((x[:64], y[:64]), (x[64:], y[64:]))
    return model.test_epoch(x[64:], y[64:]) > -0.5


def average_too_coarse_to_move(torch):
    """update-rounded-away: the average is kept in bfloat16, where two thousandths of a weight are nothing. The
    run shows it: adding to the copy leaves its values as they were.
    https://github.com/d8ahazard/sd_dreambooth_extension/pull/1417"""

    class EMAModel:
        def __init__(self, model, decay, weight_dtype):
            self.decay, self.averaged_model = decay, copy.deepcopy(model)
            self.averaged_model.to(weight_dtype)  # bug
            self.averaged_model.to(torch.float32)  # fix
            self.averaged_model.requires_grad_(False)

        @torch.no_grad()
        def step(self, new_model):
            own = self.averaged_model.parameters()
            for mine, param in zip(own, new_model.parameters(), strict=True):
                mine.mul_(self.decay).add_(param.to(mine.dtype), alpha=1 - self.decay)  # here

    unet = torch.nn.Linear(6, 6)
    with torch.no_grad():
        unet.weight.add_(1.0)
    start = unet.weight.detach().clone()
    ema_model = EMAModel(unet, decay=0.998, weight_dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=2e-3, weight_decay=0.0)
    truth = 0.5 * torch.randn(6, 6)
    for step in range(1000):
        latents = torch.randn(8, 6)
        loss = torch.nn.functional.mse_loss(unet(latents), latents @ truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema_model.step(unet)
        if step % 250 == 0:
            print(step, loss.item())
    # five hundred steps are the memory of the average, and a thousand were made
    moved = (ema_model.averaged_model.weight.float() - start).norm().item()
    return moved > 0.4 * (unet.weight.detach() - start).norm().item()


def step_count_that_stays_at_one(torch):
    """correction-stays: the optimizer adds one to its count and keeps the old, so each step is corrected as the
    first. The run shows it: the state of a parameter has a count that does not grow.
    https://github.com/allenai/OLMo-core/pull/317"""

    class SkipStepAdamW(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0):
            super().__init__(
                params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
            )
            self.step_factor = 1.0

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                (beta1, beta2), lr = group["betas"], group["lr"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["step"] = torch.tensor(0.0)
                        state["exp_avg"] = torch.zeros_like(p)
                        state["exp_avg_sq"] = torch.zeros_like(p)
                    p.mul_(1 - self.step_factor * lr * group["weight_decay"])
                    state["exp_avg"].lerp_(p.grad, 1 - beta1)
                    state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                    step = state["step"] + self.step_factor  # bug
                    step = state["step"].add_(self.step_factor)  # fix
                    first = state["exp_avg"] / (1 - beta1 ** step.item())  # here
                    second = state["exp_avg_sq"] / (1 - beta2 ** step.item())
                    p.sub_(self.step_factor * lr * first / (second.sqrt() + group["eps"]))

    def train(optimizer_class):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optim = optimizer_class(model.parameters(), lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)
        for _ in range(60):
            tokens = torch.randn(16, 5)
            optim.zero_grad()
            (model(tokens) - tokens.prod(1, keepdim=True)).pow(2).mean().backward()
            optim.step()
        return model[0].weight.detach()

    return torch.allclose(train(SkipStepAdamW), train(torch.optim.AdamW), atol=1e-3)


def protected_weights_that_decay(torch):
    """frozen-decays: gradients outside of the mask are zeroed, and the decay shrinks those weights all the same.
    The run shows it: a weight whose gradient is always zero has moved.
    https://github.com/OPTML-Group/Unlearn-Saliency/issues/32"""
    nn = torch.nn
    x = torch.randn(64, 8)
    y = torch.randint(0, 4, (64,))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    criterion = nn.CrossEntropyLoss()

    warm = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        warm.zero_grad()
        criterion(model(x), y).backward()
        warm.step()

    # saliency: the third of the weights that matters most for what is to be forgotten
    forget = y == 0
    model.zero_grad()
    criterion(model(x[forget]), y[forget]).backward()
    mask = {}
    for name, param in model.named_parameters():
        size = param.grad.abs().flatten()
        mask[name] = (param.grad.abs() >= size.sort().values[len(size) * 2 // 3]).float()
    theta0 = {name: param.detach().clone() for name, param in model.named_parameters()}

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-3)
    for _epoch in range(15):
        for part in torch.randperm(64).split(16):
            labels = torch.where(y[part] == 0, torch.randint(1, 4, (len(part),)), y[part])
            optimizer.zero_grad()
            criterion(model(x[part]), labels).backward()
            for name, param in model.named_parameters():
                param.grad *= mask[name]
            optimizer.step()  # here
            with torch.no_grad():  # fix
                for name, param in model.named_parameters():  # fix
                    param.copy_(torch.where(mask[name] > 0, param, theta0[name]))  # fix
    kept = [
        torch.equal(param[mask[name] == 0], theta0[name][mask[name] == 0])
        for name, param in model.named_parameters()
    ]
    return all(kept)


def one_count_for_all_parameters(torch):
    """correction-runs-ahead: the count of steps is raised once a parameter, so the last ones are corrected as if
    long trained. The run shows it: two parameters of one step are corrected by different factors.
    https://github.com/flashlight/flashlight/issues/143"""
    nn = torch.nn

    class AdamOptimizer:
        def __init__(self, parameters, learning_rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
            self.parameters, self.lr = list(parameters), learning_rate
            self.beta1, self.beta2, self.eps, self.count = beta1, beta2, epsilon, 0
            self.biased_first = [torch.zeros_like(p) for p in self.parameters]
            self.biased_second = [torch.zeros_like(p) for p in self.parameters]

        def zero_grad(self):
            for p in self.parameters:
                p.grad = None

        @torch.no_grad()
        def step(self):
            self.count += 1  # fix
            for i, p in enumerate(self.parameters):
                if p.grad is None:
                    continue
                first, second = self.biased_first[i], self.biased_second[i]
                first.mul_(self.beta1).add_(p.grad, alpha=1 - self.beta1)
                second.mul_(self.beta2).add_(p.grad * p.grad, alpha=1 - self.beta2)
                self.count += 1  # bug
                corrected1 = 1 - self.beta1**self.count
                corrected2 = 1 - self.beta2**self.count
                corrected_lr = self.lr * corrected2**0.5 / corrected1  # here
                p.sub_(corrected_lr * first / (second.sqrt() + self.eps))

    def run(make):
        torch.manual_seed(2)
        net = nn.Sequential(
            nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 1)
        )
        opt = make(net.parameters())
        for _ in range(20):
            sound = torch.randn(8, 4)
            opt.zero_grad()
            nn.functional.l1_loss(net(sound), sound.norm(dim=1, keepdim=True)).backward()
            opt.step()
        return net[4].weight.detach()

    ours = run(lambda params: AdamOptimizer(params, 0.01))
    return torch.allclose(ours, run(lambda params: torch.optim.Adam(params, lr=0.01)), atol=1e-3)
