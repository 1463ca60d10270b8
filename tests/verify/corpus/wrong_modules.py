"""Modules whose backward was written by hand, wrongly: the module's path is to be named as well."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, filled, wrong


@wrong("module", "LinearFunction", module="layers.1")
def linear_whose_bias_is_averaged(torch: Any) -> Check:
    """A Linear by hand: its bias gets the mean over the batch."""
    nn = torch.nn

    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x, weight)
            return x @ weight.t() + bias

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            return g @ weight, g.t() @ x, g.mean(0)

    class Linear(nn.Linear):
        def forward(self, x):
            return LinearFunction.apply(x, self.weight, self.bias)  # wrong: here

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 4), Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))

        def forward(self, x):
            return self.layers(x)

    return Check(filled(Net(), torch), draw(torch, 3, 3))


@wrong("module", "NormFunction", module="norm")
def layer_norm_without_its_second_term(torch: Any) -> Check:
    """A LayerNorm by hand: the gradient through the variance is missing."""
    nn = torch.nn

    class NormFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, gain, bias):
            centred = x - x.mean(-1, keepdim=True)
            inverse = (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()
            hat = centred * inverse
            ctx.save_for_backward(hat, inverse, gain)
            return hat * gain + bias

        @staticmethod
        def backward(ctx, g):
            hat, inverse, gain = ctx.saved_tensors
            inner = g * gain
            back = inverse * (inner - inner.mean(-1, keepdim=True))
            return back, (g * hat).sum(0), g.sum(0)

    class Norm(nn.LayerNorm):
        def forward(self, x):
            return NormFunction.apply(x, self.weight, self.bias)  # wrong: here

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = Norm(4)
            self.out = nn.Linear(4, 4)

        def forward(self, x):
            return x + self.out(self.norm(x)).tanh()

    return Check(filled(Block(), torch), draw(torch, 3, 4))


@wrong("module", "BatchNormFunction", module="1")
def batch_norm_with_constant_statistics(torch: Any) -> Check:
    """A BatchNorm by hand that differentiates as in evaluation while it computes as in training."""
    nn = torch.nn

    class BatchNormFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, gain, bias):
            inverse = (x.var(0, unbiased=False) + 1e-5).rsqrt()
            hat = (x - x.mean(0)) * inverse
            ctx.save_for_backward(hat, inverse, gain)
            return hat * gain + bias

        @staticmethod
        def backward(ctx, g):
            hat, inverse, gain = ctx.saved_tensors
            return g * gain * inverse, (g * hat).sum(0), g.sum(0)

    class BatchNorm(nn.BatchNorm1d):
        def forward(self, x):
            return BatchNormFunction.apply(x, self.weight, self.bias)  # wrong: here

    net = nn.Sequential(nn.Linear(3, 3), BatchNorm(3), nn.Tanh())
    return Check(filled(net, torch), draw(torch, 4, 3))


@wrong("module", "GruFunction", module="cell")
def gated_unit_without_its_reset_path(torch: Any) -> Check:
    """A GRU cell by hand: the state's way through the reset gate is forgotten."""
    nn = torch.nn

    class GruFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, gates, h):
            r, z, n = gates.chunk(3, -1)
            r, z = r.sigmoid(), z.sigmoid()
            new = torch.tanh(n + r * h)
            ctx.save_for_backward(r, z, new, h)
            return (1 - z) * new + z * h

        @staticmethod
        def backward(ctx, g):
            r, z, new, h = ctx.saved_tensors
            gn = g * (1 - z) * (1 - new * new)
            gz = g * (h - new) * z * (1 - z)
            gr = gn * h * r * (1 - r)
            return torch.cat([gr, gz, gn], -1), g * z

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates = nn.Linear(2, 6)

        def forward(self, x, h):
            return GruFunction.apply(self.gates(x), h)  # wrong: here

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = Cell()

        def forward(self, xs, h):
            for x in xs.unbind(0):
                h = self.cell(x, h)
            return h

    return Check(filled(Reader(), torch), draw(torch, 2, 2, 2), draw(torch, 2, 2, seed=1))


@wrong("module", "ConvFunction", module="features.conv")
def convolution_whose_kernel_is_flipped(torch: Any) -> Check:
    """A causal convolution by hand: the gradient of the signal goes through the flipped kernel."""
    nn, F = torch.nn, torch.nn.functional

    class ConvFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kernel):
            ctx.save_for_backward(x, kernel)
            return F.conv1d(F.pad(x, (2, 0)), kernel)

        @staticmethod
        def backward(ctx, g):
            x, kernel = ctx.saved_tensors
            gx = F.conv1d(F.pad(g, (0, 2)), kernel.transpose(0, 1))
            gk = F.conv1d(F.pad(x, (2, 0)).transpose(0, 1), g.transpose(0, 1)).transpose(0, 1)
            return gx, gk

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = nn.Parameter(torch.zeros(2, 2, 3))

        def forward(self, x):
            return ConvFunction.apply(x, self.kernel)  # wrong: here

    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = Conv()

        def forward(self, x):
            return self.conv(x).relu()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = Features()

        def forward(self, x):
            return self.features(x).mean(-1)

    return Check(filled(Net(), torch), draw(torch, 1, 2, 5))


@wrong("module", "ScaleFunction", module="blocks.1")
def one_block_of_several(torch: Any) -> Check:
    """Of two equal blocks one was given another rule: the path says which."""
    nn = torch.nn

    class ScaleFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, gain):
            ctx.save_for_backward(x, gain)
            return x * gain

        @staticmethod
        def backward(ctx, g):
            x, gain = ctx.saved_tensors
            return g * gain, 2 * (g * x).sum(0)

    class Block(nn.Module):
        def __init__(self, by_hand):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(3))
            self.by_hand = by_hand

        def forward(self, x):
            if self.by_hand:
                x = ScaleFunction.apply(x, self.gain)  # wrong: here
            else:
                x = x * self.gain
            return x.tanh()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(False), Block(True)])

        def forward(self, x):
            for block in self.blocks:
                x = x + block(x)
            return x

    return Check(filled(Net(), torch), draw(torch, 2, 3))


@wrong("module", "ProjectionFunction", module="attention.project")
def projection_of_an_attention(torch: Any) -> Check:
    """The projection of queries, keys and values returns its three gradients in another order."""
    nn = torch.nn

    class ProjectionFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return tuple(y.contiguous() for y in (x @ weight.t()).chunk(3, -1))

        @staticmethod
        def backward(ctx, gq, gk, gv):
            x, weight = ctx.saved_tensors
            g = torch.cat([gk, gq, gv], -1)
            return g @ weight, torch.einsum("bto,bti->oi", g, x)

    class Project(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(6, 3))

        def forward(self, x):
            return ProjectionFunction.apply(x, self.weight)  # wrong: here

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = Project()

        def forward(self, x):
            q, k, v = self.project(x)
            return torch.softmax(q @ k.mT, -1) @ v

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = Attention()

        def forward(self, x):
            return self.attention(x)

    return Check(filled(Net(), torch), draw(torch, 1, 3, 3))
