"""Parts of a model that their own optimizer's loss does not reach.

Written for the rules, not reported: the source is the page that says how it is meant to be done.
"""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import binary, classes, perceptron, regression, sentences


def encoder_under_a_left_over_no_grad(torch):
    """cut: the features were frozen at first; now the optimizer holds the encoder as well.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = perceptron(torch, 4, 16, 8), nn.Linear(8, 3)

        def forward(self, x):
            with torch.no_grad():  # bug
                features = self.encoder(x)  # bug
            features = self.encoder(x)  # fix
            return self.head(features)  # here

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def helper_decorated_with_no_grad(torch):
    """cut: the pooling helper was written for evaluation and carries its decorator into training.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    tokens, _ = sentences(torch)
    labels = tokens[:, 0] % 2

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.mix, self.head = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 2)

        @torch.no_grad()  # bug
        def pool(self, tokens):
            return torch.tanh(self.mix(self.table(tokens))).mean(1)  # here

        def forward(self, tokens):
            return self.head(self.pool(tokens))  # here

    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(model(tokens), labels).backward()  # here
        optimizer.step()


def hidden_state_made_a_new_tensor(torch):
    """cut: torch.tensor() copies the hidden state without its history.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    first, last = nn.Linear(4, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.05)
    for _ in range(15):
        h = torch.relu(first(x))
        h = torch.tensor(h.detach().numpy())  # bug
        optimizer.zero_grad()
        F.mse_loss(last(h), y).backward()  # here
        optimizer.step()


def hidden_state_through_a_list(torch):
    """cut: the rows are collected as lists of numbers and made a tensor again.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    first, last = nn.Linear(4, 16), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.05)
    for _ in range(15):
        rows = []
        for row in x:
            rows.append(torch.tanh(first(row)).tolist())  # bug
            rows.append(torch.tanh(first(row)))  # fix
        h = torch.tensor(rows)  # bug
        h = torch.stack(rows)  # fix
        optimizer.zero_grad()
        F.mse_loss(last(h), y).backward()  # here
        optimizer.step()


def residual_through_data(torch):
    """cut: the branch is added as .data, so it does not learn.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.branch, self.out = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            x = x + torch.tanh(self.branch(x)).data  # bug
            x = x + torch.tanh(self.branch(x))  # fix
            return self.out(x)

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def words_chosen_by_argmax(torch):
    """cut: the second network reads the words that the first one chose, and the choice has no slope.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    chooser, reader = nn.Linear(4, 6), nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 3))
    optimizer = torch.optim.Adam([*chooser.parameters(), *reader.parameters()], lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        logits = chooser(x)
        out = reader(logits.argmax(-1))  # bug
        out = reader[1](logits.softmax(-1) @ reader[0].weight)  # fix
        F.cross_entropy(out, y).backward()  # here
        optimizer.step()


def gate_of_a_hard_choice(torch):
    """cut: one_hot of argmax gates the experts; the gate itself gets nothing.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    gate, experts = nn.Linear(4, 2), nn.Linear(4, 2)
    optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        scores = gate(x)
        share = F.one_hot(scores.argmax(1), 2).float()  # bug
        share = scores.softmax(1)  # fix
        F.mse_loss((share * experts(x)).sum(1, keepdim=True), y).backward()  # here
        optimizer.step()


def mask_of_a_comparison(torch):
    """cut: learned scores are compared with a threshold; the comparison has no slope.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Pruned(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores, self.out = nn.Parameter(torch.randn(4)), nn.Linear(4, 1)

        def forward(self, x):
            mask = (self.scores.sigmoid() > 0.5).float()  # bug
            mask = self.scores.sigmoid()  # fix
            return self.out(x * mask)

    model = Pruned()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def quantized_by_round(torch):
    """cut: round has slope 0 everywhere, so all that stands before it stays.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Quantized(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 16), nn.Linear(16, 1)

        def forward(self, x):
            h = torch.tanh(self.first(x))
            h = torch.round(h * 8) / 8  # bug
            h = h + (torch.round(h * 8) / 8 - h).detach()  # fix
            return self.last(h)

    model = Quantized()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def binarized_by_sign(torch):
    """cut: the sign of the weights has slope 0; only the last layer learns.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class Binary(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.last = nn.Parameter(torch.randn(16, 4)), nn.Linear(16, 3)

        def forward(self, x):
            w = torch.sign(self.weight)  # bug
            w = self.weight + (torch.sign(self.weight) - self.weight).detach()  # fix
            return self.last(F.relu(F.linear(x, w)))

    model = Binary()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def scale_wrapped_in_a_new_parameter(torch):
    """parameter-anew: the scaled weight is wrapped in a Parameter, which is a leaf.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Equalized(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.last = nn.Parameter(torch.randn(16, 4)), nn.Linear(16, 1)

        def forward(self, x):
            weight = nn.Parameter(self.weight * 0.5)  # bug
            weight = self.weight * 0.5  # fix
            return self.last(torch.tanh(F.linear(x, weight)))

    model = Equalized()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def weights_of_a_hypernetwork_through_data(torch):
    """cut: the made weights are written into .data of the layer that uses them.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    task = torch.randn(3)
    hyper, layer = nn.Linear(3, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*hyper.parameters(), layer.bias], lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        made = hyper(task).view(1, 4)  # here
        layer.weight.data = made  # bug
        out = layer(x)  # bug
        out = F.linear(x, made, layer.bias)  # fix
        F.mse_loss(out, y).backward()  # here
        optimizer.step()


def layers_in_a_plain_dictionary(torch):
    """not-held: a dictionary of layers is not registered, so parameters() has none of them.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Tasks(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.heads = {"price": nn.Linear(8, 1), "age": nn.Linear(8, 1)}  # bug
            self.heads = nn.ModuleDict({"price": nn.Linear(8, 1), "age": nn.Linear(8, 1)})  # fix

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.heads["price"](h) + self.heads["age"](h)

    model = Tasks()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def copies_of_a_block_in_a_list(torch):
    """not-held: deep copies of a block are kept in a list, not in a ModuleList.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class Deep(nn.Module):
        def __init__(self, block, depth):
            super().__init__()
            self.blocks = [copy.deepcopy(block) for _ in range(depth)]  # bug
            self.blocks = nn.ModuleList([copy.deepcopy(block) for _ in range(depth)])  # fix
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            for block in self.blocks:
                x = x + torch.tanh(block(x))
            return self.head(x)

    model = Deep(nn.Linear(4, 4), 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def trained_copy_beside_the_optimizer(torch):
    """not-held: the model is copied after the optimizer was made, and the copy is trained.
    https://docs.pytorch.org/docs/stable/optim.html"""
    F = torch.nn.functional
    x, y = regression(torch)
    base = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(base.parameters(), lr=0.01)  # bug
    model = copy.deepcopy(base)  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # fix
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def hook_that_zeroes_everything(torch):
    """zero-for-ever: the hook that should mask one row of the gradient masks all of them.
    https://docs.pytorch.org/docs/stable/notes/modules.html"""
    nn, F = torch.nn, torch.nn.functional
    tokens, following = sentences(torch)
    table, head = nn.Embedding(11, 8), nn.Linear(8, 11)
    mask = torch.zeros(11, 1)
    mask[0] = 0.0  # bug
    mask[1:] = 1.0  # fix
    table.weight.register_hook(lambda g: g * mask)  # here
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.5)
    for _ in range(30):
        optimizer.zero_grad()
        F.cross_entropy(head(table(tokens)).transpose(1, 2), following).backward()  # here
        optimizer.step()


def backward_hook_of_a_layer_returns_zeros(torch):
    """zero-for-ever: a guided-backprop hook stays registered, and replaces the gradient by zeros.
    https://docs.pytorch.org/docs/stable/notes/modules.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))

    def guard(module, grad_input, grad_output):
        return tuple(torch.zeros_like(g) for g in grad_input)  # bug
        return tuple(g.clamp(-1, 1) for g in grad_input)  # fix

    model[1].register_full_backward_hook(guard)  # here
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def function_that_forgets_its_weight(torch):
    """cut: the Function's backward gives None for the weight.
    https://docs.pytorch.org/docs/stable/notes/extending.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x * weight

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            return g * weight, None  # bug
            return g * weight, (g * x).sum(0)  # fix

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.gain, self.out = (
                nn.Linear(4, 4),
                nn.Parameter(torch.ones(4)),
                nn.Linear(4, 1),
            )

        def forward(self, x):
            return self.out(Scaled.apply(self.body(x), self.gain))  # here

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def prediction_made_a_leaf(torch):
    """cut: the prediction is detached and asked for gradients again: they end there.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    F = torch.nn.functional
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        out = model(x).detach().requires_grad_()  # bug
        out = model(x)  # fix
        F.binary_cross_entropy_with_logits(out, y).backward()  # here
        optimizer.step()  # here


def features_computed_once(torch):
    """cut: the features are computed before the loop, while their network is to be trained.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    encoder, head = perceptron(torch, 4, 16, 8), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)  # here
    features = encoder(x).detach()  # bug
    for _ in range(15):
        optimizer.zero_grad()
        features = encoder(x)  # fix
        F.cross_entropy(head(features), y).backward()  # here
        optimizer.step()


def losses_joined_in_a_new_tensor(torch):
    """cut: torch.tensor() of the parts of the loss has no history; requires_grad hides the error.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(15):
        optimizer.zero_grad()
        out = model(x)
        parts = [F.mse_loss(out[:, :1], y), F.l1_loss(out[:, 1:], y)]
        loss = torch.tensor(parts, requires_grad=True).sum()  # bug
        loss = torch.stack(parts).sum()  # fix
        loss.backward()  # here
        optimizer.step()


def auxiliary_term_as_a_number(torch):
    """term-unused: the sparsity term is taken as a number and teaches nothing.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        h = torch.tanh(body(x))
        sparse = float(h.abs().mean())  # bug
        sparse = h.abs().mean()  # fix
        (F.mse_loss(head(h), y) + 0.1 * sparse).backward()  # here
        optimizer.step()


def rows_written_into_a_buffer(torch):
    """cut: the outputs are copied into .data of a result tensor.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=8)

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.row, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            result = torch.zeros(len(x), 8)
            for i in range(len(x)):
                result.data[i] = torch.tanh(self.row(x[i]))  # bug
                result[i] = torch.tanh(self.row(x[i]))  # fix
            return self.out(result)  # here

    model = Rows()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()  # here
        optimizer.step()


def clamp_beyond_the_data(torch):
    """dead: the output starts above the upper bound of the clamp: its slope is 0 for ever.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = binary(torch)
    model = nn.Linear(4, 1)
    with torch.no_grad():
        model.bias += 40
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        p = model(x).clamp(0.01, 0.99)  # bug
        p = torch.sigmoid(model(x) - 40)  # fix
        F.binary_cross_entropy(p, y).backward()  # here
        optimizer.step()


def tensor_attribute_without_a_parameter(torch):
    """not-held: the temperature is a tensor that requires grad, not a Parameter.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class Calibrated(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 3)
            self.temperature = torch.ones(1, requires_grad=True)  # bug
            self.temperature = nn.Parameter(torch.ones(1))  # fix

        def forward(self, x):
            return self.body(x) / self.temperature

    model = Calibrated()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def attention_weights_detached_for_the_plot(torch):
    """cut: the weights are detached for a picture, and the detached ones are used.
    https://docs.pytorch.org/docs/stable/notes/autograd.html"""
    nn, F = torch.nn, torch.nn.functional
    tokens, following = sentences(torch)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 8)
            self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)
            self.value, self.out = nn.Linear(8, 8), nn.Linear(8, 11)

        def forward(self, tokens):
            h = self.table(tokens)
            scores = self.query(h) @ self.key(h).transpose(1, 2) / 8**0.5
            scores = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -1e9)
            weights = scores.softmax(-1).detach()  # bug
            weights = scores.softmax(-1)  # fix
            self.picture = weights.detach()
            return self.out(weights @ self.value(h) + h)

    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).transpose(1, 2), following).backward()  # here
        optimizer.step()
