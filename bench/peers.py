"""The other ways to run a step, where available: PyTorch fused, PyTorch compiled, JAX jitted.

Each runs in its own worker. One that is unavailable is left out of the table, and a line on stderr says why.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from bench.measure import LeftOut
from bench.steps import STEPS, Work


def pytorch_step(name: str, how: str) -> Work:
    """PyTorch's faster ways: a fused optimizer, and with it a compiled forward."""
    import torch

    from bench.layer_steps import WORK

    if name in WORK:
        raise LeftOut("only measured for whole models")
    if how == "compiled":
        try:
            torch.compile(lambda x: (x * 2).sin() + 1)(torch.ones(3))
        except Exception as error:  # no compiler, no headers, or this Python is not supported
            raise LeftOut(str(error).strip().splitlines()[0]) from error
    return STEPS[name].on(torch, compiled=how == "compiled", fused=True)


# ---- JAX -----------------------------------------------------------------------------------------

_WIDTHS = {"linear": (10, 1), "mlp": (784, 256, 128, 10), "wide": (1024,) * 5}


def jax_step(name: str) -> Work:
    """The whole step under jit: perceptrons only, whose few lines leave nothing to dispute."""
    if name not in _WIDTHS:
        raise LeftOut("only perceptrons are written for it")
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise LeftOut("not installed: pip install jax") from None

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
