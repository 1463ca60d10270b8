"""A GPU's random numbers beside PyTorch's on the same GPU: equal for the same seed, element by element.

    PYTHONPATH=src python3 tools/gpu/random_streams.py [--seeds 100]

For each seed both engines make the same calls one after the other, so that a wrong count of words shows in
every call after it. Prints a line for each kind of call that differs, and a count.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import tautograd

SIZES = [
    1,
    2,
    3,
    5,
    255,
    256,
    257,
    1000,
    4096,
    30_000,
    31_000,
    270_336,
    270_337,
    1_081_345,
    2_500_003,
]
FLOATS = ["float32", "float64", "float16", "bfloat16"]


def calls(size: int) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Calls in a namespace with PyTorch's API, by name."""
    for name in FLOATS:
        options = lambda t, name=name: {"device": "cuda", "dtype": getattr(t, name)}  # noqa: E731
        empty = lambda t, options=options: t.empty(size, **options(t))  # noqa: E731
        ones = lambda t, options=options: t.ones(size, **options(t))  # noqa: E731
        yield f"rand {name}", lambda t, o=options: t.rand(size, **o(t))
        yield f"randn {name}", lambda t, o=options: t.randn(size, **o(t))
        yield f"uniform_ {name}", lambda t, e=empty: e(t).uniform_(-1.5, 2.25)
        yield f"normal_ {name}", lambda t, e=empty: e(t).normal_(0.3, 1.7)
        yield f"log_normal_ {name}", lambda t, e=empty: e(t).log_normal_(0.1, 0.5)
        yield f"exponential_ {name}", lambda t, e=empty: e(t).exponential_(1.3)
        yield f"cauchy_ {name}", lambda t, e=empty: e(t).cauchy_(0.5, 2.0)
        yield f"geometric_ {name}", lambda t, e=empty: e(t).geometric_(0.3)
        yield f"bernoulli_ {name}", lambda t, e=empty: e(t).bernoulli_(0.3)
        yield f"bernoulli {name}", lambda t, e=ones: t.bernoulli(e(t) * 0.25)
        yield f"dropout {name}", lambda t, e=ones: t.nn.functional.dropout(e(t), 0.3)
        yield f"dropout view {name}", lambda t, e=ones: t.nn.functional.dropout(e(t)[1:], 0.3)
        yield (
            f"alpha_dropout {name}",
            lambda t, e=ones: t.nn.functional.alpha_dropout(e(t), 0.3, True),
        )
        yield f"random_ {name}", lambda t, e=empty: e(t).random_()
        yield f"random_(7, 90) {name}", lambda t, e=empty: e(t).random_(7, 90)
    for name in ("int64", "int32", "uint8", "bool"):
        empty = lambda t, name=name: t.empty(size, device="cuda", dtype=getattr(t, name))  # noqa: E731
        yield f"random_ {name}", lambda t, e=empty: e(t).random_()
        yield f"bernoulli_ {name}", lambda t, e=empty: e(t).bernoulli_(0.4)
    yield "randint", lambda t: t.randint(-5, 17, (size,), device="cuda")
    yield "randint wide", lambda t: t.randint(-(2**40), 2**50, (size,), device="cuda")
    yield "randperm", lambda t: t.randperm(size, device="cuda")
    yield "randperm int32", lambda t: t.randperm(size, device="cuda", dtype=t.int32)
    yield "multinomial", lambda t: t.multinomial(t.ones(8, size, device="cuda"), 1)
    rows = size // 4 * 4 or 4
    turned = lambda t: t.empty(rows // 4, 4, device="cuda").t()  # noqa: E731
    yield "turned normal_", lambda t: turned(t).normal_()
    yield "turned dropout", lambda t: t.nn.functional.dropout(turned(t).fill_(1), 0.5)
    yield "sliced uniform_", lambda t: t.zeros(rows // 4, 8, device="cuda")[:, ::2].uniform_()
    yield "Linear", lambda t: t.nn.Linear(min(size, 512), 3, device="cuda").weight.detach()


def host(value: Any) -> Any:
    value = value.cpu()
    return (value.float() if str(value.dtype).endswith("bfloat16") else value).numpy()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    done, differing, example = 0, Counter[str](), dict[str, str]()
    for seed in range(seeds):
        size = SIZES[seed % len(SIZES)]
        torch.manual_seed(seed)
        tautograd.manual_seed(seed)
        for name, call in calls(size):
            if "multinomial" in name and size > 2**20:
                continue
            expected = host(call(torch))
            try:
                found = host(call(tautograd))
                wrong = np.flatnonzero(found.ravel() != expected.ravel())
                said = found.shape != expected.shape or found.dtype != expected.dtype or len(wrong)
                text = f"{len(wrong)} of {found.size}"
                if len(wrong):
                    at = wrong[0]
                    text += f", at {at}: {found.ravel()[at]!r} for {expected.ravel()[at]!r}"
            except Exception as error:
                said, text = True, f"{type(error).__name__}: {error}"
            offsets = [t.cuda.get_rng_state() for t in (torch, tautograd)]
            counts = [int(s.cpu().numpy().view(np.int64)[1]) for s in offsets]
            if counts[0] != counts[1]:
                said, text = True, f"{text}; offset {counts[1]} for {counts[0]}"
                tautograd.cuda.set_rng_state(tautograd.tensor(offsets[0].cpu().numpy()))
            done += 1
            if said:
                differing[name] += 1
                example.setdefault(name, f"seed {seed}, size {size}: {text}")
    for name, times in differing.most_common():
        sys.stdout.write(f"{name}: {times} times; {example[name]}\n")
    apart = sum(differing.values())
    sys.stdout.write(f"{done - apart} calls the same, {apart} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
