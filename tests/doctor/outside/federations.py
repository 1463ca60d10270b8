"""Many models and one average: servers, clients, folds, and layers that were to differ."""

from __future__ import annotations

import copy


def server_sum_kept_from_round_to_round(torch):
    """sum-not-reset: the server's weighted sum starts from the last round's. The run shows it: after the second
    round the global weights are no average of what the clients sent.
    https://github.com/cisco-open/flame/pull/95"""
    nn, F = torch.nn, torch.nn.functional
    slope = torch.tensor([[1.0], [-2.0], [0.5]])

    class Client:
        def __init__(self, samples):
            self.x = torch.randn(samples, 3)
            self.y = self.x @ slope + 0.05 * torch.randn(samples, 1)

        def train(self, state, epochs=5):
            local = nn.Linear(3, 1)
            local.load_state_dict(state)
            optimizer = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(epochs):
                optimizer.zero_grad()
                F.mse_loss(local(self.x), self.y).backward()
                optimizer.step()
            return local.state_dict(), len(self.x)

    class FedAvg:
        def __init__(self, model):
            self.model = model
            self.agg_weights = None

        def do(self, cache):
            self.agg_weights = None  # fix
            total = sum(count for _, count in cache)
            for weights, count in cache:
                rate = count / total
                if self.agg_weights is None:
                    self.agg_weights = {name: w * rate for name, w in weights.items()}
                    continue
                for name in weights:
                    self.agg_weights[name] = self.agg_weights[name] + weights[name] * rate  # here
            self.model.load_state_dict(self.agg_weights)

    server = FedAvg(nn.Linear(3, 1))
    clients = [Client(16), Client(24), Client(40)]
    for _ in range(8):
        server.do([client.train(server.model.state_dict()) for client in clients])
    x = torch.randn(100, 3)
    with torch.no_grad():
        return F.mse_loss(server.model(x), x @ slope).item() < 0.05


def average_written_into_the_first_model(torch):
    """average-aliases: the averaged model is the first client's own, whose personal weights are lost. The source
    shows it: what is filled in is an element of the list, and no copy.
    https://github.com/OpenMined/PySyft/issues/3613"""
    nn = torch.nn
    criterion = nn.MSELoss()

    def federated_avg(models):
        nr_models = len(models)
        model_list = list(models.values())
        model = model_list[0]  # bug
        model = copy.deepcopy(model_list[0])  # fix
        with torch.no_grad():
            for own, *others in zip(*(m.parameters() for m in [model, *model_list]), strict=True):
                own.copy_(sum(others) / nr_models)  # here
        return model

    # every hospital measures the same thing on another scale
    hospitals, data = ("alice", "bob", "carol"), {}
    for i, name in enumerate(hospitals):
        x = torch.randn(32, 2)
        data[name] = x, (i + 1.0) * x.sum(1, keepdim=True)
    models = {name: nn.Linear(2, 1) for name in hospitals}
    optims = {n: torch.optim.Adam(m.parameters(), lr=0.05) for n, m in models.items()}

    for _ in range(5):
        for name in hospitals:
            x, y = data[name]
            for _ in range(40):
                optims[name].zero_grad()
                criterion(models[name](x), y).backward()
                optims[name].step()
        shared = federated_avg(models)
        print("shared:", [round(p.sum().item(), 3) for p in shared.parameters()])

    with torch.no_grad():
        personal = [criterion(models[n](data[n][0]), data[n][1]).item() for n in hospitals]
    return max(personal) < 0.2


def clients_weighted_by_the_wrong_fraction(torch):
    """average-no-average: the shares of the clients sum to more than one when more of them take part. The run
    shows it: the global weights lie outside of those they are the mean of.
    https://github.com/ssg-research/WAFFLE/issues/6"""
    num_clients, client_subset, rounds = 8, 4, 12
    w_true = torch.tensor([2.0, -1.0, 0.5, 3.0])
    xs = [torch.randn(20, 4) for _ in range(num_clients)]
    ys = [x @ w_true for x in xs]

    def calculate_weight(updated_w, client_subset, num_clients, model):
        with torch.set_grad_enabled(False):
            for i, (_, param) in enumerate(model.named_parameters()):
                updated_w[i] += (client_subset * param) / num_clients  # bug
                updated_w[i] += param / client_subset  # fix

    global_model = torch.nn.Linear(4, 1, bias=False)
    for r in range(rounds):
        updated_w = [torch.zeros_like(p) for p in global_model.parameters()]
        for k in range(client_subset):
            who = (r * client_subset + k) % num_clients
            local = copy.deepcopy(global_model)
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(6):
                opt.zero_grad()
                ((local(xs[who]).squeeze(1) - ys[who]) ** 2).mean().backward()
                opt.step()
            calculate_weight(updated_w, client_subset, num_clients, local)
        with torch.no_grad():
            for p, w in zip(global_model.parameters(), updated_w, strict=True):
                p.copy_(w)
    return (global_model.weight[0] - w_true).abs().max().item() < 0.2


def folds_that_share_one_network(torch):
    """fold-leak: network and optimizer are made before the loop over folds, so each fold is validated on samples
    that earlier folds trained on. The source shows it: nothing in the loop makes them anew.
    https://github.com/kkraoj/lfmc_from_sar/issues/5"""
    nn = torch.nn
    n, folds = 48, 4
    sites = torch.randn(n, 32)
    wet = (torch.rand(n) > 0.5).long()  # there is nothing to learn

    def build_model():
        net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
        return net, torch.optim.Adam(net.parameters(), lr=0.01)

    order = torch.randperm(n)
    model, optimizer = build_model()  # bug
    scores = []
    for fold in range(folds):
        model, optimizer = build_model()  # fix
        test = order[fold::folds]
        train = torch.tensor([i for i in order.tolist() if i not in set(test.tolist())])
        for _epoch in range(40):
            for batch in train.split(12):
                loss = nn.functional.cross_entropy(model(sites[batch]), wet[batch])  # here
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            accuracy = (model(sites[test]).argmax(1) == wet[test]).float().mean().item()
        print(f"fold {fold}: {accuracy:.2f}")
        scores.append(accuracy)
    return sum(scores) / folds < 0.72


def layers_drawn_from_one_seed(torch):
    """drawn-alike: each layer is drawn with the seed of the network, so layers of one size start equal. The run
    shows it: two parameters that are drawn apart have the same values.
    https://github.com/netket/netket/issues/241"""

    class FullyConnected(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(size, size))

        def init_random_parameters(self, seed):
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                self.weight.copy_(0.4 * torch.randn(self.weight.shape, generator=generator))  # here

        def forward(self, v):
            return torch.relu(v @ self.weight.t())

    class FFNN(torch.nn.Module):
        def __init__(self, size, depth):
            super().__init__()
            self.layers = torch.nn.ModuleList([FullyConnected(size) for _ in range(depth)])

        def init_random_parameters(self, seed):
            for i, layer in enumerate(self.layers):
                layer.init_random_parameters(seed)  # bug
                layer.init_random_parameters(seed + i)  # fix

        def forward(self, v):
            for layer in self.layers:
                v = layer(v)
            return v.sum(1)

    machine = FFNN(size=5, depth=3)
    machine.init_random_parameters(seed=13579)
    start = [layer.weight.detach().clone() for layer in machine.layers]
    spins = torch.randint(2, (40, 5)).float() * 2 - 1
    energy = (spins[:, :-1] * spins[:, 1:]).sum(1)
    optimizer = torch.optim.Adam(machine.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(machine(spins), energy).backward()
        optimizer.step()
    return not torch.equal(start[0], start[1])
