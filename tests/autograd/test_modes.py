"""Recording on and off: contexts, decorators, generators, inference mode."""

from __future__ import annotations

import pytest

from tests.both import same


@same
def test_no_grad_and_enable_grad_nest(torch):
    x = torch.ones(2, requires_grad=True)
    states = [torch.is_grad_enabled()]
    with torch.no_grad():
        states.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        with torch.enable_grad():
            states.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        states.append(torch.is_grad_enabled())
    states.append(torch.is_grad_enabled())
    return states


@same
def test_set_grad_enabled_as_function_and_context(torch):
    states = []
    try:
        torch.set_grad_enabled(False)
        states.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            states.append(torch.is_grad_enabled())
        states.append(torch.is_grad_enabled())
    finally:
        torch.set_grad_enabled(True)
    return states, repr(torch.set_grad_enabled(True))


@same
def test_mode_is_restored_after_an_error(torch):
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0
    return torch.is_grad_enabled()


@same
@pytest.mark.parametrize("with_parentheses", [True, False])
def test_decorated_function(torch, with_parentheses):
    decorator = torch.no_grad() if with_parentheses else torch.no_grad

    @decorator
    def double(x, *, times=2):
        """Doc."""
        return x * times, torch.is_grad_enabled()

    x = torch.ones(2, requires_grad=True)
    return double(x), double(x, times=3), double.__name__, double.__doc__, torch.is_grad_enabled()


@same
def test_decorated_recursive_function(torch):
    @torch.no_grad()
    def countdown(n):
        return [torch.is_grad_enabled()] + (countdown(n - 1) if n else [])

    return countdown(3), torch.is_grad_enabled()


@same
def test_set_grad_enabled_decorator(torch):
    @torch.set_grad_enabled(False)
    def inside():
        return torch.is_grad_enabled()

    return torch.is_grad_enabled(), inside(), inside(), torch.is_grad_enabled()


@same
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_decorated_generator(torch, mode):
    @getattr(torch, mode)()
    def counts():
        first = torch.is_grad_enabled(), (yield 0)
        second = torch.is_grad_enabled(), (yield 1)
        third = torch.is_grad_enabled(), (yield 2)
        return first, second, third

    outside = []
    generator = counts()
    outside.append((next(generator), torch.is_grad_enabled()))
    outside.append((generator.send("a"), torch.is_grad_enabled()))
    outside.append((generator.send("b"), torch.is_grad_enabled()))
    try:
        generator.send("c")
    except StopIteration as stop:
        return outside, stop.value
    return None


@same
def test_decorated_generator_that_is_closed_or_thrown_into(torch):
    events = []

    @torch.no_grad()
    def careful():
        try:
            yield 1
        except ValueError:
            events.append(("caught", torch.is_grad_enabled()))
            yield 2
        finally:
            events.append(("finally", torch.is_grad_enabled()))

    generator = careful()
    next(generator)
    events.append(generator.throw(ValueError("x")))
    generator.close()
    return events, torch.is_grad_enabled()


@same
def test_decorating_a_class_is_deprecated(torch):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Thing:
            def __init__(self):
                self.enabled = torch.is_grad_enabled()

    return Thing().enabled


@same
def test_no_grad_result_is_a_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        made = torch.ones(2, requires_grad=True)
    return y.is_leaf, y.requires_grad, made.requires_grad


@same
def test_in_place_on_a_leaf_under_no_grad(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        x.mul_(3)
        x += 1
    return x.detach(), x.requires_grad, x.is_leaf, x._version


@same
def test_backward_ignores_the_mode(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
    return x.grad, torch.is_grad_enabled()


@same
def test_grad_mode_inside_backward(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    (x * x).sum().backward()
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
    return seen, torch.is_grad_enabled()


# --- inference mode ------------------------------------------------------------------------------


@same
def test_inference_tensors(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
        inside = (torch.is_inference_mode_enabled(), torch.is_grad_enabled())
        with torch.inference_mode(False):
            nested = (torch.is_inference_mode_enabled(), torch.is_grad_enabled())
        view = x[:1]
    return y.is_inference(), y.requires_grad, inside, nested, x.is_inference(), view.requires_grad


@same
def test_inference_tensor_cannot_be_saved_for_backward(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    return (x + y).sum(), x * y.clone()


@same
def test_inference_tensor_cannot_be_changed_outside(torch):
    with torch.inference_mode():
        y = torch.ones(2)
        y.add_(1)
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        y.add_(1)


@same
def test_inference_tensor_has_no_version_and_wants_no_gradient(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        y._version
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        y.requires_grad_()


@same
def test_inference_mode_decorator(torch):
    @torch.inference_mode
    def plain(x):
        return x * 2

    @torch.inference_mode()
    def called(x):
        return x * 2

    @torch.inference_mode(mode=False)
    def off(x):
        return x * 2

    x = torch.ones(2, requires_grad=True)
    return [f(x).is_inference() for f in (plain, called, off)], off(x).requires_grad


@same
def test_normal_tensor_may_be_changed_in_inference_mode(torch):
    x = torch.ones(2)
    with torch.inference_mode():
        x.add_(1)
    return x, x._version, x.is_inference()


@same
def test_recording_cannot_be_switched_on_inside_inference_mode(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
    with torch.inference_mode(), torch.inference_mode(False):
        z = x * 2
    return y.requires_grad, y.is_inference(), z.requires_grad
