"""The other ways to take a step, where they work: PyTorch fused, PyTorch compiled, JAX jitted.

A peer that is not there is left out of the table, and a line on stderr says why.
"""

from __future__ import annotations

import functools
import itertools
import sys
from typing import Any

from bench.steps import STEPS, Work


def of_step(name: str, torch: Any) -> dict[str, Work]:
    """Peers of PyTorch's eager step, by the name of their column."""
    found = {"fused": STEPS[name].on(torch, fused=True)}
    if _compiles():
        found["compiled"] = STEPS[name].on(torch, compiled=True, fused=True)
    jitted = _jax_step(name)
    if jitted is not None:
        found["JAX"] = jitted
    return found


@functools.cache
def _compiles() -> bool:
    import torch

    try:
        torch.compile(lambda x: (x * 2).sin() + 1)(torch.ones(3))
    except Exception as error:  # whatever is missing: a compiler, headers, support for this Python
        _leave_out("torch.compile", str(error).strip().splitlines()[0])
        return False
    return True


def _leave_out(peer: str, why: str) -> None:
    print(f"left out: {peer} ({why})", file=sys.stderr)


# ---- JAX -----------------------------------------------------------------------------------------

_WIDTHS = {"linear": (10, 1), "mlp": (784, 256, 128, 10), "wide": (1024,) * 5}


def _jax_step(name: str) -> Work | None:
    """The whole step under jit: perceptrons only, whose few lines leave nothing to dispute."""
    if not _has_jax() or name not in _WIDTHS:
        return None
    import jax
    import jax.numpy as jnp

    widths, batch = _WIDTHS[name], STEPS[name].sizes["batch"]
    keys = iter(jax.random.split(jax.random.key(0), 2 * len(widths)))
    layers = [
        (jax.random.normal(next(keys), (m, n)) / m**0.5, jnp.zeros(n))
        for m, n in itertools.pairwise(widths)
    ]
    inputs = jax.random.normal(next(keys), (batch, widths[0]))
    if name == "mlp":
        targets = jax.random.randint(next(keys), (batch,), 0, widths[-1])
    else:
        targets = jax.random.normal(next(keys), (batch, widths[-1]))

    def loss_of(layers: Any) -> Any:
        x = inputs
        for w, b in layers[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = layers[-1]
        x = x @ w + b
        if name == "mlp":
            return -jnp.take_along_axis(jax.nn.log_softmax(x), targets[:, None], 1).mean()
        return ((x - targets) ** 2).mean()

    @functools.partial(jax.jit, donate_argnums=0)
    def adam(state: Any) -> Any:
        layers, first, second, count = state
        loss, gradient = jax.value_and_grad(loss_of)(layers)
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)

        def moved(p: Any, m: Any, v: Any) -> Any:
            scale = jnp.sqrt(v / (1 - 0.999**count)) + 1e-8
            return p - 1e-3 * (m / (1 - 0.9**count)) / scale

        return loss, (jax.tree.map(moved, layers, first, second), first, second, count)

    zeros = jax.tree.map(jnp.zeros_like, layers)
    state = [(layers, zeros, jax.tree.map(jnp.zeros_like, layers), jnp.zeros(()))]

    def step() -> object:
        loss, state[0] = adam(state[0])
        return loss.block_until_ready()

    return step


@functools.cache
def _has_jax() -> bool:
    try:
        import jax  # noqa: F401
    except ImportError:
        _leave_out("JAX", "not installed: pip install jax")
        return False
    return True
