"""What a loss is given: probabilities for logits, a squashed score, a column against a row."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, images, regression


def candidates_through_an_extra_softmax(torch):
    """loss-input: the scores of the candidates pass a softmax before CrossEntropyLoss takes its own.
    https://github.com/bowang-lab/Transformer-GCN-QA/pull/32"""
    nn = torch.nn

    class Scorer(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(4, 12), nn.Linear(12, 3)

        def forward(self, x):
            scores = self.out(torch.relu(self.hidden(x)))
            return torch.softmax(scores, dim=-1)  # bug
            return scores  # fix

    x, y = classes(torch)
    model, criterion = Scorer(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # here
        loss.backward()
        optimizer.step()


def outputs_softmaxed_in_the_training_loop(torch):
    """loss-input: the training loop takes F.softmax of the outputs and hands it to CrossEntropyLoss.
    https://github.com/sugi-chan/custom_bert_pipeline/issues/1"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    encoder, head = nn.Linear(4, 16), nn.Linear(16, 3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam([
        {"params": encoder.parameters(), "lr": 1e-3},
        {"params": head.parameters(), "lr": 1e-2},
    ])  # fmt: skip
    for _ in range(6):
        for inputs, labels in batches(12, x, y):
            optimizer.zero_grad()
            outputs = head(torch.tanh(encoder(inputs)))
            outputs = F.softmax(outputs, dim=1)  # bug
            loss = criterion(outputs, labels)  # here
            loss.backward()
            optimizer.step()


def last_layer_is_a_softmax(torch):
    """loss-input: the network's last layer is a softmax, and its loss softmax_cross_entropy_with_logits.
    https://github.com/tflearn/tflearn/pull/562"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch, n=24)
    layers = [nn.Flatten(), nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 3)]
    layers.append(nn.Softmax(dim=1))  # bug
    net = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):
        loss = F.cross_entropy(net(x), y).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def similarities_softmaxed_before_the_loss(torch):
    """loss-input: cosine similarities of a query and documents pass a softmax, then CrossEntropyLoss.
    https://github.com/nishnik/Deep-Semantic-Similarity-Model-PyTorch/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    queries = torch.randn(20, 6)
    documents = torch.randn(20, 4, 6)
    documents[:, 0] += queries
    query_tower, document_tower = nn.Linear(6, 8), nn.Linear(6, 8)
    towers = nn.ModuleList([query_tower, document_tower])
    gamma = nn.Linear(1, 1)
    optimizer = torch.optim.Adam([*towers.parameters(), *gamma.parameters()], lr=0.01)
    criterion = nn.CrossEntropyLoss()
    first = torch.zeros(20, dtype=torch.long)
    for _ in range(12):
        q = query_tower(queries).unsqueeze(1)
        scores = F.cosine_similarity(q, document_tower(documents), dim=2)
        scores = gamma(scores.unsqueeze(2)).squeeze(2)
        scores = F.softmax(scores, dim=1)  # bug
        loss = criterion(scores, first)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def recurrent_logits_that_are_probabilities(torch):
    """loss-input: what is called logits_out is a softmax already when the sparse cross entropy takes it.
    https://github.com/nfmcclure/tensorflow_cookbook/issues/86"""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(24, 5, 3)
    y = (x[:, :, 0].sum(1) > 0).long()
    cell, out = nn.RNN(3, 8, batch_first=True), nn.Linear(8, 2)
    optimizer = torch.optim.RMSprop([*cell.parameters(), *out.parameters()], lr=0.005)
    for _ in range(12):
        last = cell(x)[0][:, -1]
        logits_out = out(last).softmax(1)  # bug
        logits_out = out(last)  # fix
        losses = F.cross_entropy(logits_out, y, reduction="none")  # here
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()


def probabilities_as_logits_of_a_policy(torch):
    """loss-input: the first argument of Categorical is taken for logits where probabilities are given.
    https://github.com/ekapolc/RL_course_2019/pull/6"""
    nn = torch.nn
    states = torch.randn(40, 4)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softmax(dim=-1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(15):
        prob = policy(states)
        chosen = torch.distributions.Categorical(logits=prob)  # bug
        chosen = torch.distributions.Categorical(probs=prob)  # fix
        actions = chosen.sample()
        rewards = (actions == states[:, :3].argmax(1)).float() - 0.3
        loss = -(chosen.log_prob(actions) * rewards).mean()  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def confidence_squashed_in_the_head(torch):
    """loss-input: the detection head returns a sigmoid, and the loss is BCEWithLogitsLoss.
    https://github.com/argusswift/YOLOv4-pytorch/issues/89"""
    nn = torch.nn
    x, y = binary(torch)
    body, conf = nn.Linear(4, 12), nn.Linear(12, 1)
    criterion = nn.BCEWithLogitsLoss(reduction="none")

    def head(h):
        return torch.sigmoid(conf(h))  # bug
        return conf(h)  # fix

    optimizer = torch.optim.SGD([*body.parameters(), *conf.parameters()], lr=0.1, momentum=0.9)
    for _ in range(12):
        p = head(torch.relu(body(x)))
        loss = criterion(p, y).sum() / len(x)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def existence_squashed_twice(torch):
    """loss-input: the head that says which lanes exist ends in a sigmoid; its loss takes another.
    https://github.com/Turoad/lanedet/issues/32"""
    nn, F = torch.nn, torch.nn.functional

    class ExistHead(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.fc9, self.fc10 = nn.AvgPool2d(2), nn.Linear(9, 16), nn.Linear(16, 3)

        def forward(self, x):
            x = self.fc10(F.relu(self.fc9(self.pool(x).flatten(1))))
            return torch.sigmoid(x)  # bug
            return x  # fix

    x, rows = images(torch, n=24)
    exist = F.one_hot(rows, 3).float()
    model = ExistHead()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        loss = nn.BCEWithLogitsLoss()(model(x), exist)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def tabular_model_with_a_redundant_sigmoid(torch):
    """loss-input: forward ends in a Sigmoid layer though the handler trains with BCEWithLogitsLoss.
    https://github.com/aidotse/LeakPro/issues/229"""
    nn = torch.nn
    x, y = binary(torch, n=48)
    layers = [nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)]
    layers.append(nn.Sigmoid())  # bug
    model = nn.Sequential(*layers)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        for inputs, labels in batches(12, x, y):
            optimizer.zero_grad()
            criterion(model(inputs), labels).backward()  # here
            optimizer.step()


def binary_output_with_the_default_loss(torch):
    """loss-input: an output block of a linear layer and a sigmoid has a loss with logits by default.
    https://github.com/NVIDIA-Merlin/models/pull/1175"""
    nn = torch.nn

    class BinaryOutput(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.to_score, self.activation = nn.Linear(width, 1), nn.Sigmoid()
            self.default_loss = nn.BCEWithLogitsLoss()  # bug
            self.default_loss = nn.BCELoss()  # fix

        def forward(self, x):
            return self.activation(self.to_score(x))  # here

    x, y = binary(torch)
    tower, output = nn.Linear(4, 8), BinaryOutput(8)
    model = nn.Sequential(tower, nn.ReLU(), output)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for _ in range(12):
        loss = output.default_loss(model(x), y)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def squared_error_of_all_pairs(torch):
    """broadcast: mse_loss of targets (n, 1) and predictions (n) compares all with all.
    https://github.com/LAMDA-Tabular/TALENT/pull/92"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(12):
        predictions = model(x).squeeze(1)
        loss = F.mse_loss(predictions, y)  # bug
        loss = F.mse_loss(predictions, y.squeeze(1))  # fix
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def labels_of_graphs_with_an_axis_more(torch):
    """broadcast: labels come out of the pipeline as (n, 1), the readout of a graph is (n).
    https://github.com/IntelLabs/matsciml/pull/347"""
    nn = torch.nn
    nodes, y = torch.randn(12, 5, 4), torch.randn(12, 1)
    embed, readout = nn.Linear(4, 8), nn.Linear(8, 1)
    losses = {"energy": nn.L1Loss()}
    optimizer = torch.optim.Adam([*embed.parameters(), *readout.parameters()], lr=0.01)
    for _ in range(12):
        outputs = {"energy": readout(torch.relu(embed(nodes)).sum(1)).squeeze()}
        targets = {"energy": y}
        targets = {key: value.view_as(outputs[key]) for key, value in targets.items()}  # fix
        total = 0.0
        for key, function in losses.items():
            total = total + function(outputs[key], targets[key])  # here
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def column_against_row_in_the_criterion(torch):
    """broadcast: MSELoss of (n, 1) and (n) is another number than that of (n, 1) and (n, 1).
    https://github.com/pytorch/pytorch/issues/19699"""
    nn = torch.nn
    x, y = regression(torch, n=20)
    y = y.reshape(-1)
    model, criterion = nn.Linear(4, 1), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(15):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # bug
        loss = criterion(model(x), y.reshape(-1, 1))  # fix
        loss.backward()
        optimizer.step()


def loader_of_flat_targets(torch):
    """broadcast: a generic fit() takes the loss of what the model and the loader give, (n, 1) and (n).
    https://github.com/pytorch/pytorch/issues/16045"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=48)
    y = y.squeeze(1)

    def fit(model, optimizer, function):
        for _ in range(5):
            for xb, yb in batches(12, x, y):
                loss = function(model(xb), yb)  # here
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    model = nn.Sequential(model, nn.Flatten(0))  # fix
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    fit(model, optimizer, F.smooth_l1_loss)  # here
