"""Random programs, compiled beside the plain ones: values, gradients, and what they write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tautograd as torch

from .compare import assert_same, bits, steps
from .programs import program

# Where the plain program takes a fused function (softmax, variance) a recording takes several: each rounds
# by a unit or two more, of a dozen in a program, and so do gradients.
SHORT_CUTS = 64
# Rounding differences of a program of a dozen operations with sums of up to some hundred numbers; a
# program whose values themselves are noise (a sine of something large) amplifies more than that.
NATIVE = 1e6


def outcome(run: Any, arrays: list[Any], grad: bool, **options: Any) -> Any:
    """What a program gives, and the gradients of its inputs."""
    leaves = [torch.tensor(a).requires_grad_(grad) for a in arrays]
    result = run(*leaves, **options)
    results = result if isinstance(result, tuple) else (result,)
    gradients: Any = None
    if grad and any(r.requires_grad for r in results):
        roots = [r for r in results if r.requires_grad]
        torch.autograd.backward(roots, [torch.ones_like(r) for r in roots])
        gradients = [leaf.grad for leaf in leaves]
    strides = [steps(r) for r in results]
    return bits([results, gradients, [r.is_leaf for r in results]]), strides


def check(seed: int, backend: str, bound: float, layout: bool = False) -> None:
    run, arrays = program(seed)
    compiled = torch.compile(run, backend=backend)
    for options in ({}, {"branch": True}, {"times": 2}):
        grad = bool(seed % 4)
        for call in range(3):
            moved = [a * (1 + call / 8) for a in arrays]
            expected, strides = outcome(run, moved, grad, **options)
            found, others = outcome(compiled, moved, grad, **options)
            where = f"program {seed}, {options}, call {call}"

            def nudged(given: Any = moved, grad: bool = grad, how: Any = options) -> Any:
                unit = np.finfo(given[0].dtype).eps
                signs = [np.where(np.arange(a.size).reshape(a.shape) % 2, 1, -1) for a in given]
                near = [
                    (a * (1 + unit * s)).astype(a.dtype) for a, s in zip(given, signs, strict=True)
                ]
                return outcome(run, near, grad, **how)[0]

            assert_same(found, expected, bound, where, nudged)
            assert strides == others or not layout, (seed, strides, others)
    assert compiled.records == 3


@pytest.mark.parametrize("part", range(6))
def test_random_programs(part: int) -> None:
    for seed in range(part * 10, part * 10 + 10):
        check(seed, "numpy", SHORT_CUTS, layout=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_many_random_programs(part: int) -> None:
    for seed in range(1000 + part * 20, 1000 + part * 20 + 20):
        check(seed, "numpy", SHORT_CUTS)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_many_random_programs_natively(part: int) -> None:
    for seed in range(1000 + part * 20, 1000 + part * 20 + 20):
        check(seed, "llvm", NATIVE)
