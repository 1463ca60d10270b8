"""Rules that are right once and wrong when differentiated again."""

from __future__ import annotations

from tests.verify.programs import function, leaf, second, sine


@second
def detached_in_backward(torch):
    x = leaf(torch, 4)
    f = function(torch, "Cube", lambda x: x**3, lambda g, x: g * 3 * x.detach() ** 2)

    def run():
        return f.apply(x * 2)  # here

    return run, {"x": x}, "Cube"


@second
def wrong_backward_of_backward(torch):
    x = leaf(torch, 4)
    inner = function(torch, "CubeGrad", lambda x: 3 * x**2, lambda g, x: g * 5 * x)
    f = function(torch, "Cube", lambda x: x**3, lambda g, x: g * inner.apply(x))

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Cube"


@second
def forgets_what_arrives(torch):
    x = leaf(torch, 4)
    f = function(torch, "Cube", lambda x: x**3, lambda g, x: g.detach() * 3 * x**2)

    def run():
        return f.apply(x).exp()  # here

    return run, {"x": x}, "Cube"


@second
def no_grad_in_backward(torch):
    x = leaf(torch, 4)

    def backward(g, x):
        with torch.no_grad():
            slope = x.cos()
        return g * slope

    f = sine(torch, backward)

    def run():
        h = x + 1
        return f.apply(h)  # here

    return run, {"x": x}, "Sine"


@second
def gradient_penalty(torch):
    x = leaf(torch, 4)
    f = function(torch, "Cube", lambda x: x**3, lambda g, x: g * 3 * x.detach() ** 2)

    def run():
        y = f.apply(x).sum()  # here
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g * g).sum() + y

    return run, {"x": x}, "Cube"
