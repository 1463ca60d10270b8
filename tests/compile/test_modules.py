"""Every module's training step, compiled: outputs, gradients, parameters, buffers and random numbers."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch
from tests.verify.modules import ROWS

from .compare import lockstep, training

# Draws as many numbers as there are negative elements.
REFUSED = ("RReLU",)
NAMES = [name for name in ROWS if name not in REFUSED]
# What the plain step computes by one call of a library, or by one fused function, and a recording by
# array functions: sums of at most 36 numbers in another order, which four steps take along.
SHORT_CUTS = (
    *("BatchNorm2d", "Conv1d", "Conv3d", "ConvTranspose3d", "GroupNorm", "InstanceNorm1d"),
    *(
        "InstanceNorm2d",
        "LayerNorm",
        "MSELoss",
        "TransformerDecoderLayer",
        "TransformerEncoderLayer",
    ),
)
SUM = 36 * 4


def of_row(name: str) -> Any:
    """A step that trains a module on its row's inputs, which require gradients where they can."""
    module_of, inputs_of = ROWS[name]

    def make() -> Any:
        module = module_of(torch)
        inputs = inputs_of(torch)
        learned = [x for x in inputs[:1] if x.is_floating_point()]
        for tensor in learned:
            tensor.requires_grad_()
        optimizer = torch.optim.SGD([*module.parameters(), *learned], lr=0.01, momentum=0.9)

        def loss_of() -> Any:
            outs = module(*inputs)
            found = outs if isinstance(outs, tuple) else (outs,)
            flat = [t for out in found for t in (out if isinstance(out, tuple) else (out,))]
            return sum((t * t.detach().cos()).sum() for t in flat if t.is_floating_point())

        step, state = training(module, optimizer, loss_of)
        return step, lambda: [state(), [t.grad for t in learned], learned]

    return make


@pytest.mark.parametrize("name", NAMES)
def test_some_steps(name: str) -> None:
    bound = SUM if name in SHORT_CUTS else 0
    assert lockstep(of_row(name), 4, bound=bound).records == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_draws_by_values_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="cannot be recorded"):
        lockstep(of_row(name), 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_native_steps(name: str) -> None:
    """A gradient is a sum of at most some hundred products, in another order; six steps add up."""
    lockstep(of_row(name), 6, backend="llvm", bound=600)


@pytest.mark.parametrize("name", ["Dropout", "BatchNorm2d", "MultiheadAttention"])
def test_training_and_evaluation_by_turns(name: str) -> None:
    module_of, inputs_of = ROWS[name]

    def make() -> Any:
        module = module_of(torch)
        inputs = inputs_of(torch)

        def step() -> Any:
            return module(*inputs)

        def turn() -> Any:
            module.train(not module.training)
            return dict(module.state_dict())

        return step, turn

    assert lockstep(make, 12, bound=SUM if name in SHORT_CUTS else 0).records == 2
