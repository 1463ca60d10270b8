"""How optimizers are used: groups, names, hooks, closures, odd parameters, and their errors."""

from __future__ import annotations

import importlib

import pytest

from tests.both import same
from tests.optim.runs import ENGINES, closure_of, engine, loss_of, parameters
from tests.optim.table import ELEMENTWISE, label

PLAIN = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop"]
PLAIN += ["Rprop", "ASGD", "Adafactor"]
DIFFERENTIABLE = [row for row in ELEMENTWISE if not {"fused", "foreach"} & set(row[1])]


@pytest.mark.parametrize("name", PLAIN)
@same
def test_groups_and_missing_gradients(torch, name):
    """Groups with their own settings; parameters whose steps are counted apart."""
    params = parameters(torch)
    groups = [{"params": params[:1], "lr": 0.02}, {"params": params[1:3]}]
    optimizer = getattr(torch.optim, name)(groups, lr=0.01)
    closure = closure_of(torch, optimizer, params)
    for i in range(6):
        closure()
        if i in (1, 2):
            params[0].grad = params[1].grad = None
        optimizer.step()
        if i == 3:
            optimizer.add_param_group({"params": params[3], "lr": 0.5})
    steps = [float(optimizer.state[p]["step"]) for p in params if "step" in optimizer.state[p]]
    return params, steps, repr(optimizer)


@pytest.mark.parametrize("name", PLAIN)
@same
def test_layouts(torch, name):
    """Transposed parameters and gradients, a gradient of stride 0, no elements, and no dimensions."""
    base = torch.arange(12.0).reshape(3, 4) / 10
    params = [base.clone().t().requires_grad_(), base.clone().requires_grad_()]
    empty = torch.zeros(1 if name == "Adafactor" else 0, 2)  # it divides by the number of elements
    params += [empty.clone().requires_grad_(), torch.tensor(2.0, requires_grad=True)]
    optimizer = getattr(torch.optim, name)(params, lr=0.1)
    for _ in range(3):
        params[0].grad = (base + 1).t()
        params[1].grad = torch.tensor(0.5).expand(3, 4)
        params[2].grad = empty
        params[3].grad = torch.tensor(-1.0)
        optimizer.step()
    strides = [[list(v.stride()) for v in optimizer.state.get(p, {}).values()] for p in params]
    return [p.contiguous() for p in params], [list(p.stride()) for p in params], strides


@pytest.mark.parametrize("name", PLAIN)
@same
def test_tensor_learning_rates(torch, name):
    params = parameters(torch)
    rate = torch.tensor([0.02], dtype=torch.float64)
    optimizer = getattr(torch.optim, name)(params, lr=rate)
    closure = closure_of(torch, optimizer, params)
    for _ in range(3):
        optimizer.step(closure)
    rate.mul_(2)
    optimizer.step(closure)
    return params


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=label)
@same
def test_differentiable(torch, row):
    """The gradient of a loss after some steps, by the parameters and the learning rate before them."""
    name, options = row
    start = parameters(torch)
    params = [p.clone() for p in start]
    wanted = list(start)
    if name in ("SGD", "Adam", "AdamW"):  # PyTorch's others take a rate without a gradient only
        rate = torch.tensor(options["lr"], dtype=torch.float64, requires_grad=True)
        options = {**options, "lr": rate}
        wanted.append(rate)
    optimizer = getattr(torch.optim, name)(params, **options, differentiable=True)
    # After a second step PyTorch's own in-place updates stand in the way of some of its gradients.
    fragile = name in ("Adamax", "Rprop") or {"momentum", "amsgrad", "centered"} & set(options)
    for _ in range(1 if fragile else 3):
        # Clones, because the step changes in place what the loss has saved.
        grads = torch.autograd.grad(
            loss_of(torch, [p.clone() for p in params]), params, create_graph=True
        )
        for p, g in zip(params, grads, strict=True):
            p.grad = g
        optimizer.step()
    found = torch.autograd.grad(loss_of(torch, params), wanted)
    # Counts are float32 tensors there, and so are the constants computed from them.
    return [g.float() for g in found], [p.float() for p in params]


@same
def test_hooks(torch):
    said = []
    params = parameters(torch)
    optimizer = torch.optim.SGD(params, lr=0.1)
    base = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    handles = [
        base.register_optimizer_step_pre_hook(
            lambda o, a, k: said.append(("global pre", len(a), sorted(k)))
        ),
        base.register_optimizer_step_post_hook(
            lambda o, a, k: said.append(("global post", len(a), sorted(k)))
        ),
        optimizer.register_step_pre_hook(lambda o, a, k: said.append(("pre", a[0] is o))),
        optimizer.register_step_post_hook(lambda o, a, k: said.append("post")),
        optimizer.register_state_dict_pre_hook(lambda o: said.append("saving")),
        optimizer.register_state_dict_post_hook(lambda o, d: d | {"more": 1}),
        optimizer.register_state_dict_post_hook(lambda o, d: said.append(list(d)), prepend=True),
        optimizer.register_load_state_dict_pre_hook(lambda o, d: said.append("loading")),
        optimizer.register_load_state_dict_post_hook(lambda o: said.append("loaded")),
    ]
    closure = closure_of(torch, optimizer, params)
    optimizer.step(closure)
    optimizer.step(closure=closure)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    for handle in handles:
        handle.remove()
    optimizer.step(closure)
    replaced = optimizer.register_step_pre_hook(lambda o, a, k: ((o,), {"closure": closure}))
    loss = optimizer.step()
    replaced.remove()
    optimizer.register_step_pre_hook(lambda o, a, k: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()
    return said, list(saved), loss, params


@same
def test_zero_grad(torch):
    params = parameters(torch)
    optimizer = torch.optim.SGD(params)
    loss_of(torch, params).backward()
    params[0].grad = params[0].grad.clone()
    before = [p.grad for p in params]
    optimizer.zero_grad(set_to_none=False)
    kept = [p.grad is g for p, g in zip(params, before, strict=True)], [p.grad for p in params]
    optimizer.zero_grad()
    return kept, [p.grad is None for p in params]


@same
def test_named_parameters(torch):
    params = parameters(torch)
    named = [(f"layer.{i}", p) for i, p in enumerate(params)]
    optimizer = torch.optim.Adam(named[:2])
    optimizer.add_param_group({"params": named[2:], "lr": 0.3})
    optimizer.step(closure_of(torch, optimizer, params))
    saved = optimizer.state_dict()
    other = torch.optim.Adam(params[:2])
    other.add_param_group({"params": params[2:]})
    other.load_state_dict(saved)
    return repr(optimizer), saved["param_groups"], repr(other)


@same
def test_versions_count_steps(torch):
    params = parameters(torch)
    optimizer = torch.optim.SGD(params, lr=0.1)
    loss = loss_of(torch, params)
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    return [p._version for p in params]


@same
def test_closures_run_with_gradients_on(torch):
    params = parameters(torch)
    seen = []
    optimizer = torch.optim.Adam(params)

    def closure():
        seen.append(torch.is_grad_enabled())
        return 3.0

    with torch.no_grad():
        result = optimizer.step(closure)
    return seen, result, torch.is_grad_enabled()


@same
def test_repeated_parameters_move_once_per_mention(torch):
    p = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = torch.optim.Adam([p, p], lr=0.1)
    p.grad = torch.tensor([1.0, 2.0])
    optimizer.step()
    return p, optimizer.state_dict()["param_groups"][0]["params"], optimizer.state[p]["step"]


@same
def test_own_optimizer(torch):
    """A subclass of a user's, with hooks, groups and saving from the base."""

    base = importlib.import_module(f"{torch.__name__}.optim.optimizer")

    class Decay(torch.optim.Optimizer):
        def __init__(self, params, rate=base.required):
            super().__init__(params, {"rate": rate})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["rate"])
                    self.state[p]["count"] = self.state[p].get("count", 0) + 1

    params = parameters(torch)
    said = []
    with pytest.raises(ValueError, match="didn't specify a value of required"):
        Decay(params)
    optimizer = Decay(params, rate=0.5)
    optimizer.register_step_post_hook(lambda o, a, k: said.append(1))
    optimizer.step()
    return params, said, optimizer.state_dict(), repr(optimizer)


@same
def test_borrowed_parameters_and_state(torch):
    params = parameters(torch)
    optimizer = torch.optim.Adam(params, lr=0.1)
    closure = closure_of(torch, optimizer, params)
    optimizer.step(closure)
    others = [p.detach().clone().requires_grad_() for p in params]
    for p, q in zip(others, params, strict=True):
        p.grad = q.grad * 2
    state = {
        k: {n: t.clone() for n, t in v.items()} for k, v in optimizer.state_dict()["state"].items()
    }
    given = {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    names = {str(i): p for i, p in enumerate(others)}
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, names, given):
        optimizer.step()
    optimizer.step(closure)
    return params, others, state


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
@same
def test_fused_steps_take_scaled_gradients(torch, name):
    """What a gradient scaler asks of an optimizer: divide by the scale, skip what overflowed."""
    params = parameters(torch, "float32")
    optimizer = getattr(torch.optim, name)(params, lr=0.1, fused=True)
    closure = closure_of(torch, optimizer, params)
    for overflow in (0.0, 1.0, 0.0):
        closure()
        for p in params:
            p.grad.mul_(8)
        optimizer.grad_scale = torch.tensor(8.0)
        optimizer.found_inf = torch.tensor(overflow)
        optimizer.step()
    return params, optimizer._step_supports_amp_scaling


ERRORS = {
    "a tensor for a list": lambda t: t.optim.SGD(t.ones(2)),
    "nothing": lambda t: t.optim.SGD([]),
    "numbers": lambda t: t.optim.SGD([1.0]),
    "a set": lambda t: t.optim.SGD([{"params": {t.ones(2)}}]),
    "not a leaf": lambda t: t.optim.SGD([t.ones(2, requires_grad=True) * 2]),
    "a group that is no dict": lambda t: _sgd(t).add_param_group([t.ones(1)]),
    "twice": lambda t: [o := _sgd(t), o.add_param_group({"params": o.param_groups[0]["params"]})],
    "some names": lambda t: t.optim.SGD([("a", t.ones(1)), t.ones(1)]),
    "names later": lambda t: _sgd(t).add_param_group({"params": [("a", t.ones(1))]}),
    "momentum": lambda t: _sgd(t, momentum=-1),
    "nesterov": lambda t: _sgd(t, nesterov=True),
    "sgd decay": lambda t: _sgd(t, weight_decay=-1),
    "sgd rate": lambda t: _sgd(t, lr=-1.0),
    "rates": lambda t: t.optim.Adam([t.ones(1)], lr=t.ones(2)),
    "rate and foreach": lambda t: t.optim.Adam([t.ones(1)], lr=t.tensor(0.1), foreach=True),
    "betas": lambda t: t.optim.Adam([t.ones(1)], betas=(0.9, 1.0)),
    "mixed betas": lambda t: t.optim.Adam([t.ones(1)], betas=(0.9, t.tensor(0.9))),
    "eps": lambda t: t.optim.RMSprop([t.ones(1)], eps=-1),
    "alpha": lambda t: t.optim.RMSprop([t.ones(1)], alpha=-1),
    "rho": lambda t: t.optim.Adadelta([t.ones(1)], rho=1.5),
    "etas": lambda t: t.optim.Rprop([t.ones(1)], etas=(1.5, 2)),
    "lr_decay": lambda t: t.optim.Adagrad([t.ones(1)], lr_decay=-1),
    "start": lambda t: t.optim.Adagrad([t.ones(1)], initial_accumulator_value=-1),
    "momentum_decay": lambda t: t.optim.NAdam([t.ones(1)], momentum_decay=-1),
    "decay": lambda t: t.optim.ASGD([t.ones(1)], weight_decay=-1),
    "adafactor": lambda t: t.optim.Adafactor([t.ones(1)], d=0.5),
    "adafactor decay": lambda t: t.optim.Adafactor([t.ones(1)], beta2_decay=0.5),
    "muon": lambda t: t.optim.Muon([t.ones(1)]),
    "muon rate": lambda t: t.optim.Muon([t.ones(1, 1)], adjust_lr_fn="no"),
    "lbfgs groups": lambda t: t.optim.LBFGS([{"params": [t.ones(1)]}, {"params": [t.ones(1)]}]),
    "lbfgs search": lambda t: _lbfgs(t, line_search_fn="no"),
    "lbfgs closure": lambda t: t.optim.LBFGS([t.ones(1)]).step(),
    "sparse": lambda t: _stepped(t, "SparseAdam"),
    "sparse complex": lambda t: t.optim.SparseAdam([t.ones(1, dtype=t.complex64)]),
    "capturable": lambda t: _stepped(t, "Adam", capturable=True),
    "capturable ASGD": lambda t: _stepped(t, "ASGD", capturable=True),
    "capturable Adadelta": lambda t: _stepped(t, "Adadelta", capturable=True),
    "fused and foreach": lambda t: _sgd(t, fused=True, foreach=True),
    "fused and differentiable": lambda t: _sgd(t, fused=True, differentiable=True),
    "fused complex": lambda t: _stepped(t, "Adam", t.complex64, fused=True),
    "complex Adafactor": lambda t: _stepped(t, "Adafactor", t.complex64),
    "differentiable leaf": lambda t: _stepped(t, "SGD", differentiable=True),
    "other groups": lambda t: _sgd(t).load_state_dict({"state": {}, "param_groups": []}),
    "other sizes": lambda t: _sgd(t).load_state_dict(
        {"state": {}, "param_groups": [{"params": [0, 1]}]}
    ),
    "step of the base": lambda t: t.optim.Optimizer([t.ones(1)], {}).step(),
}


def _sgd(t, **options):
    return t.optim.SGD([t.ones(1, requires_grad=True)], **options)


def _stepped(t, name, dtype=None, **options):
    p = t.ones(2, dtype=dtype or t.float32, requires_grad=True)
    p.grad = t.ones(2, dtype=p.dtype)
    getattr(t.optim, name)([p], **options).step()


def _lbfgs(t, **options):
    p = t.ones(1, requires_grad=True)
    optimizer = t.optim.LBFGS([p], **options)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    optimizer.step(closure)


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what):
    said = []
    for name in ENGINES:
        with pytest.raises(Exception) as caught:
            ERRORS[what](engine(name))
        said.append(caught.value)
    expected, found = said
    assert type(found) is type(expected), f"{found!r} is not {expected!r}"
    phrase = str(expected).replace("torch.FloatTensor", "").split(" at 0x")[0]
    assert phrase in str(found).replace("torch.FloatTensor", ""), f"{found} is not {expected}"


@pytest.mark.parametrize("lr", [0.01, 0.0])
@same
def test_asgd_whose_rate_is_divided_by_nothing(torch, lr):
    """With `foreach`, PyTorch divides tensors: the rate becomes infinite, or NaN."""
    param = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.ASGD([param], lr=lr, lambd=1.0, alpha=-(2**31), foreach=True)
    rates = []
    for _ in range(2):
        param.grad = torch.ones(2)
        optimizer.step()
        rates.append(optimizer.state[param]["eta"].clone())
    return rates, param
