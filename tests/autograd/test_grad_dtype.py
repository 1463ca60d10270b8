"""`Tensor.grad_dtype`, Jacobians of gradcheck, and what anomaly detection says of nested backwards, on both engines."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.both import same


@same
def test_gradients_come_in_the_dtype_asked_for(torch: Any) -> Any:
    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.to(torch.float64)

    found = []
    for wanted in ("own", None, torch.float16):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        if wanted != "own":
            x.grad_dtype = wanted
        Wide.apply(x).sum().backward()
        found.append((x.grad, str(x.grad_dtype)))
        Wide.apply(x).sum().backward()
        found.append((x.grad, str(x.grad.dtype)))
    return found


@same
def test_grad_dtype_is_checked(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="only be accessed on leaf"):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match=r"must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3
    x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="already a gradient with dtype 'float'"):
        x.grad_dtype = torch.float16
    x.grad = None
    x.grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'Half'"):
        x.grad = torch.ones(2)


@same
def test_jacobians_of_gradcheck(torch: Any) -> Any:
    from importlib import import_module

    module = import_module(f"{torch.__name__}.autograd.gradcheck")
    a = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[3.0, 5.0]], dtype=torch.float64, requires_grad=True)

    def fn(inputs: Any) -> Any:
        return inputs[0] * inputs[1], inputs[0]

    with pytest.warns(FutureWarning, match="private API"):
        numerical = module.get_numerical_jacobian(fn, (a, b), eps=1e-6)
    with pytest.warns(FutureWarning, match="private API"):
        found = module.get_analytical_jacobian((a, b), fn((a, b))[0])
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match=r"grad_out to be 1.0"):
        module.get_numerical_jacobian(fn, (a, b), grad_out=2.0)
    return [j.round(decimals=5) for j in numerical], [*found[0]], found[1:]


@same
def test_an_anomaly_names_what_induced_it(torch: Any) -> None:
    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Inner.apply(g * ctx.saved_tensors[0])

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            (g,) = torch.autograd.grad(Outer.apply(x), x, create_graph=True)
            with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                g.sum().backward()
    said = [str(w.message) for w in caught]
    assert any("Error detected in InnerBackward" in text for text in said)
    assert any("Previous calculation was induced by OuterBackward" in text for text in said)


@same
def test_a_tangent_must_change_with_its_input(torch: Any) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t

    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            Doubled.apply(x)


@same
def test_a_tangent_lies_in_as_much_memory_as_its_primal(torch: Any) -> Any:
    forward = torch.autograd.forward_ad
    primal, tangent = torch.arange(5.0)[:4].detach(), torch.ones(4)
    with forward.dual_level():
        dual = forward.make_dual(primal, tangent)
        found = forward.unpack_dual(dual).tangent
        found *= 2
        return tangent, found, forward.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent
