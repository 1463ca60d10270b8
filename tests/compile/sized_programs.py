"""Random functions of arguments whose sizes change from call to call, each from a number.

A function takes `x` (n by 4), `y` (m by n) and `ids` (n whole numbers), and goes through a few steps that were drawn
once. What a step does depends on sizes in the ways in which Python and tensors can: views and reshapes, whole-number
division, masks and positions, sums along a symbolic dimension, convolutions over it, random numbers of that many,
writes into memory of that size, branches and loops by a size, and numbers that are made from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tautograd as torch
import tautograd.nn.functional as F

WIDTH = 4
ROWS = 12  # of a table
Step = Callable[[Any, "Call"], Any]


class Held:
    """What a function has besides its arguments, and what its steps may read."""

    def __init__(self, rng: np.random.Generator) -> None:
        def drawn(*shape: int) -> Any:
            return torch.tensor(rng.standard_normal(shape) * 0.5)

        self.weight, self.bias = drawn(WIDTH, WIDTH), drawn(WIDTH)
        self.kernel, self.table = drawn(WIDTH, WIDTH, 3), drawn(ROWS, WIDTH)
        self.places = drawn(64, WIDTH)
        self.mean, self.variance = torch.zeros(WIDTH).double(), torch.ones(WIDTH).double()
        self.gate = torch.nn.GRU(WIDTH, WIDTH, batch_first=True).double()
        self.attention = torch.nn.MultiheadAttention(WIDTH, 2, batch_first=True).double()
        self.scale = 0.5
        self.flag = True

    @property
    def parameters(self) -> list[Any]:
        own = [self.weight, self.bias, self.kernel, self.table]
        return [*own, *self.gate.parameters(), *self.attention.parameters()]


class Call:
    """What a step may read: the sizes and the other arguments of one call, and what the function has besides."""

    __slots__ = ("held", "ids", "m", "n", "y")

    def __init__(self, held: Held, x: Any, y: Any, ids: Any) -> None:
        self.held = held
        self.n, self.m = x.shape[0], y.shape[0]
        self.y, self.ids = y.double(), ids


def _written(h: Any, e: Call) -> Any:
    out = torch.zeros(e.n, WIDTH, dtype=h.dtype)
    out[: e.n // 2] = h[: e.n // 2]
    out[e.n // 2 :] += 1
    return out


def _shifted(h: Any, e: Call) -> Any:
    out = h.clone()
    out[1:] -= h[:-1]
    return out


def _looped(h: Any, e: Call) -> Any:
    for k in range(e.n // 8):
        h = h + k * 0.1
    return h


def _scanned(h: Any, e: Call) -> Any:
    state = torch.zeros(WIDTH, dtype=h.dtype)
    for row in h:
        state = torch.tanh(state + row)
    return state


def _normed(h: Any, e: Call) -> Any:
    return F.batch_norm(h, e.held.mean, e.held.variance, training=True, momentum=0.2)


def _classes(h: Any, e: Call) -> Any:
    target = torch.where(e.ids % 3 == 0, -100, e.ids % WIDTH)
    return F.cross_entropy(h, target, ignore_index=-100, label_smoothing=0.1)


def _recurrent(h: Any, e: Call) -> Any:
    return e.held.gate(h[None])[0][0]


def _attended(h: Any, e: Call) -> Any:
    hidden = torch.ones(e.n, e.n, dtype=torch.bool).triu(1)
    return e.held.attention(h[None], h[None], h[None], attn_mask=hidden)[0][0]


def _scattered(h: Any, e: Call) -> Any:
    return torch.zeros(ROWS, WIDTH, dtype=h.dtype).index_add(0, e.ids, h)


def _counted(h: Any, e: Call) -> Any:
    return torch.bincount(e.ids, minlength=ROWS).to(h.dtype)


def _conv(h: Any, e: Call, **how: int) -> Any:
    return F.conv1d(h.t()[None], e.held.kernel, **how)[0].t()


def _by_place(h: Any, e: Call) -> Any:
    out = h.clone()
    out[torch.arange(e.n), e.ids % WIDTH] = 0.25
    return out


def _single(h: Any, e: Call) -> Any:
    return h.to(torch.float32).sigmoid().to(h.dtype)


def _of_pairs(h: Any, e: Call) -> Any:
    whole = h[: e.n // 2 * 2]
    return whole.view(-1, 2, WIDTH).mean(1)


RANDOM: tuple[Step, ...] = (
    lambda h, e: F.dropout(h, 0.3),
    lambda h, e: h + torch.rand(e.n, 1, dtype=h.dtype),
    lambda h, e: h + torch.randn_like(h),
    lambda h, e: h * torch.bernoulli(torch.full((e.n, 1), 0.5, dtype=h.dtype)),
    lambda h, e: h[torch.randperm(e.n)],
    lambda h, e: h + torch.randint(0, e.n, (e.n, 1)),
    lambda h, e: h + torch.empty(e.n, WIDTH, dtype=h.dtype).uniform_(0, e.n),
)  # fmt: skip
# Where a step's result has the shape of what it was given, the next step goes on from it; else by its sum.
STEPS: tuple[Step, ...] = (
    # views, and whole-number division
    lambda h, e: h.reshape(-1),
    lambda h, e: h.reshape(2, -1).sum(1),
    lambda h, e: h.contiguous().view(e.n, 2, 2).transpose(1, 2).reshape(e.n, WIDTH),
    lambda h, e: h[: e.n // 2],
    lambda h, e: h[e.n // 2 :],
    lambda h, e: h[::2],
    lambda h, e: h[-1],
    lambda h, e: h[e.n % 3 :],
    lambda h, e: h[1:] - h[:-1],
    lambda h, e: h[max(e.n - 5, 0) :],
    lambda h, e: h[:5],
    lambda h, e: h[-3:-1],
    lambda h, e: h.narrow(0, 1, e.n - 1),
    lambda h, e: h.chunk(2)[0],
    lambda h, e: h.chunk(3, 0)[-1],
    lambda h, e: h.split(3)[-1],
    lambda h, e: h.split([e.n - 1, 1])[0],
    lambda h, e: h.tensor_split(2)[1],
    lambda h, e: h.unfold(0, 2, 1).sum(-1),
    lambda h, e: h.unfold(0, 3, 2).mean(-1),
    lambda h, e: h.t().flatten(),
    lambda h, e: h.unsqueeze(1).expand(-1, 3, -1).reshape(e.n * 3, WIDTH),
    lambda h, e: h.as_strided((e.n, 2), (WIDTH, 1)) if h.is_contiguous() else h,
    lambda h, e: h.movedim(0, 1).flip(1).t(),
    lambda h, e: h.roll(1, 0),
    lambda h, e: h.roll(e.n // 2, 0),
    lambda h, e: torch.rot90(h),
    lambda h, e: h.diagonal(),
    lambda h, e: (h @ h.t()).diagonal(1),
    lambda h, e: (h @ h.t()).tril(-1).sum(0),
    _of_pairs,
    lambda h, e: h.unflatten(0, (1, e.n)).squeeze(0),
    # numbers made from sizes
    lambda h, e: h / e.n,
    lambda h, e: h * e.n**-0.5,
    lambda h, e: h / (e.n - 1),
    lambda h, e: h * math.log(e.n),
    lambda h, e: h + e.n % 4,
    lambda h, e: h * (e.n * e.m),
    lambda h, e: h / h.numel() + len(h),
    lambda h, e: h * (e.n / (e.n + e.m)),
    lambda h, e: h + torch.tensor([e.n, e.m], dtype=h.dtype).sum(),
    lambda h, e: h + torch.tensor(list(range(e.n)), dtype=h.dtype)[:, None],
    lambda h, e: h * torch.tensor([0.5] * e.n, dtype=h.dtype)[:, None],
    lambda h, e: h + torch.full((e.n, 1), e.n / 2, dtype=h.dtype),
    lambda h, e: h.clamp(-e.n / 8, e.n / 8),
    lambda h, e: h.sum(0) / max(e.n, 6),
    lambda h, e: h.sum(0) / min(e.n, 6),
    lambda h, e: h ** (2 if e.n < 10 else 3),
    # positions and masks
    lambda h, e: h + torch.arange(e.n, dtype=h.dtype)[:, None],
    lambda h, e: h + torch.arange(e.n - 1, -1, -1, dtype=h.dtype)[:, None],
    lambda h, e: h * torch.arange(0, 2 * e.n, 2)[:, None],
    lambda h, e: h * (torch.arange(e.n) < 5)[:, None],
    lambda h, e: h.masked_fill((torch.arange(e.n) % 2 == 0)[:, None], 0.5),
    lambda h, e: torch.softmax((h @ h.t()).masked_fill(torch.ones(e.n, e.n).triu(1) > 0, -1e9), -1) @ h,
    lambda h, e: torch.eye(e.n, dtype=h.dtype) @ h,
    lambda h, e: torch.eye(e.n, e.m, dtype=h.dtype).t() @ h,
    lambda h, e: torch.linspace(0, 1, e.n, dtype=h.dtype)[:, None] * h,
    lambda h, e: torch.logspace(0, 1, e.n, dtype=h.dtype)[:, None] * h,
    lambda h, e: h + e.held.places[: e.n],
    lambda h, e: h + e.held.places[torch.arange(e.n)],
    lambda h, e: h + torch.hann_window(e.n, dtype=h.dtype)[:, None],
    lambda h, e: torch.tril_indices(e.n, e.n).sum(1).to(h.dtype),
    lambda h, e: torch.combinations(torch.arange(min(e.n, 5))).sum(0).to(h.dtype),
    lambda h, e: torch.meshgrid(torch.arange(e.n), torch.arange(e.m), indexing="ij")[0].to(h.dtype),
    lambda h, e: torch.cartesian_prod(torch.arange(e.n), torch.arange(2)).to(h.dtype),
    # along a symbolic dimension
    lambda h, e: h.sum(0),
    lambda h, e: h.mean(0, keepdim=True),
    lambda h, e: h - h.mean(),
    lambda h, e: h.var(0),
    lambda h, e: h.std(),
    lambda h, e: h.prod(0),
    lambda h, e: h.logsumexp(0),
    lambda h, e: h.norm(dim=0),
    lambda h, e: h.amax(0),
    lambda h, e: h.max(0).values,
    lambda h, e: h.argmax(0).to(h.dtype),
    lambda h, e: h.median(0).values,
    lambda h, e: h.quantile(0.5, 0),
    lambda h, e: h.cumsum(0),
    lambda h, e: h.cummax(0).values,
    lambda h, e: h.flip(0).cumprod(0),
    lambda h, e: h.sort(0).values,
    lambda h, e: h.argsort(0).to(h.dtype),
    lambda h, e: h.topk(min(3, e.n), 0).values,
    lambda h, e: h.topk(e.n // 2, 0).values,
    lambda h, e: h.kthvalue((e.n + 1) // 2, 0).values,
    lambda h, e: h.softmax(0),
    lambda h, e: h.log_softmax(0),
    lambda h, e: (h > 0).sum(0).to(h.dtype),
    lambda h, e: (h > 0).all(0).to(h.dtype),
    lambda h, e: h.diff(dim=0),
    lambda h, e: torch.trapezoid(h, dim=0),
    lambda h, e: torch.cov(h.t()),
    lambda h, e: F.normalize(h, dim=0),
    lambda h, e: F.layer_norm(h.t().contiguous(), (e.n,)).t(),
    lambda h, e: F.cosine_similarity(h, h.flip(0), dim=0),
    # products
    lambda h, e: h @ e.held.weight,
    lambda h, e: F.linear(h, e.held.weight, e.held.bias).tanh(),
    lambda h, e: h.t() @ h,
    lambda h, e: h @ h.t(),
    lambda h, e: e.y @ h,
    lambda h, e: (e.y.t() @ (e.y @ h)),
    lambda h, e: torch.einsum("mn,nk->km", e.y, h),
    lambda h, e: torch.bmm(e.y[None], h[None])[0],
    lambda h, e: torch.outer(h[:, 0], e.y[:, 0]),
    lambda h, e: torch.cdist(h, h.flip(0) + 1),
    lambda h, e: torch.kron(h[:2], h[:2]),
    lambda h, e: h[:, :1] * e.y.t(),
    lambda h, e: h[:, None] - h[None],
    lambda h, e: e.y[:, :, None] + h[None],
    lambda h, e: h[:1] + h,
    lambda h, e: torch.baddbmm(h[None], h[None], e.held.weight[None])[0],
    # joining and repeating
    lambda h, e: torch.cat([h, h.flip(0)]),
    lambda h, e: torch.cat([h, torch.zeros(1, WIDTH, dtype=h.dtype)])[1:],
    lambda h, e: torch.stack([h, h * 2]).sum(0),
    lambda h, e: h.repeat(2, 1),
    lambda h, e: h.repeat(e.m, 1).mean(0),
    lambda h, e: h.repeat_interleave(2, 0),
    lambda h, e: F.pad(h, (0, 0, 1, 1)),
    lambda h, e: F.pad(h, (0, 0, 0, 8 - e.n % 8)),
    lambda h, e: F.pad(h, (0, 0, 0, max(0, 16 - e.n))),
    lambda h, e: F.pad(h.t()[None], (1, 1), mode="reflect")[0],
    # whole numbers as indices
    lambda h, e: h + F.embedding(e.ids, e.held.table),
    lambda h, e: F.embedding(e.ids, e.held.table, padding_idx=2).sum(0),
    lambda h, e: F.one_hot(e.ids, ROWS).to(h.dtype).mean(0),
    lambda h, e: h[e.ids % e.n],
    lambda h, e: h.index_select(0, e.ids.clamp(max=e.n - 1)),
    lambda h, e: h.gather(1, (e.ids % WIDTH)[:, None]),
    lambda h, e: h.gather(0, h.argsort(0)),
    lambda h, e: h.take_along_dim((e.ids % WIDTH)[:, None], 1),
    lambda h, e: torch.zeros(e.n, ROWS, dtype=h.dtype).scatter(1, e.ids[:, None], 1.0),
    _classes,
    _scattered,
    _counted,
    _by_place,
    lambda h, e: F.nll_loss(h.log_softmax(-1), e.ids % WIDTH),
    lambda h, e: torch.searchsorted(torch.arange(e.n), e.ids).to(h.dtype),
    lambda h, e: h[[0, e.n - 1]],
    lambda h, e: h[e.n // 3],
    lambda h, e: h[..., -1],
    # layers over a length
    lambda h, e: _conv(h, e, padding=1),
    _conv,
    lambda h, e: _conv(h, e, stride=2, padding=1),
    lambda h, e: _conv(h, e, padding=2, dilation=2),
    lambda h, e: F.max_pool1d(h.t()[None], 2)[0],
    lambda h, e: F.avg_pool1d(h.t()[None], 3, 1, 1)[0].t(),
    lambda h, e: F.adaptive_avg_pool1d(h.t()[None], 2)[0],
    lambda h, e: F.adaptive_avg_pool1d(h.t()[None], e.n // 2)[0],
    lambda h, e: F.adaptive_max_pool1d(h.t()[None], 1)[0],
    lambda h, e: F.interpolate(h.t()[None], size=2 * e.n)[0],
    lambda h, e: F.interpolate(h.t()[None], scale_factor=2, mode="linear")[0],
    lambda h, e: torch.fft.rfft(h, dim=0).abs(),
    _normed,
    _recurrent,
    _attended,
    lambda h, e: F.group_norm(h.t()[None], 2)[0].t(),
    *RANDOM,
    # writes
    _written,
    _shifted,
    lambda h, e: h.clone().mul_(e.n).add_(1),
    lambda h, e: h.clone().fill_(1 / e.n),
    lambda h, e: h.new_zeros(e.n, 2).add_(h[:, :2]),
    lambda h, e: h.clone().index_fill_(0, torch.arange(0, e.n, 2), 0.5),
    # branches, loops, and what else Python does with sizes
    lambda h, e: h * 2 if e.n > 10 else h + 1,
    lambda h, e: h if e.n % 2 else h.flip(0),
    lambda h, e: h.sum() if e.n == e.m else h.mean(),
    lambda h, e: h.tanh() if 6 <= e.n < 14 else h.sin(),
    lambda h, e: (h.cos() if e.n in (4, 9, 16) else h.sin()),
    lambda h, e: {4: h, 6: h * 2}.get(e.n, h * 3),
    lambda h, e: h * (e.n & 3) + (e.n >> 1) + (e.n ^ 5),
    lambda h, e: h * float(str(e.n)[0]),
    lambda h, e: h * divmod(e.n, 5)[1] - pow(e.n, 2) // 7,
    lambda h, e: h + math.gcd(e.n, 6) + round(e.n / 3) + e.n.bit_length(),
    lambda h, e: h * (hash(e.n) % 5) + sum(range(e.n)),
    lambda h, e: h + np.float64(e.n) / 3,
    lambda h, e: h * np.sqrt(e.n),
    _looped,
    _scanned,
    # what does not depend on sizes
    lambda h, e: h * e.held.scale,
    lambda h, e: h.exp() if e.held.flag else h,
    lambda h, e: F.gelu(h),
    lambda h, e: torch.where(h > 0, h, h * 0.1),
    lambda h, e: h.square().mean(1, keepdim=True) + h,
    _single,
    lambda h, e: h.softmax(-1),
)  # fmt: skip

ROUNDING = STEPS.index(_single)
# What gives other numbers if calls of threads come in another order.
DRAWING = frozenset(i for i, step in enumerate(STEPS) if step in (*RANDOM, _normed))


def sized_program(seed: int) -> tuple[Callable[..., Any], Held, list[int]]:
    """A function of x, y and ids; what it holds; and the numbers of its steps."""
    rng = np.random.default_rng(seed)
    held = Held(rng)
    which = [int(i) for i in rng.integers(0, len(STEPS), rng.integers(1, 6))]
    extra = int(rng.integers(0, 10))

    def run(x: Any, y: Any, ids: Any) -> Any:
        e = Call(held, x, y, ids)
        h, seen = x.double(), []
        for i in which:
            out = STEPS[i](h, e)
            if out.shape == h.shape and out.dtype == h.dtype:
                h = out
            else:
                seen.append(out)
                h = h + out.sum() * 0.01
        last = seen[-1] if seen else None
        if extra < 5:
            return h, (None, e.n, (e.n, y.shape), h.shape, last)[extra]
        if extra == 5:
            return h, (x if e.n > 8 else y)
        if extra == 6:
            return h, (x[:2], [y.t()] if e.n > 8 else y.t())
        if extra == 7:
            return h, (held.table[: e.n // 2] if e.n > 8 else held.table[1:])
        if extra == 8:
            return h, {"n" if e.n > 8 else "m": 0.0 if e.n % 2 else -0.0}
        return h, (x.detach() if e.n > 8 else x * 1)

    return run, held, which
