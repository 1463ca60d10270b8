"""What PyTorch too writes in Python: its accidents come out in words, the program's own errors as they are."""

import importlib
import inspect
import pickle
import warnings

import pytest
import torch as pytorch

import tautograd
from tautograd._ops.declare.guarding import is_guarded

MODULES = (
    *("nn", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize"),
    *("nn.utils.parametrizations", "nn.utils.stateless", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "utils.data", "func", "autograd.functional", "autograd.graph"),
)
ENGINES = pytest.mark.parametrize("torch", [tautograd, pytorch], ids=["tautograd", "PyTorch"])


def published():
    """(where, function) for each public function, and each constructor that is written in Python."""
    for path in MODULES:
        module = importlib.import_module(f"tautograd.{path}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{path}.{name}", value
            elif inspect.isfunction(getattr(value, "__init__", None)):
                yield f"{path}.{name}", value.__init__


def test_everything_published_is_guarded():
    bare = [where for where, function in published() if not is_guarded(function)]
    assert not bare
    assert sum(1 for _ in published()) > 250


# What goes wrong on the inside of both, by accident: PyTorch's class.
ACCIDENTS = {
    "no attribute": lambda torch: torch.nn.utils.clip_grad_norm_([3.0], 1.0),
    "no attribute of a module": lambda torch: torch.nn.utils.parameters_to_vector([3]),
    "no key": lambda torch: torch.optim.SGD([{"lr": 0.1}]),
    "a scheduler of no optimizer": lambda torch: torch.optim.lr_scheduler.ChainedScheduler([3]),
    "no length": lambda torch: torch.utils.data.ConcatDataset([3]),
}


@pytest.mark.parametrize("case", ACCIDENTS)
def test_accident_has_pytorchs_class_and_a_sentence(case):
    with pytest.raises(Exception) as theirs:
        ACCIDENTS[case](pytorch)
    with pytest.raises(type(theirs.value)) as ours:
        ACCIDENTS[case](tautograd)
    assert type(ours.value) not in (AttributeError, KeyError, IndexError), ours.value
    assert str(ours.value)


def test_accident_names_what_the_program_called():
    with pytest.raises(TypeError, match=r"^clip_grad_norm_\(\) was given .*\(\[3\.0\], 1\.0\)"):
        tautograd.nn.utils.clip_grad_norm_([3.0], 1.0)
    with pytest.raises(AttributeError, match="'float' object has no attribute 'grad'"):
        tautograd.nn.utils.clip_grad_norm_([3.0], 1.0)


def test_accident_can_be_sent_to_another_process():
    with pytest.raises(TypeError) as info:
        tautograd.nn.utils.clip_grad_norm_([3.0], 1.0)
    again = pickle.loads(pickle.dumps(info.value))
    assert type(again) is TypeError
    assert str(again) == str(info.value)


class Failing(Exception):
    pass


def _raises(error):
    def function(*_, **__):
        raise error

    return function


def _own_attribute(*_, **__):
    return object().nothing


@ENGINES
@pytest.mark.parametrize("error", [Failing("own"), KeyError("own"), AttributeError("own")])
def test_the_programs_own_errors_pass(torch, error):
    x = torch.ones(2, requires_grad=True)
    sgd = torch.optim.SGD([x], lr=0.1)
    own = _raises(error)
    for call in (
        lambda: torch.autograd.functional.jacobian(own, x),
        lambda: torch.func.vjp(own, x),
        lambda: torch.optim.lr_scheduler.LambdaLR(sgd, own),
        lambda: torch.utils.data.default_collate(
            [{"a": 1}, type("M", (dict,), {"__getitem__": own})(a=1)]
        ),
        lambda: torch.nn.utils.clip_grad_norm_((own() for _ in range(2)), 1.0),
    ):
        with pytest.raises(type(error)) as info:
            call()
        assert info.value is error


@ENGINES
def test_an_accident_of_the_program_is_its_own(torch):
    with pytest.raises(
        AttributeError, match=r"^'object' object has no attribute 'nothing'$"
    ) as info:
        torch.autograd.functional.jacobian(_own_attribute, torch.ones(2))
    assert type(info.value) is AttributeError


@ENGINES
def test_a_module_of_the_programs_own_fails_as_it_does(torch):
    class Own(torch.nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            self.missing

    with pytest.raises(AttributeError) as info:
        Own()
    assert type(info.value) is AttributeError


def test_warnings_point_to_the_program():
    torch = tautograd  # some of PyTorch's own point into it
    sgd = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    for call in (
        lambda: torch.nn.utils.clip_grad_norm([], 1.0),
        lambda: torch.nn.utils.clip_grad_norm_((p for p in ()), 1.0),
        lambda: torch.nn.init.uniform(torch.ones(2)),
        lambda: torch.nn.init.trunc_normal_(torch.ones(2), mean=9.0),
        torch.nn.NLLLoss2d,
        lambda: torch.optim.lr_scheduler.StepLR(sgd, 2).step(1),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert {w.filename for w in caught} == {__file__}


def test_signatures_stay():
    for path, name in (("nn", "Linear"), ("nn.utils.rnn", "pad_sequence"), ("nn.init", "normal_")):
        ours, theirs = (
            getattr(importlib.import_module(f"{engine}.{path}"), name)
            for engine in ("tautograd", "torch")
        )
        assert list(inspect.signature(ours).parameters) == list(
            inspect.signature(theirs).parameters
        )
    code = tautograd.nn.init.normal_.__code__
    assert code.co_varnames[: code.co_argcount] == ("tensor", "mean", "std", "generator")
