"""Recorders: functions written from records when they are first called."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from typing import Any

import pytest
import torch

import tautograd as tg
import tautograd.nn.functional as F
from tautograd._autograd.modes import modes, shared
from tautograd._autograd.recorder import source_of
from tautograd._ops.declare.record import INTERNAL, REGISTRY, renamed
from tests.planted_rules import planted

RECORDS = {**REGISTRY, **INTERNAL}


def test_nothing_is_written_before_it_is_called() -> None:
    """Importing the package costs no compilation; one operation costs its own."""
    program = """
import sys
from typing import Any
import tautograd as tg
assert "tautograd._autograd.recorder" not in sys.modules
x = tg.ones(2, requires_grad=True)
x.exp()
from tautograd._autograd.recorder import _CODES
print(len(_CODES))
"""
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert 1 <= int(found.stdout) <= 3


def test_every_record_has_a_text_that_compiles() -> None:
    for name, op in RECORDS.items():
        text = source_of(op)
        compile(text, name, "exec")
        assert text.count("frame.f_back is not None") == (op.vjp is not None), name


def test_the_text_is_found_by_debuggers() -> None:
    tg.ones(2).sinh()
    op = REGISTRY["sinh"]
    counting = "    counted(function)\n"  # as long as it has not been called often
    function = op._written[0]  # `op.apply`, or what that runs as machine code
    assert inspect.getsource(function).replace(counting, "") == source_of(op)
    assert function.__code__.co_name == "sinh"


def test_records_that_say_the_same_share_a_text_but_no_code() -> None:
    x = tg.ones(2)
    x.sinh(), x.cosh()
    one, other = REGISTRY["sinh"], REGISTRY["cosh"]
    assert source_of(one) == source_of(other)
    functions = [op._written[0] for op in (one, other)]
    for function in functions:
        function.__globals__["write_again"](function)  # whether or not it still counted its calls
    code, others = (function.__code__ for function in functions)
    assert code is not others
    assert code.co_filename == others.co_filename


def test_a_function_keeps_its_identity_and_is_written_anew_for_other_rules() -> None:
    """Whoever holds an operation's function (a method of Tensor) sees the rules that hold now."""
    op = REGISTRY["mul"]
    x = tg.ones(2, requires_grad=True)
    held = tg.Tensor.__mul__
    assert held(x, x).grad_fn.saved[0] is not None
    with planted(op, {"x": lambda g: g * 5, "y": lambda g: g * 7}, None):
        for product in (held(x, x), tg.mul(x, x)):
            assert product.grad_fn.saved == ()
            x.grad = None
            product.sum().backward()
            assert x.grad.tolist() == [12.0, 12.0]
    x.grad = None
    held(x, x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert tg.Tensor.__mul__ is held


def test_a_renamed_record_has_a_function_of_its_own() -> None:
    twin = renamed(REGISTRY["exp"], "OtherBackward0")
    x = tg.ones(2, requires_grad=True)
    assert twin.apply((x,)).grad_fn.name() == "OtherBackward0"
    assert x.exp().grad_fn.name() == "ExpBackward0"


def test_a_node_knows_the_line_whoever_calls() -> None:
    """An operator remembers the code that called last; another one is not taken for it."""
    x = tg.ones(2, requires_grad=True)

    def first():
        return x * x

    def second():
        return x * x

    for _ in range(3):
        for function in (first, second):
            site = function().grad_fn.created_at
            assert site.function == function.__name__
            assert site.text == "return x * x"


def _graph(root: Any) -> list[Any]:
    """Every node below a tensor, each before what it came from."""
    found: dict[Any, None] = dict.fromkeys([root.grad_fn])
    for node in (stack := list(found)):
        for below, _ in node.next_functions:
            if below is not None and below not in found:
                found[below] = None
                stack.append(below)
    return list(found)


def _curved(x: Any, w: Any) -> Any:
    """A loss whose rules add, subtract, multiply, divide, transpose and multiply matrices."""
    return (((x @ w).tanh() / (w.sum() + 3.0) - 0.5) ** 2).mean()


def test_what_a_rule_records_knows_the_line_that_went_backward() -> None:
    x, w = tg.ones(3, 2, requires_grad=True), tg.full((2, 4), 0.5, requires_grad=True)
    inside = []

    def hook(grad: Any) -> Any:
        inside.append(grad * 2)  # of the hook's own
        return grad

    loss = _curved(x, w)
    forward = set(_graph(loss))
    w.register_hook(hook)
    (gradient,) = tg.autograd.grad(loss, w, create_graph=True)
    recorded = [n for n in _graph(gradient) if n not in forward and n.name().endswith("Backward0")]
    assert {"MulBackward0", "DivBackward0", "MmBackward0", "TransposeBackward0"} <= {
        node.name() for node in recorded
    }
    lines = {node.created_at.text for node in recorded if hasattr(node, "code")}
    assert lines == {"(gradient,) = tg.autograd.grad(loss, w, create_graph=True)"}
    assert inside[0].grad_fn.created_at.text == "inside.append(grad * 2)  # of the hook's own"
    assert modes.site is None


def test_a_rule_that_fails_leaves_no_line_behind() -> None:
    x = tg.ones(2, requires_grad=True)
    y = (x * x).exp()
    with tg.no_grad():
        x.add_(1)  # what was saved has changed
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        tg.autograd.grad(y.sum(), x, create_graph=True)
    assert modes.site is None


def test_rules_record_the_same_by_the_shorter_way_and_by_the_longer() -> None:
    """While another thread lives that is in a mode of its own, rules take the longer way."""

    def second_order() -> tuple[list[str], bytes]:
        tg.manual_seed(0)
        x, w = tg.randn(3, 2, requires_grad=True), tg.randn(2, 4, requires_grad=True)
        (gradient,) = tg.autograd.grad(_curved(x, w), w, create_graph=True)
        names = [node.name() for node in _graph(gradient)]
        (again,) = tg.autograd.grad((gradient**2).sum(), w)
        return names, again.numpy().tobytes()

    assert shared.ordinary
    shorter = second_order()
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with tg.no_grad():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    try:
        assert not shared.ordinary
        longer = second_order()
    finally:
        leave.set()
        thread.join()
    assert shorter == longer


def test_what_is_saved_follows_who_wants_a_gradient() -> None:
    """A node saves what the rules of its inputs with an edge name: nothing more, and nothing if nothing."""
    x, y = tg.ones(2, requires_grad=True), tg.full((2,), 3.0)
    assert [s is not None for s in tg.mul(x, y).grad_fn.saved] == [False, True, False]
    assert [s is not None for s in (x * y).grad_fn.saved] == [False, True, False]
    assert [s is not None for s in (y * x).grad_fn.saved] == [True, False, False]
    assert [s is not None for s in (x * x).grad_fn.saved] == [True, True, False]
    total = tg.addmm(tg.ones(2, 2, requires_grad=True), tg.ones(2, 2), tg.ones(2, 2))
    total.sum().backward()
    total.sum().backward()  # nothing was saved, so nothing was freed


# --- a matrix that is used transposed -------------------------------------------------------------


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("wanted", ["x", "w", "b", "xw", "xwb", ""])
def test_linear_records_what_pytorch_does(rank: int, with_bias: bool, wanted: str) -> None:
    """Nodes, gradients and what wants one, whichever of the tensors do."""
    found = []
    for engine in (tg, torch):
        generator = engine.Generator().manual_seed(3)
        shape = (4, 2, 5)[3 - rank :]
        x = engine.randn(shape, generator=generator)
        w, b = engine.randn(6, 5, generator=generator), engine.randn(6, generator=generator)
        for name, tensor in zip("xwb", (x, w, b), strict=True):
            tensor.requires_grad_(name in wanted)
        out = engine.nn.functional.linear(x, w, b if with_bias else None)
        nodes = []
        if out.requires_grad:
            stack = [out.grad_fn]
            while stack:
                node = stack.pop(0)
                nodes.append(None if node is None else type(node).__name__)
                stack += [] if node is None else [one for one, _ in node.next_functions]
            (out * out).sum().backward()
        grads = [None if t.grad is None else t.grad.tolist() for t in (x, w, b)]
        found.append((nodes if rank < 3 else None, out.requires_grad, grads))
    mine, theirs = found
    assert mine[:2] == theirs[:2]
    for one, other in zip(mine[2], theirs[2], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(torch.tensor(one), torch.tensor(other))


def test_both_nodes_of_a_linear_map_know_the_line_and_the_versions() -> None:
    x, w = tg.ones(2, 3, requires_grad=True), tg.ones(4, 3, requires_grad=True)
    out = F.linear(x, w, tg.ones(4))
    turned = out.grad_fn.next_functions[2][0]
    assert type(turned).__name__ == "TBackward0"
    assert turned.created_at == out.grad_fn.created_at
    assert "F.linear(x, w" in turned.created_at.text
    with tg.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_the_output_number_of_a_weight_goes_to_its_transpose() -> None:
    """Parts of a tensor share a node, and each has its own gradient there."""
    both = tg.arange(12.0).reshape(2, 2, 3).requires_grad_()
    x = tg.ones(1, 3)
    first, second = both.unbind()
    F.linear(x, second).sum().backward()
    assert both.grad.tolist() == [[[0.0] * 3] * 2, [[1.0] * 3] * 2]
    both.grad = None
    rows, more = tg.ones(4, 2, 3, requires_grad=True).chunk(2)
    F.linear(more[0], first, rows[0, :, 0]).sum().backward()
    assert both.grad[0].tolist() == [[2.0] * 3] * 2


def test_a_planted_rule_of_the_transpose_is_seen_by_linear() -> None:
    op = REGISTRY["t"]
    w = tg.ones(2, 3, requires_grad=True)
    F.linear(tg.ones(1, 3), w).sum().backward()
    w.grad = None
    with planted(op, {"x": lambda g: op(g) * 5}):
        F.linear(tg.ones(1, 3), w).sum().backward()
    assert w.grad.tolist() == [[5.0] * 3] * 2


# --- writing into a tensor ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["add_", "sub_", "mul_", "div_", "subtract_", "multiply_", "divide_"]
)
def test_a_write_is_noted_once_with_the_line_of_the_user(name: str) -> None:
    for other in (2.0, 2, tg.full((3,), 2.0), tg.tensor(2.0)):
        x = tg.full((3,), 6.0)
        before = x._data
        for count in (1, 2):
            assert getattr(x, name)(other) is x
            assert x._version == count
        assert x._data is before
        code, _ = x._version_box[1]
        assert code.co_name == "test_a_write_is_noted_once_with_the_line_of_the_user"
        y = tg.full((3,), 6.0)
        short = getattr(y, name[:-1])
        assert getattr(tg, name[:-1])(short(other), other).tolist() == x.tolist()


def test_a_write_that_must_be_recorded_is() -> None:
    x, y = tg.ones(3), tg.ones(3, requires_grad=True)
    x += y
    assert type(x.grad_fn).__name__ == "AddBackward0"
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        y += 1
    with tg.no_grad():
        y += 1
    assert y.tolist() == [2.0] * 3
