"""Optimizers around others, which never call `Optimizer.__init__`."""

from __future__ import annotations

import pytest

from tests.both import same


@same
def test_groups_of_another_optimizer(torch):
    class Slow(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            self.param_groups, self.state = inner.param_groups, inner.state
            self.defaults = inner.defaults

        def step(self, closure=None):
            return self.inner.step(closure)

    x = torch.nn.Parameter(torch.ones(3))
    optimizer = Slow(torch.optim.SGD([x], lr=0.1, momentum=0.9))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(5):
        optimizer.zero_grad()
        x.square().sum().backward()
        optimizer.step()
        schedule.step()
    return [x, schedule.get_last_lr(), repr(optimizer).split("\n")[0]]


@same
def test_an_attribute_that_is_not_there(torch):
    class Bare(torch.optim.Optimizer):
        def __init__(self):
            pass

    with pytest.raises(AttributeError) as error:
        Bare().param_groups
    return str(error.value)
