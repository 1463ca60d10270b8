"""Small programs with one wrong rule each: the operation to blame, and its line (`# here`).

Each takes the engine and gives `run`, its leaves by name, and the name of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], tuple[Callable[[], Any], dict[str, Any], str]]

FIRST_ORDER: dict[str, Program] = {}
SECOND_ORDER: dict[str, Program] = {}


def program(fn: Program) -> Program:
    FIRST_ORDER[fn.__name__] = fn
    return fn


def second(fn: Program) -> Program:
    SECOND_ORDER[fn.__name__] = fn
    return fn


def leaf(torch: Any, *shape: int, dtype: str = "float64", seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype)).requires_grad_()


def function(torch: Any, name: str, forward: Any, backward: Any) -> Any:
    """A custom Function of one input that saves it."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors)

    Custom.__name__ = name
    return Custom


def sine(torch: Any, backward: Any = None) -> Any:
    return function(torch, "Sine", lambda x: x.sin(), backward or (lambda g, x: -g * x.cos()))


# --- a rule that is wrong everywhere --------------------------------------------------------------


@program
def wrong_sign(torch):
    x = leaf(torch, 4)
    f = sine(torch)

    def run():
        y = x * 2
        y = f.apply(y)  # here
        return y.sum()

    return run, {"x": x}, "Sine"


@program
def wrong_factor(torch):
    x = leaf(torch, 3, 2)
    f = sine(torch, lambda g, x: 1.01 * g * x.cos())

    def run():
        return f.apply(x).exp()  # here

    return run, {"x": x}, "Sine"


@program
def slightly_wrong_constant(torch):
    x = leaf(torch, 3, 2)
    f = function(torch, "Gelu", lambda x: x * (1.702 * x).sigmoid(), _rough_gelu)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Gelu"


def _rough_gelu(g, x):
    s = (1.702 * x).sigmoid()
    return g * (s + 1.7 * x * s * (1 - s))


@program
def bound_early(torch):
    x = leaf(torch, 4)
    apply = sine(torch).apply

    def run():
        return apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def missing_term(torch):
    x = leaf(torch, 5)
    f = function(torch, "Swish", lambda x: x * x.sigmoid(), lambda g, x: g * x.sigmoid())

    def run():
        return f.apply(x.tanh())  # here

    return run, {"x": x}, "Swish"


@program
def one_wrong_entry(torch):
    x = leaf(torch, 10)

    def backward(g, x):
        out = g * 2 * x
        out[7] = 0.0
        return out

    f = function(torch, "Square", lambda x: x * x, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Square"


@program
def one_wrong_entry_of_a_thousand(torch):
    x = leaf(torch, 1000)

    def backward(g, x):
        out = g * 2 * x
        out[613] = out[613] * 1.5
        return out

    f = function(torch, "Square", lambda x: x * x, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Square"


@program
def one_wrong_entry_of_twenty_thousand(torch):
    x = leaf(torch, 100, 200)

    def backward(g, x):
        out = g * x.cos()
        out[17, 31] = -out[17, 31] + 0.5
        return out

    f = sine(torch, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Sine"


@program
def transposed(torch):
    a, b = leaf(torch, 3, 3), leaf(torch, 3, 3, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b, a.t() @ g

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def transposed_result(torch):
    a = leaf(torch, 3, 3)
    f = function(torch, "Scale", lambda x: 2 * x, lambda g, x: 2 * g.t())

    def run():
        return (f.apply(a) * a).sum(0)  # here

    return run, {"a": a}, "Scale"


@program
def swapped_inputs(torch):
    a, b = leaf(torch, 4), leaf(torch, 4, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * a, g * b

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def dropped_input(torch):
    a, b = leaf(torch, 4), leaf(torch, 4, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            _, b = ctx.saved_tensors
            return g * b, None

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def wrong_broadcast(torch):
    x, b = leaf(torch, 4, 3), leaf(torch, 3, seed=2)

    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, b):
            return x + b

        @staticmethod
        def backward(ctx, g):
            return g, g.mean(0)

    def run():
        return Shift.apply(x, b).exp()  # here

    return run, {"x": x, "b": b}, "Shift"


@program
def second_output_forgotten(torch):
    x = leaf(torch, 4)

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * x.cos()

    def run():
        s, c = Both.apply(x)  # here
        return s + 2 * c

    return run, {"x": x}, "Both"


@program
def not_linear_in_what_arrives(torch):
    x = leaf(torch, 4)
    f = function(torch, "Clipped", lambda x: 3 * x, lambda g, x: (3 * g).clamp(-1, 1))

    def run():
        return 5 * f.apply(x)  # here

    return run, {"x": x}, "Clipped"


@program
def setup_context(torch):
    x = leaf(torch, 4)

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x**2

    def run():
        return Cube.apply(x)  # here

    return run, {"x": x}, "Cube"


@program
def with_keyword_and_numbers(torch):
    x = leaf(torch, 4)

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, exponent):
            ctx.save_for_backward(x)
            ctx.exponent = exponent
            return x**exponent

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x ** (ctx.exponent - 1), None

    def run():
        return Power.apply(x, 3)  # here

    return run, {"x": x}, "Power"


@program
def complex_without_conjugate(torch):
    x = leaf(torch, 3, dtype="complex128")
    f = function(torch, "Square", lambda x: x * x, lambda g, x: g * 2 * x)

    def run():
        return torch.view_as_real(f.apply(x))  # here

    return run, {"x": x}, "Square"


@program
def in_float32(torch):
    x = leaf(torch, 6, dtype="float32")
    f = sine(torch)

    def run():
        return f.apply(x * 1.5).sum()  # here

    return run, {"x": x}, "Sine"


@program
def in_bfloat16(torch):
    x = leaf(torch, 6, dtype="bfloat16")
    f = sine(torch)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def only_in_float32(torch):
    x = leaf(torch, 6, dtype="float32")

    def backward(g, x):
        return g * x.cos() * (0.9 if x.dtype == torch.float32 else 1.0)

    f = sine(torch, backward)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def only_runs_in_float32(torch):
    x = leaf(torch, 6, dtype="float32")

    def forward(x):
        assert x.dtype == torch.float32
        return x.sin()

    f = function(torch, "Sine", forward, lambda g, x: 0.5 * g * x.cos())

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def wrong_beside_a_kink(torch):
    x = torch.tensor([-1.0, 0.0, 0.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    f = function(torch, "Relu", lambda x: x.clamp(min=0), lambda g, x: g * (x > 0) * 0.5)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Relu"


@program
def outside_of_a_kinks_sides(torch):
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)

    def backward(g, x):
        return g * torch.where(x == 0, torch.full_like(x, 7.0), (x > 0).to(x.dtype))

    f = function(torch, "Relu", lambda x: x.clamp(min=0), backward)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Relu"


@program
def not_a_number(torch):
    x = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    f = function(torch, "Safe", lambda x: x * x, lambda g, x: g * 2 * x * x / x)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Safe"


# --- values that changed --------------------------------------------------------------------------


@program
def saved_value_changed_by_data(torch):
    x = leaf(torch, 4)

    def run():
        y = x * 2
        z = y * y  # here
        y.data.add_(1.0)
        return z.sum()

    return run, {"x": x}, "mul"


@program
def saved_by_function_changed_by_data(torch):
    x = leaf(torch, 4)
    f = function(torch, "Square", lambda x: x * x, lambda g, x: g * 2 * x)

    def run():
        y = x.exp()
        z = f.apply(y)  # here
        y.data.zero_()
        return z

    return run, {"x": x}, "Square"


@program
def state_shared_between_calls(torch):
    x = leaf(torch, 3)

    class Remembers(torch.autograd.Function):
        last = None

        @staticmethod
        def forward(ctx, x):
            Remembers.last = x.detach().clone()
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * Remembers.last

    def run():
        y = Remembers.apply(x)  # here
        with torch.no_grad():
            Remembers.apply(x + 1)
        return y

    return run, {"x": x}, "Remembers"


@program
def hook_changes_gradient(torch):
    x = leaf(torch, 3)

    def run():
        y = x * 2
        y.register_hook(lambda g: g * 0.5)  # here
        return y.exp()

    return run, {"x": x}, "register_hook"


# --- in larger programs ---------------------------------------------------------------------------


@program
def in_a_module(torch):
    f = sine(torch)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 3)

        def forward(self, x):
            h = self.fc(x)
            return f.apply(h)  # here

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), Block(), torch.nn.Tanh()).double()
    x = torch.randn(4, 2, dtype=torch.float64)
    return lambda: net(x), dict(net.named_parameters()), "Sine@1"


@program
def deep_in_modules(torch):
    f = sine(torch, lambda g, x: g * (x.cos() + 0.1))

    class Attn(torch.nn.Module):
        def forward(self, x):
            return f.apply(x)  # here

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(4)
            self.attn = Attn()

        def forward(self, x):
            return x + self.attn(self.norm(x))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([Layer()])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net().double()
    x = leaf(torch, 2, 4)
    return lambda: net(x), {"x": x, **dict(net.named_parameters())}, "Sine@layers.0.attn"


@program
def in_a_loop(torch):
    x = leaf(torch, 3)
    f = sine(torch)

    def run():
        h = x
        for _ in range(5):
            h = h + 0.1 * f.apply(h)  # here
        return h

    return run, {"x": x}, "Sine"


@program
def behind_a_checkpoint(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = leaf(torch, 3)
    f = sine(torch)

    def part(h):
        h = h * 2
        return f.apply(h)  # here

    return lambda: checkpoint(part, x, use_reentrant=False), {"x": x}, "Sine"


@program
def behind_a_reentrant_checkpoint(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = leaf(torch, 3)
    f = sine(torch)

    def part(h):
        h = h * 2
        return f.apply(h)  # here

    return lambda: checkpoint(part, x, use_reentrant=True), {"x": x}, "Sine"


@program
def among_writes_and_views(torch):
    x = leaf(torch, 4, 3)
    f = sine(torch)

    def run():
        y = x.clone()
        y[0] = y[1] * 2
        y[:, 1].mul_(3)
        y.add_(1)
        z = f.apply(y.t())  # here
        return z.reshape(-1)[::2]

    return run, {"x": x}, "Sine"


@program
def with_dropout(torch):
    x = leaf(torch, 5)
    f = sine(torch)

    def run():
        h = torch.nn.functional.dropout(x * 2, 0.5)
        return f.apply(h + 1)  # here

    return run, {"x": x}, "Sine"


@program
def writes_into_its_input(torch):
    x = leaf(torch, 4)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    def run():
        h = x.exp()
        h = Double.apply(h)  # here
        return h.sum()

    return run, {"x": x}, "Double"


@program
def of_a_list_of_tensors(torch):
    x = leaf(torch, 2, 3)

    class Joined(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *parts):
            return torch.cat(parts)

        @staticmethod
        def backward(ctx, g):
            return g[:3], g[:3]

    def run():
        a, b = x.unbind(0)
        return Joined.apply(a, b).exp()  # here

    return run, {"x": x}, "Joined"


# --- only in second order -------------------------------------------------------------------------


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
