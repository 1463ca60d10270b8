"""Modules that learn their shapes from their first input."""

from __future__ import annotations

import pytest

from tests.both import same

TABLE = [
    "repr(lazy), repr(lazy.weight), lazy.weight.dtype, lazy.weight.requires_grad",
    "lazy(torch.ones(2, 5)), lazy, type(lazy).__name__, type(lazy.weight).__name__, lazy.weight",
    "lazy(torch.ones(2, 5)), lazy(torch.ones(2, 4))",
    "lazy.double() is lazy, lazy.weight.dtype, type(lazy.weight).__name__",
    "lazy.half().weight.dtype",
    "lazy.to(torch.float64)(torch.ones(2, 4).double())",
    "list(lazy.state_dict()), list(dict(lazy.named_parameters()))",
    "lazy.load_state_dict(torch.nn.Linear(5, 3).state_dict()), lazy.weight, type(lazy).__name__",
    "lazy.load_state_dict(torch.nn.Linear(5, 3).state_dict()), lazy(torch.ones(1, 5)), lazy",
    "torch.nn.Linear(2, 3).load_state_dict(lazy.state_dict())",
    "lazy.load_state_dict(torch.nn.LazyLinear(3).state_dict()), repr(lazy.weight)",
    "type(deepcopy(lazy).weight).__name__, deepcopy(lazy)(torch.ones(1, 2))",
    "lazy.weight.shape",
    "lazy.weight + 1",
    "lazy.weight.sum()",
    "torch.nn.functional.linear(torch.ones(2, 2), lazy.weight)",
    "lazy.weight.detach()",
    "lazy.weight[0]",
    "lazy.share_memory()",
    "lazy.weight.materialize((2, 2)), type(lazy.weight).__name__, lazy.weight.shape",
    "lazy.has_uninitialized_params(), torch.nn.parameter.is_lazy(lazy.weight)",
    "torch.nn.UninitializedBuffer().persistent, torch.nn.UninitializedBuffer().dtype",
    "lazy.reset_parameters()",
    "torch.nn.utils.weight_norm.__name__",
    "len(lazy._forward_pre_hooks), lazy(torch.ones(1, 2)), len(lazy._forward_pre_hooks)",
]


@pytest.mark.parametrize("expression", TABLE)
@same
def test_lazy_linear(torch, expression):
    from copy import deepcopy

    lazy = torch.nn.LazyLinear(3)
    try:
        return eval(expression, {"torch": torch, "lazy": lazy, "deepcopy": deepcopy})
    except Exception as error:
        return [type(error).__name__, str(error).split(" in ")[0].split("\n")[0]]


@same
def test_a_lazy_module_of_ones_own(torch):
    from importlib import import_module

    lazy = import_module(f"{torch.__name__}.nn.modules.lazy")

    class Scale(lazy.LazyModuleMixin, torch.nn.Module):
        def __init__(self, complete=True):
            super().__init__()
            self.scale = torch.nn.UninitializedParameter()
            self.other = None if complete else torch.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            self.scale.materialize(x.shape[-1:])
            torch.nn.init.constant_(self.scale, 2.0)

        def forward(self, x):
            return x * self.scale

    class Unfinished(lazy.LazyModuleMixin, torch.nn.Module):
        pass

    with pytest.raises(RuntimeError, match="module Scale has not been fully initialized"):
        Scale(complete=False)(torch.ones(3))
    with pytest.raises(NotImplementedError, match="not implemented for Unfinished"):
        Unfinished()(torch.ones(3))
    module = Scale()
    out = module(torch.ones(2, 3))
    out.sum().backward()
    return [out, module.scale, module.scale.grad]
