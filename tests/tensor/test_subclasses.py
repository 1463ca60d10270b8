"""Subclasses of Tensor: results are of the subclass, `__torch_function__` is asked, as on PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import tautograd
from tautograd._ops.declare.code_holders import holder
from tests.both import same

# Calls on a tensor `s` of a subclass, of shape (2, 2) and positive; `x` is a plain one.
CALLS = """
s + 1
1 + s
s - x
1 - s
x * s
s / 2
2 / s
s // 2
7 % s
s @ x
x @ s
s ** 2
2 ** s
-s
abs(s)
s > 0.5
s == s
s != x
s[0]
s[:, None]
s.T
s.mT
s.real
s.data
s.sum()
s.max(0)
s.split(1)
s.view(-1)
s.clone()
s.detach()
s.to(torch.float64)
s.new_zeros(2)
s.tolist()
s.shape
s.dtype
len(s)
repr(s)
str(s)
bool((s == s).all())
float(s.sum())
torch.exp(s)
torch.add(x, s)
torch.add(x, other=s)
torch.cat([x, s])
torch.stack((s, s))
torch.where(s > 0, s, x)
torch.zeros_like(s)
torch.sum(s, dim=0, keepdim=True)
torch.linalg.det(s + torch.eye(2))
torch.special.expit(s)
torch.fft.fft(s)
torch.nn.functional.relu(s)
torch.nn.functional.softmax(s, 0)
torch.nn.functional.linear(s, x)
torch.nn.functional.mse_loss(s, x)
torch.nn.Linear(2, 2)(s)
torch.topk(s, 1)
s.add_(1)
s.mul_(2).sub_(1)
torch.einsum("ij,jk->ik", s, x)
torch.broadcast_tensors(s, x)
torch.meshgrid(s[0], s[1], indexing="ij")
""".strip().splitlines()


def _setting(torch: Any, cls: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return {"torch": torch, "s": data.clone().as_subclass(cls), "x": data + 1}


def _kinds(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [_kinds(part) for part in value]
    return type(value).__name__


def _logging(torch: Any) -> tuple[Any, list[tuple[str, list[str]]]]:
    seen: list[tuple[str, list[str]]] = []

    class Logged(torch.Tensor):  # type: ignore[name-defined, misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append((func.__name__, [kind.__name__ for kind in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged, seen


@pytest.mark.parametrize("text", CALLS)
def test_results_are_of_the_subclass(text: str) -> None:
    found = []
    for torch in (reference, tautograd):
        kind = type("Kind", (torch.Tensor,), {})
        result = eval(text, _setting(torch, kind))
        found.append(
            (_kinds(result), repr(result) if callable(getattr(result, "sum", None)) else "")
        )
    assert found[1] == found[0]


# PyTorch's Python functions make a parameter or ask for an attribute on the way, ours do not; and the other way round.
OTHERWISE = ("torch.nn.Linear(2, 2)(s)", "torch.fft.fft(s)", "torch.special.expit(s)")


@pytest.mark.parametrize("text", [text for text in CALLS if text not in OTHERWISE])
def test_a_class_sees_the_calls_on_it(text: str) -> None:
    """Each by its name, without what it calls inside."""
    found = []
    for torch in (reference, tautograd):
        kind, seen = _logging(torch)
        setting = _setting(torch, kind)
        seen.clear()
        eval(text, setting)
        # PyTorch's Python functions name plain tensors among the types, its other ones do not.
        found.append(
            [
                (name.removeprefix("linalg_"), [t for t in types if t != "Tensor"])
                for name, types in seen
            ]
        )
    assert found[1] == found[0]


@same
def test_answers_by_the_function_itself(torch: Any) -> list[Any]:
    answers: dict[Any, Any] = {torch.mean: lambda x: "mean"}  # known before there is a subclass

    class Answering(torch.Tensor):  # type: ignore[name-defined, misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func in answers:
                return answers[func](*args)
            if func in (torch.Tensor.add, torch.add):
                return "added"
            return NotImplemented

    x = torch.ones(2).as_subclass(Answering)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.exp'"):
        torch.exp(x)
    with pytest.raises(TypeError, match="unsupported operand"):
        x * 2
    return [torch.mean(x), torch.add(x, 1), x.add(1), x + 1, 1 + x]


@same
def test_the_more_special_class_is_asked_first(torch: Any) -> list[str]:
    asked: list[str] = []

    def answer(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked.append(f"{cls.__name__} of {[kind.__name__ for kind in types]}")
        return NotImplemented if cls.__name__ != "Last" else "done"

    members = {"__torch_function__": classmethod(answer)}
    first = type("First", (torch.Tensor,), members)
    second = type("Second", (first,), members)
    last = type("Last", (torch.Tensor,), members)
    x, y, z = (torch.ones(2).as_subclass(kind) for kind in (first, second, last))
    assert torch.cat([x, y, z, x]) == "done"
    assert torch.add(z, y) == "done"
    return asked


@same
def test_attributes_go_from_tensor_to_tensor(torch: Any) -> list[Any]:
    class Image(torch.Tensor):  # type: ignore[name-defined, misc]
        @staticmethod
        def __new__(cls: Any, data: Any, size: Any = None) -> Any:
            found = torch.as_tensor(data).as_subclass(cls)
            found.size_of_image = size
            return found

        def __init__(self, data: Any, size: Any = None) -> None:
            pass

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, cls):
                result.size_of_image = next(
                    (a.size_of_image for a in args if isinstance(a, cls)), None
                )
            return result

    image = Image([[1.0, 2.0]], size=(480, 640))
    w = torch.ones(2, 1, requires_grad=True)
    loss = (image @ w).sum()
    loss.backward()
    return [loss.size_of_image, type(loss).__name__, (2 * image).size_of_image, w.grad]


@same
def test_gradients_and_parameters(torch: Any) -> list[Any]:
    kind = type("Kind", (torch.Tensor,), {})
    leaf = torch.ones(3, requires_grad=True)
    loss = (leaf.as_subclass(kind) * 2).sum()
    loss.backward()
    plain = torch.nn.Parameter(torch.ones(2)) * 2
    marked = torch.nn.Parameter(torch.ones(2).as_subclass(kind))
    return [
        leaf.grad, type(loss).__name__, type(plain).__name__, type(marked * 2).__name__,
        isinstance(marked, torch.nn.Parameter), loss.grad_fn.name(),
    ]  # fmt: skip


@same
def test_switched_off(torch: Any) -> list[str]:
    kind = type("Kind", (torch.Tensor,), {})
    x = torch.ones(2).as_subclass(kind)
    with torch._C.DisableTorchFunctionSubclass():
        inside = x + 1
    quiet = type(
        "Quiet", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl}
    )
    unasked = torch.ones(2).as_subclass(quiet) + 1
    return [type(inside).__name__, type(x + 1).__name__, type(unasked).__name__]


@same
def test_functions_that_others_write(torch: Any) -> list[Any]:
    overrides = torch.overrides

    def doubled(x: Any) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(doubled, (x,), x)
        return x * 2

    class Answering(torch.Tensor):  # type: ignore[name-defined, misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "doubled" if func is doubled else NotImplemented

    x = torch.ones(2)
    kind = type("Kind", (torch.Tensor,), {})
    return [
        doubled(x), doubled(x.as_subclass(Answering)), type(doubled(x.as_subclass(kind))).__name__,
        overrides.has_torch_function_unary(x), overrides.has_torch_function_variadic(x, 1),
        overrides.is_tensor_like(x), overrides.is_tensor_method_or_property(torch.Tensor.add),
        overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__),
        overrides.is_tensor_method_or_property(torch.add),
    ]  # fmt: skip


def test_functions_stay_what_they_are() -> None:
    """Their identity, name, signature and errors, when subclasses are about."""
    kind = type("Kind", (tautograd.Tensor,), {})
    before: Callable[..., Any] = tautograd.nn.functional.layer_norm
    tautograd.ones(2).as_subclass(kind)
    assert tautograd.nn.functional.layer_norm is before
    assert list(inspect.signature(before).parameters)[:2] == ["input", "normalized_shape"]
    assert before.__name__ == "layer_norm"
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor"):
        tautograd.exp([1.0])
    with pytest.raises(RuntimeError, match="must match the size"):
        tautograd.ones(2) + tautograd.ones(3)


def test_every_public_function_looks() -> None:
    """Those that PyTorch asks a subclass about, as far as both have them under a name."""
    kind = type("Kind", (tautograd.Tensor,), {})
    tautograd.ones(2).as_subclass(kind)
    overridable = reference.overrides.get_overridable_functions()
    homes = {
        reference: tautograd,
        reference.nn.functional: tautograd.nn.functional,
        reference.linalg: tautograd.linalg,
        reference.special: tautograd.special,
        reference.fft: tautograd.fft,
        reference.Tensor: tautograd.Tensor,
    }
    blind = []
    for theirs, ours in homes.items():
        for function in overridable[theirs]:
            name = getattr(function, "__name__", "")
            name = name.removeprefix("linalg_").removeprefix("special_").removeprefix("fft_")
            found = inspect.getattr_static(ours, name, None)
            if inspect.isfunction(found) and holder(found) is found:
                blind.append(f"{ours.__name__}.{name}")
    assert blind == []


@same
def test_writes_into_views_have_the_right_gradients(torch: Any) -> list[Any]:
    """A tensor of a subclass is a view like any other: what is written into parts of it is followed."""
    kind = type("Kind", (torch.Tensor,), {})

    def gradient(change: Any, scale: Any = None) -> Any:
        w = torch.arange(1.0, 5.0, requires_grad=True)
        y = w * (torch.ones(4).as_subclass(kind) if scale is None else scale)
        y = change(y) if scale is not None else (change(y), y)[1]
        (y * y).sum().backward()
        return w.grad

    def multiply(y: Any) -> None:
        y[:2].mul_(3)

    def assign(y: Any) -> None:
        y.view(2, 2)[:, 0] = 0

    def update(y: Any) -> None:
        y[:2] *= 3
        y[0] += 7

    def through_a_plain_one(y: Any) -> Any:
        y.view(2, 2).as_subclass(kind)[0].zero_()
        return y

    inside = torch.func.grad(
        lambda x: ((x * torch.ones(4).as_subclass(kind))[:2].mul_(3) ** 2).sum()
    )
    return [
        *(gradient(change) for change in (multiply, assign, update)),
        gradient(through_a_plain_one, 1.0), inside(torch.arange(1.0, 5.0)),
    ]  # fmt: skip


@same
def test_forward_mode_goes_through_views(torch: Any) -> list[Any]:
    kind = type("Kind", (torch.Tensor,), {})
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(kind)
    direction = torch.tensor([[1.0, 10.0], [100.0, 1000.0]])
    at = torch.ones(2, 2)
    functions = (lambda x: (x * a).T, lambda x: (x * a)[1:] * 2, lambda x: (x * a)[0])
    tangents = [torch.func.jvp(f, (at,), (direction,))[1].tolist() for f in functions]
    return [tangents, torch.func.hessian(lambda x: (x * a).T.pow(3).sum())(at).tolist()]


@same
def test_a_tensor_made_of_another_keeps_its_history(torch: Any) -> list[Any]:
    kind = type("Kind", (torch.Tensor,), {})
    results = []
    for make in (kind, torch.Tensor):
        w = torch.ones(2, requires_grad=True)
        made = make(w * 2)
        (made * 3).sum().backward()
        results += [made.requires_grad, w.grad, type(made).__name__]
    return results


@same
def test_operators_with_what_is_no_tensor(torch: Any) -> list[Any]:
    x = torch.ones(2).as_subclass(type("Kind", (torch.Tensor,), {}))
    with pytest.raises(TypeError, match="unsupported operand"):
        x - "a"
    return [x == None, x != None, x == "a", None in [x, None]]  # noqa: E711


@same
def test_a_view_that_was_made_a_leaf_is_not_written_to(torch: Any) -> None:
    kind = type("Kind", (torch.Tensor,), {})
    for leaf in (
        torch.ones(4)[:2].requires_grad_(),
        torch.ones(2).as_subclass(kind).requires_grad_(),
    ):
        with pytest.raises(RuntimeError, match="view of a leaf Variable that requires grad"):
            leaf.add_(1)


@same
def test_gradients_and_results_of_functions_are_of_the_class(torch: Any) -> list[Any]:
    class Kind(torch.Tensor):  # type: ignore[name-defined, misc]
        pass

    class Twice(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2, b * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (a,) = ctx.saved_tensors
            seen.extend((type(g).__name__, type(a).__name__))
            return g * 2, h * 3

    seen: list[str] = []
    s = torch.ones(2).as_subclass(Kind).requires_grad_()
    x = torch.ones(2, requires_grad=True)
    results = Twice.apply(s, x)
    (results[0] + results[1]).sum().backward()
    grads = torch.autograd.grad((s * s * x).sum(), [s, x])
    return [_kinds(results), _kinds(grads), seen, s.grad, x.grad, type(s.grad).__name__]


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Adagrad", "Rprop", "ASGD", "NAdam"])
def test_states_of_optimizers_are_of_the_class(name: str) -> None:
    found = []
    for torch in (reference, tautograd):
        kind = type("Kind", (torch.Tensor,), {})
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0]).as_subclass(kind))
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(torch.optim, name)([p], lr=0.1, **options)
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        state = {key: type(value).__name__ for key, value in optimizer.state[p].items()}
        found.append((type(p).__name__, state, [round(value, 5) for value in p.tolist()]))
    assert found[1] == found[0]


@same
def test_a_module_asks_its_weights(torch: Any) -> list[Any]:
    class Packed(torch.Tensor):  # type: ignore[name-defined, misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.nn.functional.linear:
                return "a product of its own"
            return super().__torch_function__(func, types, args, kwargs or {})

    layer = torch.nn.Linear(2, 2, bias=False)
    layer.weight = torch.nn.Parameter(layer.weight.detach().as_subclass(Packed))
    return [layer(torch.ones(1, 2))]
