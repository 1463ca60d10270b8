"""Values changed after they were saved, and wrong rules inside larger programs."""

from __future__ import annotations

from tests.verify.programs import function, leaf, program, sine


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
