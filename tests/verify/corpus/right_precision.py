"""Right gradients in float32, float16 and bfloat16, where rounding is large."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, filled, right, tensor


@right("float32")
def network_in_single_precision(torch: Any) -> Check:
    """Two layers in float32."""

    def network(x, w1, b1, w2):
        return torch.tanh(x @ w1 + b1) @ w2

    shapes = [(4, 5), (5, 6), (6,), (6, 2)]
    return Check(network, *(draw(torch, *s, dtype="float32", seed=i) for i, s in enumerate(shapes)))


@right("float32")
def layer_norm_in_single_precision(torch: Any) -> Check:
    """Layer norm of numbers around 100: the mean takes most of the digits."""

    def norm(x, gain):
        return torch.nn.functional.layer_norm(x, (6,), gain)

    return Check(
        norm, draw(torch, 3, 6, low=99, high=101, dtype="float32"), draw(torch, 6, dtype="float32")
    )


@right("float32")
def sum_of_a_thousand(torch: Any) -> Check:
    """A reduction over 1,000 numbers in float32."""
    return Check(lambda x: x.exp().mean() + x.var(), draw(torch, 1000, dtype="float32"))


@right("float32")
def softmax_in_single_precision(torch: Any) -> Check:
    """A softmax cross entropy in float32."""
    target = torch.tensor([1, 0, 3])
    return Check(
        lambda x: torch.nn.functional.cross_entropy(x, target),
        draw(torch, 3, 5, low=-5, high=5, dtype="float32"),
    )


@right("float32")
def cancellation_in_single_precision(torch: Any) -> Check:
    """Softplus of differences of numbers near 1,000: in float32 three digits are left."""
    x = tensor(torch, [1000.25, 1000.5, 1001.0], dtype="float32")
    return Check(lambda x: torch.nn.functional.softplus(x - 1000.5).sum(), x)


@right("float32")
def kink_in_single_precision(torch: Any) -> Check:
    """relu beside 0 in float32."""
    return Check(lambda x: torch.relu(x) ** 2, tensor(torch, [1e-4, -1e-4, 2.0], dtype="float32"))


@right("float32")
def steep_in_single_precision(torch: Any) -> Check:
    """exp(20 x) in float32."""
    return Check(lambda x: torch.exp(20 * x), draw(torch, 4, dtype="float32"))


@right("float16")
def network_in_half_precision(torch: Any) -> Check:
    """A small network in float16."""

    def network(x, w):
        return torch.sigmoid(x @ w)

    return Check(network, draw(torch, 3, 4, dtype="float16"), draw(torch, 4, 2, dtype="float16"))


@right("float16")
def softmax_in_half_precision(torch: Any) -> Check:
    """softmax in float16."""
    return Check(lambda x: x.softmax(-1), draw(torch, 3, 4, low=-4, high=4, dtype="float16"))


@right("float16")
def mean_of_a_thousand_in_half_precision(torch: Any) -> Check:
    """The mean of 1,000 numbers in float16: each gradient is 0.001, which float16 rounds."""
    return Check(lambda x: (x * x).mean(), draw(torch, 1000, dtype="float16"))


@right("float16")
def layer_norm_in_half_precision(torch: Any) -> Check:
    """Layer norm in float16."""
    return Check(
        lambda x: torch.nn.functional.layer_norm(x, (8,)), draw(torch, 2, 8, dtype="float16")
    )


@right("bfloat16")
def network_in_bfloat16(torch: Any) -> Check:
    """A small network in bfloat16: eight bits of each number."""

    def network(x, w):
        return torch.tanh(x @ w)

    return Check(network, draw(torch, 3, 4, dtype="bfloat16"), draw(torch, 4, 2, dtype="bfloat16"))


@right("bfloat16")
def layer_norm_in_bfloat16(torch: Any) -> Check:
    """Layer norm in bfloat16."""
    return Check(
        lambda x: torch.nn.functional.layer_norm(x, (8,)), draw(torch, 2, 8, dtype="bfloat16")
    )


@right("bfloat16")
def gelu_in_bfloat16(torch: Any) -> Check:
    """gelu and a sum over 200 numbers in bfloat16."""
    return Check(
        lambda x: torch.nn.functional.gelu(x).sum(),
        draw(torch, 200, low=-3, high=3, dtype="bfloat16"),
    )


@right("mixed precision")
def constant_of_single_precision_inside(torch: Any) -> Check:
    """float64 inputs with a float32 table inside, which is widened."""
    table = draw(torch, 3, 3, dtype="float32", requires_grad=False)
    return Check(lambda x: x @ table.to(x.dtype) + table[0], draw(torch, 2, 3))


@right("mixed precision")
def rounded_through_single_precision(torch: Any) -> Check:
    """float64 in and out, computed in float32 in between: noise of 1e-7 on every value."""
    return Check(lambda x: torch.sin(x.to(torch.float32)).to(torch.float64) * 2, draw(torch, 4))


@right("mixed precision")
def statistics_in_float32_of_half(torch: Any) -> Check:
    """float16 activations whose norm is computed in float32, as mixed precision does."""

    def norm(x):
        wide = x.to(torch.float32)
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    return Check(norm, draw(torch, 2, 6, dtype="float16"))


@right("mixed precision")
def module_in_single_precision(torch: Any) -> Check:
    """A module as it comes, in float32."""
    nn = torch.nn
    net = filled(nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 3)), torch)
    return Check(net.to(torch.float32), draw(torch, 3, 4, dtype="float32"))


@right("mixed precision")
def inputs_of_several_dtypes(torch: Any) -> Check:
    """A float32 and a float64 input promoted together."""
    return Check(
        lambda a, b: (a * b).sin(), draw(torch, 3, dtype="float32"), draw(torch, 3, seed=1)
    )
