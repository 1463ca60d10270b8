"""What an optimizer remembers: laid out as PyTorch's, and at home on either engine."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.both import same
from tests.optim.runs import (
    ENGINES,
    arrays,
    assert_close,
    closure_of,
    engine,
    make_optimizer,
    parameters,
    tensors,
    tolerance,
    train,
)
from tests.optim.table import MUON, OPTIMIZERS, label

ROWS = [row for row in OPTIMIZERS if "maximize" not in row[1]] + MUON[:1]


@pytest.mark.parametrize("row", ROWS, ids=label)
@pytest.mark.parametrize("source", ENGINES)
def test_state_goes_on_with_the_other_engine(row: Any, source: str) -> None:
    """A run handed over after some steps goes on as one that is loaded where it was saved."""
    name, options = row
    optimizer, params, _ = train(engine(source), name, options, "float64", 8)
    saved, values = arrays(optimizer.state_dict()), arrays(params)
    ends = []
    for target in (source, *(e for e in ENGINES if e != source)):
        torch = engine(target)
        others = parameters(torch)
        for p, value in zip(others, values, strict=True):
            p.data = torch.tensor(value)
        other = make_optimizer(torch, name, others, {})
        other.load_state_dict(tensors(torch, saved))
        loaded = arrays(other.state_dict())
        closure = closure_of(torch, other, others)
        for _ in range(8):
            other.step(closure)
        ends.append((loaded, arrays(others), arrays(other.state_dict())))
    (loaded, params, state), (own_loaded, own_params, own_state) = ends
    assert_close(own_loaded, loaded, 0.0, "what was loaded")
    rtol = 20 * 2.0**-8 * 0.02 if name == "Muon" else tolerance("float64", 200)
    assert_close(own_params, params, rtol, "parameters")
    assert_close(own_state, state, rtol, "state_dict")


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("row", ROWS, ids=label)
def test_copies_go_on_alike(row: Any, how: str) -> None:
    torch = engine("tautograd")
    optimizer, params, _ = train(torch, *row, "float32", 3)
    pair = optimizer, params
    copied, others = pickle.loads(pickle.dumps(pair)) if how == "pickle" else copy.deepcopy(pair)
    assert repr(copied) == repr(optimizer)
    for owner, owned in ((optimizer, params), (copied, others)):
        closure = closure_of(torch, owner, owned)
        for _ in range(3):
            owner.step(closure)
    assert_close(arrays(others), arrays(params), 0.0)
    assert all(p is not q for p, q in zip(params, others, strict=True))


@pytest.mark.parametrize("row", [*OPTIMIZERS, *MUON], ids=label)
@same
def test_text_and_layout(torch, row):
    optimizer, _, _ = train(torch, *row, "float64", 2)
    saved = optimizer.state_dict()
    layout = [
        [key, name, str(getattr(value, "dtype", type(value))), list(getattr(value, "shape", ()))]
        for key, entries in saved["state"].items()
        for name, value in entries.items()
    ]
    return repr(optimizer), layout, [list(g) for g in saved["param_groups"]], saved["param_groups"]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "ASGD", "RMSprop", "Adagrad", "SGD"])
@same
def test_states_of_older_versions(torch, name):
    """Settings that did not exist then, and counts that were numbers."""
    optimizer, params, _ = train(torch, name, {"lr": 0.01}, "float64", 2)
    state = optimizer.__getstate__()
    for group in state["param_groups"]:
        for key in ("maximize", "foreach", "capturable", "differentiable", "fused", "amsgrad"):
            group.pop(key, None)
    for entries in state["state"].values():
        for key in ("step", "mu_product", "eta", "mu"):
            if key in entries:
                entries[key] = entries[key].item()
    optimizer.__setstate__(state)
    closure = closure_of(torch, optimizer, params)
    optimizer.step(closure)
    saved = optimizer.state_dict()
    return params, saved["state"], [sorted(g) for g in saved["param_groups"]]


@same
def test_default_dtype_decides_how_steps_are_counted(torch):
    torch.set_default_dtype(torch.float64)
    try:
        optimizer, params, _ = train(torch, "Adam", {}, "float32", 2)
    finally:
        torch.set_default_dtype(torch.float32)
    return [str(optimizer.state[p]["step"].dtype) for p in params]


@same
def test_loading_casts_to_the_parameter(torch):
    optimizer, _, _ = train(torch, "Adam", {}, "float64", 2)
    params = parameters(torch, "float32")
    other = torch.optim.Adam(params)
    other.load_state_dict(optimizer.state_dict())
    return [[str(v.dtype) for v in other.state[p].values()] for p in params]


@same
def test_changes_of_state_by_hand_are_seen(torch):
    """States are views of common memory; a user may replace or change one all the same."""
    optimizer, params, _ = train(torch, "Adam", {"lr": 0.1}, "float64", 3)
    first, second = (optimizer.state[p] for p in params[:2])
    first["exp_avg"] = torch.ones(3, 5, dtype=torch.float64)
    second["exp_avg_sq"].mul_(9)
    second["step"] += 5
    params[2].data = params[2].data * 0.5
    closure = closure_of(torch, optimizer, params)
    for _ in range(3):
        optimizer.step(closure)
    return params, optimizer.state_dict()["state"]
