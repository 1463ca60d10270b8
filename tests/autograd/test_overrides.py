"""A mode sees the same calls on both engines, and can replace them."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import numpy as np
import pytest

from tests.both import ENGINES, same

# What a mode is shown that is no operation: questions, and new tensors.
_QUESTIONS = frozenset(("__get__", "dim", "size", "numel", "__len__", "_set_grad_enabled", "empty"))


def mode_of(torch: Any, answer: Any) -> Any:
    """A mode that answers every call by `answer(func, args, kwargs)`."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return answer(func, args, kwargs or {})

    return Mode()


def names_of(torch: Any, run: Any) -> list[str]:
    """The operations that a mode sees while `run()` runs, by the names both engines share."""
    names: list[str] = []

    def answer(func, args, kwargs):
        name = func.__name__
        if name == "__get__" and func.__self__ is torch.Tensor.data:
            name = "data"
        names.append(name)
        return func(*args, **kwargs)

    with mode_of(torch, answer):
        run()
    return [name for name in names if name not in _QUESTIONS]


PROGRAMS = {
    "arithmetic": lambda torch, x, y: (x + y) * (x - y) / y,
    "numbers": lambda torch, x, y: -((2 - x) ** 2),
    "functions": lambda torch, x, y: torch.where(x > y, x.exp(), torch.cat([x, y])[:3].sin()),
    "reductions": lambda torch, x, y: x.sum() + y.mean() + torch.stack((x, y)).amax(),
    "products": lambda torch, x, y: x.view(1, 3).mm(y.view(3, 1)).addmm(x.view(1, 3), y.view(3, 1)),
    "softmax": lambda torch, x, y: torch.nn.functional.relu(x.softmax(0)).clone(),
    "writes": lambda torch, x, y: y.add_(x).mul_(2).zero_().copy_(x).fill_(1.0),
    "assignment": lambda torch, x, y: y.__setitem__(0, 3.0),
    "update": lambda torch, x, y: y.__iadd__(x).__imul__(2),
    "function that writes": lambda torch, x, y: torch.relu_(y),
    "out": lambda torch, x, y: torch.add(y, 1, out=torch.empty(3)),
    "leaving": lambda torch, x, y: (y[0].item(), y.tolist(), float(y[1]), int(y[2]), bool(y[0])),
    "to numpy": lambda torch, x, y: (y.numpy(), np.asarray(y)),
    "detached": lambda torch, x, y: (x.detach(), x.data, torch.tensor([1.0]), x.requires_grad_()),
    "copied": lambda torch, x, y: torch.tensor(y),
    "gradient": lambda torch, x, y: torch.autograd.grad((x * x).sum(), x),
    "backward": lambda torch, x, y: (x * x).sum().backward(),
    "hook": lambda torch, x, y: (x * 2).register_hook(lambda g: g),
    "views": lambda torch, x, y: x.view(3, 1).t().unsqueeze(0).transpose(0, 1).reshape(-1),
    "printing": lambda torch, x, y: (repr(x), f"{x}"),
    "random": lambda torch, x, y: y.normal_().uniform_(),
    "norm": lambda torch, x, y: torch.nn.functional.layer_norm(x, (3,)),
}


@same
@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_operations_are_seen(torch, name):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([4.0, 5.0, 6.0])
    return names_of(torch, lambda: PROGRAMS[name](torch, x, y))


@same
def test_a_mode_can_replace_results(torch):
    def answer(func, args, kwargs):
        found = func(*args, **kwargs)
        return found + 1 if func.__name__ == "mul" else found

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with mode_of(torch, answer):
        y = x * 3
    y.sum().backward()
    return y, x.grad, x * 3


@same
def test_a_mode_is_not_active_while_it_answers(torch):
    seen = []

    def answer(func, args, kwargs):
        args[0].exp()
        seen.append(func.__name__)
        return func(*args, **kwargs)

    x = torch.ones(2)
    with mode_of(torch, answer):
        x.sin()
    return seen


@same
def test_modes_nest(torch):
    seen = []

    def outer(func, args, kwargs):
        seen.append(("outer", func.__name__))
        return func(*args, **kwargs)

    def inner(func, args, kwargs):
        seen.append(("inner", func.__name__))
        return func(*args, **kwargs)

    x = torch.tensor([1.0], requires_grad=True)
    with mode_of(torch, outer):
        with mode_of(torch, inner):
            x.mul(2).item()
            x.detach().add_(1)
        x.neg()
    x.neg()
    return seen


@same
def test_gradients_are_as_without_a_mode(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4))
    x = torch.randn(2, 3)

    def run():
        net.zero_grad()
        h = net(x).clone()
        h[0] *= 2
        h.view(-1)[1:3].sin_()
        h.sum().backward()
        return [p.grad.clone() for p in net.parameters()]

    plain = run()
    with mode_of(torch, lambda func, args, kwargs: func(*args, **kwargs)):
        watched = run()
    assert all((a == b).all() for a, b in zip(plain, watched, strict=True))
    return watched


@same
def test_an_exception_leaves_no_mode_behind(torch):
    def answer(func, args, kwargs):
        raise ValueError("no")

    x = torch.ones(2)
    with pytest.raises(ValueError, match="no"), mode_of(torch, answer):
        x.sin()
    return x.sin()


@same
def test_another_thread_is_not_watched(torch):
    seen = []

    def answer(func, args, kwargs):
        seen.append(func.__name__)
        return func(*args, **kwargs)

    x = torch.ones(2)
    with mode_of(torch, answer):
        other = threading.Thread(target=lambda: (x.cos().sum().item(), x.detach()))
        other.start()
        other.join()
        x.sin()
    return seen


def test_nothing_is_left_on_the_class():
    """The wrappers of `Tensor`, by which operations are watched, go with the last mode of that kind."""
    import tautograd
    from tautograd._stand_ins.function_mode import FunctionMode

    before = dict(vars(tautograd.Tensor))
    with FunctionMode(tautograd, lambda func, args, kwargs: func(*args, **kwargs)):
        assert vars(tautograd.Tensor)["item"] is not before["item"]
    assert dict(vars(tautograd.Tensor)) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_names_that_programs_ask(engine):
    torch = importlib.import_module(engine)
    overrides = importlib.import_module(f"{engine}.overrides")
    assert overrides.is_tensor_like(torch.ones(1))
    assert not overrides.is_tensor_like(3)
    assert not overrides.has_torch_function((torch.ones(1),))
    with overrides.BaseTorchFunctionMode():
        assert overrides.has_torch_function((torch.ones(1),))
        assert torch.ones(2).sum().item() == 2
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        torch.ones(1).sin()


CALLS = {
    "torch": "add cat exp zeros ones arange tensor rand where full_like stack sum mean allclose as_tensor eye",
    "torch.Tensor": "add mul sum view clone to float t __getitem__ __setitem__ __rsub__ item neg add_ numel",
    "torch.nn.functional": "relu linear softmax cross_entropy dropout mse_loss layer_norm gelu",
    "torch.linalg": "det norm",
}
TEXTS = """
torch.add(x, x)
x + x
2 - x
x * 2
-x
torch.cat([x, x])
torch.exp(x)
torch.zeros(2)
torch.ones(2, dtype=torch.float64)
torch.arange(3)
torch.tensor([1.0])
torch.as_tensor([1.0])
torch.eye(2)
torch.rand(2)
torch.full_like(x, 2)
torch.stack([x, x])
torch.sum(x, dim=0)
torch.mean(x)
torch.allclose(x, x)
x[0]
x.view(-1)
x.clone()
x.to(torch.float64)
x.sum().item()
x.add_(1)
x.__setitem__(0, 1.0)
torch.linalg.det(y)
torch.linalg.norm(x)
torch.nn.functional.relu(x)
torch.nn.functional.softmax(y, dim=0)
torch.nn.functional.cross_entropy(y, torch.tensor([0, 1]))
torch.nn.functional.dropout(x)
torch.nn.functional.mse_loss(x, x)
torch.nn.Linear(2, 2)(y)
torch.nn.LayerNorm(2)(y)
torch.nn.GELU()(y)
torch.autograd.grad((y * y).sum(), y)
""".strip().splitlines()


def _known(torch: Any) -> dict[Any, str]:
    return {
        getattr(eval(place, {"torch": torch}), name): f"{place}.{name}"
        for place, names in CALLS.items()
        for name in names.split()
    } | {torch.autograd.grad: "torch.autograd.grad"}


@pytest.mark.parametrize("text", TEXTS)
def test_a_mode_is_given_the_function_itself(text):
    """`func is torch.add`, by identity."""
    found = []
    for engine in ENGINES:
        torch = importlib.import_module(engine)
        known, seen = _known(torch), []

        def answer(func, args, kwargs, known=known, seen=seen):
            if func in known:
                seen.append(known[func])
            return func(*args, **kwargs)

        torch.manual_seed(0)
        setting = {"torch": torch, "x": torch.ones(2), "y": torch.ones(2, 2, requires_grad=True)}
        run = compile(text, "a program", "eval")
        if "nn." in text and "functional" not in text:  # what making a module takes differs
            made, _, rest = text.rpartition("(y)")
            setting["made"] = eval(made, setting)
            run = compile("made(y)" + rest, "a program", "eval")
        with mode_of(torch, answer):
            eval(run, setting)
        found.append(seen)
    assert found[1] == found[0] != []


@same
def test_a_mode_that_makes_tensors_of_its_own(torch):
    """As those do that place what is made on another device."""

    class Doubles(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (torch.zeros, torch.empty, torch.tensor, torch.randn):
                kwargs.setdefault("dtype", torch.float64)
            return func(*args, **kwargs)

    with Doubles():
        made = [torch.zeros(2), torch.tensor([1]), torch.nn.Linear(1, 1).weight.detach() * 0]
    return [*made, torch.zeros(1)]
