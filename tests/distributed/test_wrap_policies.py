"""`torch.distributed.fsdp.wrap`: what each policy wraps, of a model with containers and attention."""

from __future__ import annotations

import functools
import importlib

import pytest

from tests.both import same

POLICIES = {
    "always": lambda wrap, nn: wrap.always_wrap_policy,
    "size": lambda wrap, nn: functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=50),
    "size, lists too": lambda wrap, nn: functools.partial(
        wrap.size_based_auto_wrap_policy,
        min_num_params=4,
        exclude_wrap_modules=set(),
        force_leaf_modules={nn.ModuleList},
    ),
    "classes": lambda wrap, nn: functools.partial(
        wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential, nn.Linear}
    ),
    "function": lambda wrap, nn: functools.partial(
        wrap.lambda_auto_wrap_policy, lambda_fn=lambda module: isinstance(module, nn.ReLU)
    ),
    "module classes": lambda wrap, nn: wrap.ModuleWrapPolicy([nn.ReLU, nn.ModuleList]),
    "either": lambda wrap, nn: functools.partial(
        wrap._or_policy,
        policies=[
            wrap.ModuleWrapPolicy([nn.ReLU]),
            functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=60),
        ],
    ),
}


def of(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.fsdp.wrap")


def model(nn):
    inner = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.ModuleList([nn.Linear(2, 2)]))
    return nn.Sequential(nn.Linear(4, 8), inner, nn.MultiheadAttention(4, 2))


def wrapper(nn):
    class Wrapped(nn.Module):
        def __init__(self, module, **about):
            super().__init__()
            self.module, self.about = module, about

        def extra_repr(self):
            return str(self.about)

    return Wrapped


@pytest.mark.parametrize("children", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@same
def test_what_is_wrapped(torch, policy, children):
    nn, wrap = torch.nn, of(torch)
    whole = model(nn)
    asked = (POLICIES[policy](wrap, nn), wrapper(nn), {whole[1][1]}, {whole[0].bias})
    made, count = wrap._recursive_wrap(whole, *asked, only_wrap_children=children, level=3)
    return repr(made), count


@same
def test_policies_that_say_it_at_once(torch):
    nn, wrap = torch.nn, of(torch)
    whole = model(nn)
    classes = wrap.ModuleWrapPolicy({nn.Linear})
    by_hand = wrap.CustomPolicy(
        lambda m: {"size": m.in_features} if type(m) is nn.Linear else isinstance(m, nn.ReLU)
    )
    found = [
        [(repr(m), about) for m, about in p._run_policy(whole, {whole[0]}, {"level": 1}).items()]
        for p in (classes, by_hand)
    ]
    with pytest.raises(ValueError) as error:
        wrap.CustomPolicy(lambda m: 3)._run_policy(whole, set(), {})
    return found, str(error.value), classes(nn.Linear(1, 1), False), classes(nn.ReLU(), False)


@same
def test_wrapping_by_hand(torch):
    nn, wrap = torch.nn, of(torch)
    cls = wrapper(nn)
    with wrap.enable_wrap(wrapper_cls=cls, level=1, size=2):
        inside = wrap.wrap(nn.Linear(1, 1), size=5)
        with pytest.raises(NotImplementedError) as error, wrap.enable_wrap(wrapper_cls=cls):
            pass
        again = wrap.wrap(nn.ReLU())
    return repr(inside), str(error.value), repr(again), repr(wrap.wrap(nn.ReLU()))
