"""Layers whose tensors' memory is replaced: errors are fine, but no kernel may access memory beyond its arrays.

Between calls a parameter, a buffer, an input, an optimizer state, a gradient or a tensor saved for backward gets
another size, dtype or layout, in ways that nothing checks (`x.data = …`, hooks, loaded states). If the
process dies, now or at a later case, something has written where it must not.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.target import Case, Target

torch: Any = None
Layer = tuple[Callable[[], Any], Callable[[], list[Any]]]
OPTIMIZERS = (
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "ASGD",
)
INTERNAL = (AttributeError, KeyError, UnboundLocalError, ZeroDivisionError)
WAYS = ("forward", "prehook", "hook", "saved", "state")


def _layers() -> dict[str, Layer]:
    nn, randn, randint = torch.nn, torch.randn, torch.randint
    return {
        "linear": (lambda: nn.Linear(96, 128), lambda: [randn(32, 96)]),
        "bilinear": (lambda: nn.Bilinear(8, 9, 10), lambda: [randn(32, 8), randn(32, 9)]),
        "conv1d": (lambda: nn.Conv1d(8, 16, 5), lambda: [randn(4, 8, 50)]),
        "conv2d": (lambda: nn.Conv2d(8, 16, 3), lambda: [randn(4, 8, 20, 20)]),
        "depthwise": (lambda: nn.Conv2d(16, 16, 3, groups=16), lambda: [randn(4, 16, 20, 20)]),
        "transposed": (lambda: nn.ConvTranspose2d(8, 16, 3), lambda: [randn(4, 8, 10, 10)]),
        "lstm": (lambda: nn.LSTM(16, 32, 2, bidirectional=True), lambda: [randn(10, 8, 16)]),
        "projected": (lambda: nn.LSTM(16, 32, proj_size=8), lambda: [randn(10, 8, 16)]),
        "gru": (lambda: nn.GRU(16, 32), lambda: [randn(10, 8, 16)]),
        "rnn": (lambda: nn.RNN(16, 32), lambda: [randn(10, 8, 16)]),
        "cell": (lambda: nn.LSTMCell(16, 32), lambda: [randn(8, 16)]),
        "batch norm": (lambda: nn.BatchNorm2d(16), lambda: [randn(4, 16, 8, 8)]),
        "layer norm": (lambda: nn.LayerNorm(256), lambda: [randn(32, 256)]),
        "group norm": (lambda: nn.GroupNorm(4, 16), lambda: [randn(4, 16, 8, 8)]),
        "rms norm": (lambda: nn.RMSNorm(256), lambda: [randn(32, 256)]),
        "embedding": (lambda: nn.Embedding(50, 32), lambda: [randint(0, 50, (32, 9))]),
        "bag": (lambda: nn.EmbeddingBag(50, 32), lambda: [randint(0, 50, (32, 9))]),
        "attention": (lambda: nn.MultiheadAttention(32, 4), lambda: [randn(10, 8, 32)] * 3),
        "gelu": (nn.GELU, lambda: [randn(32, 500)]),
        "softmax": (lambda: nn.Softmax(-1), lambda: [randn(32, 500)]),
        "max pool": (lambda: nn.MaxPool2d(2), lambda: [randn(4, 8, 20, 20)]),
        "dropout": (nn.Dropout, lambda: [randn(32, 500)]),
    }


class Memory(Target):
    """Layers at work on memory of other sizes."""

    name = "memory"
    limit = 60.0

    def prepare(self) -> None:
        global torch
        import tautograd

        torch = tautograd
        warnings.simplefilter("ignore")
        self.layers = _layers()

    def case(self, rng: random.Random) -> Case:
        if torch is None:
            self.prepare()
        return {
            "layer": rng.choice(list(self.layers)),
            "optimizer": rng.choice(OPTIMIZERS),
            "way": rng.choice(WAYS),
            "steps": rng.randint(1, 3),
            "seed": rng.randrange(1 << 30),
        }

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        self.prepare()
        rng = random.Random(case["seed"])
        make, inputs = self.layers[case["layer"]]
        torch.manual_seed(case["seed"])
        layer, given = make(), [x.requires_grad_(x.is_floating_point()) for x in inputs()]
        optimizer = getattr(torch.optim, case["optimizer"])(
            [*layer.parameters(), torch.ones(1)], lr=1e-3
        )
        for _ in range(case["steps"]):
            counts["steps on other memory"] += 1
            pool = [*layer.parameters(), *layer.buffers(), *given]
            try:
                if case["way"] == "state":
                    states = [v for s in optimizer.state.values() for v in s.values()]
                    pool = [v for v in states if isinstance(v, torch.Tensor)] or pool
                elif case["way"] == "forward":
                    _change(rng, rng.choice(pool))
                loss = _loss(layer, given, case["way"], rng)
                if rng.random() < 0.3:
                    _change(rng, rng.choice(pool))
                loss.backward()
                if case["way"] == "state" or rng.random() < 0.3:
                    _change(rng, rng.choice(pool))
                optimizer.step()
            except INTERNAL as error:
                return f"{case['layer']} on other memory: {type(error).__name__}\n{case['way']}: {error}"
            except Exception:
                counts["refused on other memory"] += 1
        return None

    def smaller(self, case: Case) -> Iterator[Case]:
        for steps in range(1, case["steps"]):
            yield {**case, "steps": steps}


def _loss(layer: Any, given: list[Any], way: str, rng: random.Random) -> Any:
    """The loss to differentiate, with hooks that replace what they see."""

    def replaced(tensor: Any) -> Any:
        other = tensor.detach().clone()
        _change(rng, other)
        return other

    if way == "saved":
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, replaced):
            outputs = layer(*given)
    else:
        outputs = layer(*given)
    loss = sum(out.float().sum() for out in _tensors(outputs) if out.is_floating_point())
    if way in ("prehook", "hook"):
        hung, waiting = set(), [loss.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node in hung or "Accumulate" in type(node).__name__:
                continue
            hung.add(node)
            waiting += [below for below, _ in node.next_functions]
            hang = node.register_prehook if way == "prehook" else node.register_hook
            if rng.random() < 0.5:
                hang(lambda grads, *_: tuple(None if g is None else replaced(g) for g in grads))
    return loss


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)


def _change(rng: random.Random, tensor: Any) -> None:
    """Give a tensor memory of another size, dtype, layout or content."""
    shape, like = list(tensor.shape), {"dtype": tensor.dtype}
    floats = tensor.is_floating_point()
    kind = rng.randrange(8)
    if kind == 0 and shape:
        at = rng.randrange(len(shape))
        shape[at] = max(0, rng.choice((0, 1, shape[at] - 1, shape[at] + 1, 3 * shape[at])))
        tensor.data = torch.ones(shape, **like)
    elif kind == 1:
        tensor.data = tensor.detach().to(rng.choice((torch.float64, torch.bfloat16, torch.float16)))
    elif kind == 2:
        tensor.data = torch.ones(rng.choice(((), (1,), (3,), (2, 2), (1, 1, 1))), **like)
    elif kind == 3 and len(shape) > 1:
        tensor.data = tensor.detach().transpose(0, -1)
    elif kind == 4 and shape:
        tensor.data = torch.ones(1, **like).expand(*shape)
    elif kind == 5:
        wide = torch.ones([2 * n for n in shape], **like)
        tensor.data = wide[tuple(slice(None, None, 2) for _ in shape)]
    elif kind == 6 and shape:
        tensor.data = tensor.detach().flip(0)
    else:
        content = float("nan") if floats else rng.choice((-1, 10**9, 1 << 40))
        tensor.data = torch.full(shape, content, **like)


TARGET = Memory()
