"""Tables with sparse gradients, and the optimizers that take them."""

from __future__ import annotations

import pytest

from tests.both import same


def _table(torch, count=6, width=2, **options):
    table = torch.nn.Embedding(count, width, sparse=True, **options)
    with torch.no_grad():
        table.weight.copy_(torch.arange(count * width * 1.0).reshape(count, width) / 7)
    return table


@same
def test_gradients_are_sparse_and_add_up(torch):
    table = _table(torch)
    texts = []
    for index in ([1, 3, 1], [3, 0], [[5, 5], [2, 1]]):
        (table(torch.tensor(index)) ** 2).sum().backward()
        texts.append(repr(table.weight.grad))
    grad = table.weight.grad
    table.weight.sum().backward()
    return texts, grad.coalesce().values(), grad.to_dense(), table.weight.grad


@same
def test_padding_gets_none(torch):
    table = _table(torch, padding_idx=1)
    (table(torch.tensor([1, 3, 1])) ** 2).sum().backward()
    return repr(table.weight.grad)


@same
def test_autograd_grad_and_hooks(torch):
    table = _table(torch)
    seen = []
    table.weight.register_hook(lambda g: seen.append(repr(g)))
    (found,) = torch.autograd.grad((table(torch.tensor([4, 2])) ** 3).sum(), table.weight)
    return repr(found), seen


@pytest.mark.parametrize("mode", ["sum", "mean"])
@same
def test_bags(torch, mode):
    bag = torch.nn.EmbeddingBag(4, 2, mode=mode, sparse=True, padding_idx=2)
    with torch.no_grad():
        bag.weight.copy_(torch.arange(8.0).reshape(4, 2))
    out = bag(torch.tensor([0, 2, 3, 3]), torch.tensor([0, 1]))
    (out * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    return bag.weight.grad.to_dense()


OPTIMIZERS = {
    "SGD": {"lr": 0.1},
    "SGD with momentum": {"lr": 0.1, "momentum": 0.9, "dampening": 0.1},
    "SGD with Nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "SGD that maximizes": {"lr": 0.1, "maximize": True},
    "Adagrad": {"lr": 0.3, "lr_decay": 0.01, "eps": 1e-7},
    "SparseAdam": {"lr": 0.05, "betas": (0.8, 0.99)},
    "SparseAdam that maximizes": {"lr": 0.05, "maximize": True},
}


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize("name", OPTIMIZERS)
@same
def test_steps(torch, name):
    table, dense = _table(torch), torch.nn.Linear(2, 1)
    with torch.no_grad():
        dense.weight.fill_(0.5)
        dense.bias.fill_(0.1)
    kind = getattr(torch.optim, name.split()[0])
    sparse_only = kind is torch.optim.SparseAdam
    params = list(table.parameters()) + ([] if sparse_only else list(dense.parameters()))
    optimizer = kind(params, **OPTIMIZERS[name])
    losses = []
    for index in ([1, 3, 1], [3, 0, 5], [2, 2, 2], [1, 4, 0]):
        optimizer.zero_grad()
        loss = (dense(table(torch.tensor(index))) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, table.weight.detach(), dense.weight.detach()


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]
)
@same
def test_others_refuse(torch, name):
    table = _table(torch)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(torch.optim, name)(table.parameters()).step()


@same
def test_sparse_adam_refuses_dense_gradients(torch):
    layer = torch.nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        torch.optim.SparseAdam(layer.parameters()).step()


@same
def test_adagrad_has_no_weight_decay_for_them(torch):
    table = _table(torch)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse"):
        torch.optim.Adagrad(table.parameters(), weight_decay=0.1).step()


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@same
def test_a_graph_convolution_learns_the_same(torch):
    """The usual program: a constant sparse matrix times dense features, twice."""
    torch.manual_seed(3)
    places = torch.tensor([[0, 1, 2, 2, 3], [1, 0, 3, 0, 2]])
    adjacency = torch.sparse_coo_tensor(places, torch.ones(5) / 2, (4, 4))
    features, first, second = torch.randn(4, 3), torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        hidden = torch.relu(torch.spmm(adjacency, first(features)))
        loss = torch.nn.functional.cross_entropy(
            torch.sparse.mm(adjacency, second(hidden)), torch.tensor([0, 1, 0, 1])
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses
