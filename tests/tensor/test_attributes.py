"""Attributes of tensors: the program's are its own, by any name, and go where the tensor goes."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from typing import Any

import pytest
import torch as reference

import tautograd
from tests.both import same

ENGINES = ("_data", "_view", "_node", "_hooks", "_tangents", "_name", "_output_nr", "_is_shared")


def _kind(torch: Any, **members: Any) -> Any:
    """A subclass that files can name."""
    name = f"Kind{len(members)}"
    made = type(name, (torch.Tensor,), {"__module__": __name__, **members})
    setattr(sys.modules[__name__], name, made)
    return made


def _through_a_file(torch: Any, obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


@same
def test_a_tensor_shows_the_programs_attributes_alone(torch: Any) -> list[Any]:
    hooked = torch.ones(2, requires_grad=True)
    hooked.register_hook(lambda g: g)
    view = torch.ones(2, 2)[0]
    view.tag = "mine"
    view.__dict__["other"] = 2
    shown = dict(view.__dict__), view.other
    view.__dict__ = {"last": 3}
    later = view.__dict__, hasattr(view, "tag"), view._is_view()
    return [hooked.__dict__, *shown, *later, torch.ones(2).as_subclass(_kind(torch)).__dict__]


@pytest.mark.parametrize("name", ENGINES)
def test_a_subclass_may_have_any_name(name: str) -> None:
    found = []
    for torch in (reference, tautograd):
        s = torch.ones(2, 2).as_subclass(_kind(torch)).requires_grad_()
        setattr(s, name, "mine")
        (s[0] * 3).sum().backward()
        other = s.detach()[1]
        other.__dict__.update(s.__dict__)
        copied = copy.copy(s), pickle.loads(pickle.dumps(s)), other
        values = [(getattr(t, name), dict(t.__dict__), t.tolist()) for t in copied]
        delattr(s, name)
        found.append((values, s.grad.tolist(), name in s.__dict__, (s + 1).tolist()))
    assert found[1] == found[0]


@same
def test_names_in_the_body_of_a_class(torch: Any) -> list[Any]:
    class Own(torch.Tensor):  # type: ignore[name-defined, misc]
        _view = 5

        @property
        def _node(self) -> str:
            return "mine"

        def _hooks(self) -> str:
            return "called"

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value.upper() if name == "loud" else value)

    s = torch.ones(2).as_subclass(Own).requires_grad_()
    s.loud, s._data = "x", [1]
    (s * s).sum().backward()
    return [s.loud, s._data, s._view, Own._view, s._node, s._hooks(), s.grad.tolist(), s[0].item()]


@same
def test_files_keep_subclasses_and_their_attributes(torch: Any) -> list[Any]:
    kind = _kind(torch)
    s = torch.tensor([1.0, 2.0]).as_subclass(kind)
    s.tag, s._data = {"a": [1]}, torch.ones(2)
    p = torch.nn.Parameter(torch.ones(1).as_subclass(kind))
    twice, param = _through_a_file(torch, [s, s], weights_only=False), None
    param = _through_a_file(torch, {"p": p}, weights_only=False)["p"]
    with torch.serialization.safe_globals([kind]):
        safe = _through_a_file(torch, s)
    try:
        _through_a_file(torch, s)
    except pickle.UnpicklingError as error:
        refused = "Weights only load failed" in str(error)
    return [
        *((type(t).__name__, t.tolist(), t.tag, t._data.tolist()) for t in (twice[0], safe)),
        twice[0] is twice[1],
        type(param).__name__, isinstance(param, torch.nn.Parameter), param.__dict__,
        refused,
    ]  # fmt: skip


@same
def test_a_class_that_says_how_it_is_written(torch: Any) -> list[Any]:
    kind = _kind(
        torch,
        __reduce_ex__=lambda self, protocol: (_rebuilt, (torch.__name__, self.tolist())),
    )
    s = torch.tensor([1.0, 2.0]).as_subclass(kind)
    with torch.serialization.safe_globals([_rebuilt]):
        return [_through_a_file(torch, [s])]


def _rebuilt(engine: str, values: Any) -> Any:
    return "rebuilt", values


@same
def test_a_local_class_cannot_be_written(torch: Any) -> bool:
    class Local(torch.Tensor):  # type: ignore[name-defined, misc]
        pass

    try:
        _through_a_file(torch, torch.ones(1).as_subclass(Local))
    except (pickle.PicklingError, AttributeError):
        return True
    return False


@same
def test_a_tensor_that_is_written_twice_is_one(torch: Any) -> list[bool]:
    tied = torch.nn.Parameter(torch.ones(2))
    found = _through_a_file(torch, {"a": tied, "b": [tied]})
    return [found["a"] is found["b"][0]]
