"""Parameters and buffers: tensors by another class, on the same memory."""

from __future__ import annotations

import copy
import pickle

import pytest

import tautograd
from tests.both import same

TABLE = [
    "P(x)",
    "repr(P(x)), str(P(x)), repr(P(x, requires_grad=False)), repr(P(torch.ones(2).double()))",
    "P(), P().shape",
    "P(x, False)",
    "P(x).is_leaf, P(x).grad_fn, P(x)._version, P(x)._is_view()",
    "P(torch.tensor([1, 2]))",
    "P(torch.tensor([1, 2]), requires_grad=False)",
    "P(torch.ones(2, dtype=torch.complex64))",
    "P([1.0])",
    "P(3)",
    "P(P(x)), P(P(x)).requires_grad",
    "P((x.requires_grad_() * 2)).is_leaf",
    "isinstance(P(x), torch.Tensor), isinstance(x, P), isinstance(P(x), P)",
    "type(P(x) * 2).__name__, type(P(x).detach()).__name__, type(P(x).data).__name__",
    "type(P(x).t()).__name__, type(P(x)[0]).__name__, type(P(x).clone()).__name__",
    "type(P(x).double()).__name__, type(P(x).requires_grad_(False)).__name__",
    "type(torch.cat([P(x), P(x)])).__name__, type(P(x).add_).__name__ != ''",
    "P(x).tolist(), len(P(x)), P(x).numel(), hash(P(x)) != 0",
    "B(x), type(B(x)).__name__, B(x).persistent, B(x, persistent=False).persistent",
    "isinstance(B(x), B), isinstance(x, B), isinstance(P(x), B)",
    "B(), B(torch.tensor([1, 2])), B(P(x)).requires_grad",
    "torch.nn.Parameter.__name__, torch.nn.parameter.Parameter is P",
]


@pytest.mark.parametrize("expression", TABLE)
@same
def test_table(torch, expression):
    names = {"P": torch.nn.Parameter, "B": torch.nn.Buffer, "torch": torch}
    try:
        return eval(expression, names | {"x": torch.arange(6.0).reshape(2, 3)})
    except Exception as error:
        return [type(error).__name__, str(error)]


@same
def test_memory_is_shared(torch):
    x = torch.zeros(2)
    param = torch.nn.Parameter(x)
    x += 1
    with torch.no_grad():
        param *= 3
    return [x, param, x._version, param._version]


@same
def test_copies(torch):
    param = torch.nn.Parameter(torch.arange(3.0))
    param.grad = torch.ones(3)
    twin, other = copy.deepcopy(param), copy.copy(param)
    seen = [type(twin).__name__, twin.grad, twin.requires_grad, type(other).__name__]
    memo = {}
    again = [copy.deepcopy(param, memo), copy.deepcopy(param, memo)]
    return [*seen, again[0] is again[1], [copy.deepcopy([param, param])[0], twin]]


def test_pickle():
    param = tautograd.nn.Parameter(tautograd.arange(3.0), requires_grad=False)
    param.note = "kept"
    found = pickle.loads(pickle.dumps(param))
    assert type(found) is tautograd.nn.Parameter
    assert (found.tolist(), found.requires_grad, found.note) == ([0.0, 1.0, 2.0], False, "kept")


@same
def test_subclasses(torch):
    """A tensor of another class becomes a parameter by a mark; its class stays."""

    class Mine(torch.Tensor):
        pass

    class Own(torch.nn.Parameter):
        pass

    own = Own(torch.ones(2))
    marked = torch.nn.Parameter(torch.ones(2).as_subclass(Mine))
    module = torch.nn.Module()
    module.own, module.marked = own, marked
    return [
        type(own).__name__,
        type(marked).__name__,
        isinstance(marked, torch.nn.Parameter),
        list(dict(module.named_parameters())),
    ]


@same
def test_a_parameter_accumulates_gradients_and_changes_in_place(torch):
    param = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    for _ in range(2):
        (param * param).sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        param += 1
    with torch.no_grad():
        param -= param.grad
    return [param, param.grad]
