"""0-dim tensors and NumPy's scalars where a function asks for a number: as PyTorch takes them.

Every overload of the table is called with each of its numbers replaced in turn; what PyTorch takes,
tautograd takes, with the same dtype, shape and values, and random draws from the same place.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tautograd._ops.declare.signatures import Parameter, _lines, numbers, signatures_of

NUMBERS = ("Scalar", "float", "int", "SymInt", "SymInt[]", "int[]")
# Of the matrix of ones, which is singular, rounding decides between infinity and 1e16.
OTHERWISE = {("linalg_cond", "p")}


def _paths(name: str) -> Iterator[str]:
    for prefix, module in (("linalg_", "linalg."), ("special_", "special.")):
        if name.startswith(prefix):
            yield module + name.removeprefix(prefix)
            return
    yield name
    if not name.startswith("nn.functional."):
        yield f"Tensor.{name}"
        yield f"nn.functional.{name}"


# The shapes of tensor arguments in turn: of vectors, matrices, batches, and of products of them.
M, V, B = (2, 2), (2,), (2, 2, 2)
SHAPES = ((M,), (V,), (B,), (V, M, V), (M, V, V), (M, B, B))


def _usual(engine: Any, parameter: Parameter, dtype: str, shape: Any, scalar: Any) -> Any:
    """A value that the parameter takes."""
    kind = parameter.kind
    if kind == "Tensor":
        ones = engine.ones(shape, dtype=getattr(engine, dtype))
        return engine.tensor([0, 1]) if "ind" in parameter.name else ones
    if kind == "Tensor[]":
        return [engine.ones(shape, dtype=getattr(engine, dtype))] * 2
    usual = {"Scalar": scalar, "float": 0.5, "int": 1, "SymInt": 1, "bool": True, "float[]": [0.5]}
    if kind in ("int[]", "SymInt[]"):
        return [1] * (parameter.length or 1)
    return usual[kind]  # a KeyError: not of interest


def _standing_for(engine: Any, value: Any, how: str) -> Any:
    if isinstance(value, list):
        return [_standing_for(engine, part, how) for part in value]
    whole = isinstance(value, int)
    if how == "tensor":
        return engine.tensor(value, dtype=engine.int64 if whole else engine.float64)
    if how == "narrow tensor":
        return engine.tensor(value, dtype=engine.int32 if whole else engine.float32)
    if how == "NumPy":
        return np.int64(value) if whole else np.float64(value)
    return np.int32(value) if whole else np.float32(value)


def _called(
    engine: Any, path: str, signature: Any, place: int, dtype: str, how: str | None, case: Any
) -> Any:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    (shapes, scalar), tensors = case, 0
    for i, parameter in enumerate(signature.parameters):
        if i != place and parameter.default is not None:
            continue
        value = _usual(engine, parameter, dtype, shapes[tensors % len(shapes)], scalar)
        tensors += parameter.kind.startswith("Tensor")
        if i == place and how is not None:
            value = _standing_for(engine, value, how)
        if parameter.keyword_only or len(args) < i:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    engine.manual_seed(3)
    return operator.attrgetter(path)(engine)(*args, **kwargs)


def _difference(theirs: Any, ours: Any, path: str) -> str:
    if not isinstance(theirs, torch.Tensor):
        return ""
    if str(theirs.dtype) != str(ours.dtype) or tuple(theirs.shape) != tuple(ours.shape):
        return (
            f"{ours.dtype} of shape {tuple(ours.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
        )
    if theirs.layout is not torch.strided:
        kinds = [(str(x.layout), x.sparse_dim(), x.dense_dim()) for x in (theirs, ours)]
        if kinds[0] != kinds[1]:
            return f"layout and dimensions {kinds[1]}, not {kinds[0]}"
        theirs, ours = theirs.to_dense(), ours.to_dense()
    if "empty" in path or theirs.is_complex():
        return ""
    a, b = theirs.detach().double().numpy(), ours.detach().double().numpy()
    return "" if np.allclose(a, b, rtol=1e-2, atol=1e-3, equal_nan=True) else f"{b}, not {a}"


def _taken(
    path: str, signature: Any, place: int, dtype: str, how: str, scalar: Any
) -> tuple[Any, Any] | None:
    """What PyTorch gives for the first shapes that it takes, and these; None if it refuses them all."""
    for shapes in SHAPES:
        case = shapes, scalar
        try:
            theirs = _called(torch, path, signature, place, dtype, how, case)
            _called(tautograd, path, signature, place, dtype, None, case)
        except Exception:  # PyTorch refuses, or it is the number itself that fails
            if not any(p.kind.startswith("Tensor") for p in signature.parameters):
                return None
            continue
        return theirs, case
    return None


def _differences(dtype: str, how: str) -> tuple[int, list[str]]:
    found, compared = [], 0
    for name in _lines():
        for signature in signatures_of(name):
            for place, parameter in enumerate(signature.parameters):
                if parameter.kind not in NUMBERS or (name, parameter.name) in OTHERWISE:
                    continue
                if parameter.name == "alpha" and not parameter.keyword_only:
                    continue  # `add(x, alpha, other)`, the old order, where a tensor is `other`
                scalars = (0.5, 2) if parameter.kind == "Scalar" else (0.5,)
                for path, scalar in itertools.product(_paths(name), scalars):
                    taken = _taken(path, signature, place, dtype, how, scalar)
                    if taken is None:
                        continue
                    theirs, case = taken
                    compared += 1
                    what = f"{path}({parameter.name}=…, {case})"
                    try:
                        ours = _called(tautograd, path, signature, place, dtype, how, case)
                        wrong = _difference(theirs, ours, path)
                    except Exception as error:
                        wrong = repr(error)
                    if wrong:
                        found.append(f"{what}: {wrong}")
    return compared, found


def _check(dtype: str, how: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        compared, found = _differences(dtype, how)
    assert compared > 300
    assert not found, "\n".join(found)


def test_a_tensor_of_no_dimension_stands_for_a_number() -> None:
    _check("float32", "tensor")


def test_a_scalar_of_numpy_does_not_widen_the_result() -> None:
    _check("bfloat16", "NumPy")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("how", ["tensor", "narrow tensor", "NumPy", "narrow NumPy"])
def test_whatever_stands_for_a_number(dtype: str, how: str) -> None:
    _check(dtype, how)


def test_a_tensor_that_wants_a_gradient_is_no_number() -> None:
    for engine in (torch, tautograd):
        slope: Any = engine.tensor(0.5, requires_grad=True)
        with pytest.raises((TypeError, RuntimeError)):
            engine.nn.functional.softplus(engine.ones(2), slope)


def test_the_arguments_of_a_call_that_is_made_again_are_still_judged() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        tautograd.addmm(
            tautograd.ones(2, 2), tautograd.ones(2, 3), tautograd.ones(2, 2),
            beta=tautograd.tensor(2.0),
        )  # fmt: skip


def test_a_call_that_is_made_again_had_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try left all tensors as they were, and drew no random number."""
    wrong, again = [], []
    held: list[tuple[Any, bytes, int]] = []

    def checked(fn: Any, name: str, args: Any, kwargs: Any, method: bool) -> Any:
        found = replaced(fn, name, args, kwargs, method)
        if found is not None:
            again.append(name)
            for tensor, values, version in held:
                if tensor._data.tobytes() != values or tensor._version != version:
                    wrong.append(f"{name} had changed a tensor")
            if not tautograd.equal(tautograd.get_rng_state(), fresh):
                wrong.append(f"{name} had drawn a number")
        return found

    replaced = numbers.replaced
    monkeypatch.setattr(numbers, "replaced", checked)
    real = tautograd.ones

    def ones(*args: Any, **kwargs: Any) -> Any:
        made = real(*args, **kwargs)
        held.append((made, made._data.tobytes(), made._version))
        return made

    monkeypatch.setattr(tautograd, "ones", ones)
    tautograd.manual_seed(3)
    fresh = tautograd.get_rng_state()
    for name in _lines():
        if not name.endswith("_") and "rand" not in name and "normal" not in name:
            continue
        for signature in signatures_of(name):
            for place, parameter in enumerate(signature.parameters):
                if parameter.kind not in NUMBERS:
                    continue
                for path in _paths(name):
                    held.clear()
                    with warnings.catch_warnings(), contextlib.suppress(Exception):
                        warnings.simplefilter("ignore")
                        _called(tautograd, path, signature, place, "float32", "tensor", ((M,), 0.5))
    assert len(again) > 10
    assert not wrong, "\n".join(wrong)


def test_a_callback_is_not_called_again() -> None:
    calls = []

    def fails(*_: Any) -> Any:
        calls.append(1)
        raise TypeError("the program's own")

    with pytest.raises(TypeError, match="the program's own"):
        tautograd.ones(2).map_(tautograd.tensor(1.0).expand(2), fails)
    assert len(calls) == 1


def test_alpha_before_other_as_pytorch_still_takes_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for engine in (torch, tautograd):
            x: Any = engine.ones(2)
            assert engine.add(x, 2, x * 3).tolist() == [7, 7]
            assert x.sub(2, 3).tolist() == [-5, -5]
            assert x.clone().add_(2, x).tolist() == [3, 3]
            with pytest.raises(TypeError, match="positional"):
                engine.add(x, x, 3)


@pytest.mark.parametrize("seed", range(3))
def test_binomial_of_infinitely_many_trials_is_pytorchs_arithmetic(seed: int) -> None:
    trials = [np.inf, np.inf, 50.0, np.inf] * 20
    chances = [0.0, 0.25, 0.5, 0.75, 1.0, np.nan, 1e-9, 0.999] * 10
    found = []
    for engine in (torch, tautograd):
        engine.manual_seed(seed)
        drawn: Any = engine.binomial(engine.tensor(trials), engine.tensor(chances))
        found.append((str(drawn.tolist()), engine.rand(3).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("call", [
    lambda engine, v: engine.nn.functional.leaky_relu(engine.ones(2), v),
    lambda engine, v: engine.layer_norm(engine.arange(2.0), (2,), eps=v),
    lambda engine, v: engine.dropout(engine.ones(2), v, False),
    lambda engine, v: engine.instance_norm(engine.ones(1, 2, 2), None, None, None, None, True, v, 1e-5, False),
    lambda engine, v: engine.arange(v),
])  # fmt: skip
@pytest.mark.parametrize("value", [1 + 0j, 1 + 1j])
def test_a_complex_tensor_is_a_real_number_if_it_has_no_imaginary_part(
    call: Any, value: complex
) -> None:
    found = []
    for engine in (torch, tautograd):
        try:
            found.append(call(engine, engine.tensor(value)).tolist())
        except (RuntimeError, TypeError):
            found.append("refused")
    assert found[0] == found[1]


def test_a_tensor_of_one_element_is_a_list_of_indices() -> None:
    for value in ([1], True, [True]):
        for name in ("hsplit", "vsplit", "dsplit"):
            # Methods: PyTorch's functions of these names take a number alone.
            theirs = getattr(torch.ones(2, 2, 2), name)(torch.tensor(value))
            ours = getattr(tautograd.ones(2, 2, 2), name)(tautograd.tensor(value))
            assert [tuple(x.shape) for x in theirs] == [tuple(x.shape) for x in ours]
