"""Python's operators on tensors: the same expression on PyTorch and on tautograd.

Compared: value, dtype, shape, strides, the node's name; or the class and key phrase of the error.
Every operator meets every pair of dtypes, numbers and NumPy values of every kind on either side,
numbers too large for an int64, shapes that do not fit. Operands are small powers of two, so that
almost all results are exact. The operators have a short way for common operands
(`_autograd/recorder_text.py`): its results are also compared with those of the functions, which have none.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tautograd

from .both_engines import key_phrase

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "divmod": divmod,
}  # fmt: skip
AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand,
    "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "abs": abs, "bool": bool,
    "int": int, "float": float, "complex": complex, "index": operator.index, "not": operator.not_,
}  # fmt: skip
NUMBERS: dict[str, Any] = {
    "2": 2, "2.0": 2.0, "True": True, "(2+0j)": 2 + 0j, "-1": -1, "0": 0, "0.5": 0.5, "inf": np.inf,
    "2**40": 2**40, "2**63": 2**63, "2**64": 2**64, "-2**63": -(2**63), "10**30": 10**30,
    "1e300": 1e300, "300": 300, "None": None, "'2'": "2", "[2, 2]": [2, 2],
}  # fmt: skip
NUMPY: dict[str, Any] = {
    "float32(2)": np.float32(2), "float64(2)": np.float64(2), "int64(2)": np.int64(2),
    "int8(2)": np.int8(2), "bool_(1)": np.bool_(True), "complex64(2)": np.complex64(2),
    "array(2.0)": np.array(2.0), "array([2, 4])": np.array([2, 4]),
    "array([2.0, 4.0])": np.array([2.0, 4.0]),
}  # fmt: skip


# --- one program, two engines --------------------------------------------------------------------


def outcome(engine: Any, program: Callable[[Any], Any]) -> Any:
    """What a program gives, as plain data, or the exception it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _plain(program(engine))
        except Exception as error:
            return error


def _plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, tautograd.Tensor)):
        node = None if value.grad_fn is None else value.grad_fn.name()
        strides = tuple(
            0 if n == 1 else s for n, s in zip(value.shape, value.stride(), strict=True)
        )
        return {
            "dtype": str(value.dtype).replace("complex32", "complex64"),
            "shape": tuple(value.shape), "strides": strides,
            "node": node, "requires_grad": value.requires_grad,
            "values": np.array(value.detach().tolist()),
        }  # fmt: skip
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def difference(want: Any, got: Any) -> str | None:
    """How tautograd's outcome differs from PyTorch's, or None."""
    if isinstance(want, Exception):
        said = f"PyTorch raises {type(want).__name__}: {_line(want)}"
        if "ComplexHalf" in str(want):  # NumPy has no complex32: complex64 stands for it
            return None
        if not isinstance(got, Exception):
            return f"gave {_shown(got)}, where {said}"
        same = type(got).__name__ == type(want).__name__ and key_phrase(want) in _line(got)
        return None if same else f"raised {type(got).__name__}: {_line(got)}, where {said}"
    if isinstance(got, Exception):
        return f"raised {type(got).__name__}: {_line(got)}, where PyTorch gives {_shown(want)}"
    return None if _alike(want, got) else f"{_shown(got)} for {_shown(want)}"


def _alike(want: Any, got: Any) -> bool:
    if isinstance(want, dict) and isinstance(got, dict):
        close = np.allclose(got["values"], want["values"], rtol=1e-6, atol=0, equal_nan=True)
        return close and all(want[k] == got[k] for k in want if k != "values")
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(_alike, want, got))
    if isinstance(want, np.ndarray) or isinstance(got, np.ndarray):
        return type(want) is type(got) and want.dtype == got.dtype and np.array_equal(want, got)
    return type(want) is type(got) and bool(want == got)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['dtype']}{list(value['shape'])} {value['values'].tolist()} {value['node']}"
    return repr(value)


def compare(cases: Iterator[tuple[str, Callable[[Any], Any]]]) -> None:
    """Run every case on both engines; fail with the list of those that differ."""
    found = []
    for label, program in cases:
        problem = difference(outcome(torch, program), outcome(tautograd, program))
        if problem:
            found.append(f"{label}: {problem}")
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:40])


def tensor(
    engine: Any, dtype: str, shape: tuple[int, ...], values: tuple[int, ...] = (4, 2)
) -> Any:
    flat = [values[i % len(values)] for i in range(int(np.prod(shape)))]
    return engine.tensor(flat).reshape(shape).to(getattr(engine, dtype))


# --- two tensors ---------------------------------------------------------------------------------

SHAPES = (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ()), ((2, 1), (2,)), ((0,), (1,)))


@pytest.mark.parametrize("symbol", BINARY)
def test_every_pair_of_dtypes(symbol: str) -> None:
    apply = BINARY[symbol]

    def cases() -> Iterator[Any]:
        for a in DTYPES:
            for b in DTYPES:
                for first, second in SHAPES:
                    yield (
                        f"{a}{first} {symbol} {b}{second}",
                        lambda e, a=a, b=b, first=first, second=second: apply(
                            tensor(e, a, first), tensor(e, b, second, (2, 1))
                        ),
                    )

    compare(cases())


@pytest.mark.parametrize("symbol", AUGMENTED)
def test_augmented_assignment(symbol: str) -> None:
    apply = AUGMENTED[symbol]

    def program(e: Any, a: str, b: str, first: Any, second: Any) -> Any:
        x = tensor(e, a, first)
        y = apply(x, tensor(e, b, second, (2, 1)))
        return [y, y is x, x._version]

    def cases() -> Iterator[Any]:
        for a in DTYPES:
            for b in DTYPES:
                for first, second in (*SHAPES, ((2,), (3,))):
                    yield (
                        f"{a}{first} {symbol} {b}{second}",
                        lambda e, a=a, b=b, f=first, s=second: program(e, a, b, f, s),
                    )

    compare(cases())


@pytest.mark.parametrize("symbol", BINARY)
def test_shapes_that_do_not_fit(symbol: str) -> None:
    apply = BINARY[symbol]
    shapes = (((2,), (3,)), ((2, 3), (2,)), ((4, 1, 3), (2, 2)), ((2, 3), (3, 2)), ((0,), (2,)))

    def cases() -> Iterator[Any]:
        for dtype in ("float32", "int64", "bool"):
            for a, b in shapes:
                yield (
                    f"{dtype}{a} {symbol} {b}",
                    lambda e, d=dtype, a=a, b=b: apply(tensor(e, d, a), tensor(e, d, b)),
                )

    compare(cases())


# --- numbers, and values of NumPy ----------------------------------------------------------------


@pytest.mark.parametrize("reflected", [False, True], ids=["second", "first"])
@pytest.mark.parametrize("symbol", BINARY)
def test_numbers(symbol: str, reflected: bool) -> None:
    apply = BINARY[symbol]

    def cases() -> Iterator[Any]:
        for dtype in DTYPES:
            for shape in ((2,), ()):
                for name, number in NUMBERS.items():
                    text = f"{name} {symbol} {dtype}{shape}"
                    if not reflected:
                        text = f"{dtype}{shape} {symbol} {name}"
                    yield (
                        text,
                        lambda e, d=dtype, s=shape, n=number: (
                            apply(n, tensor(e, d, s)) if reflected else apply(tensor(e, d, s), n)
                        ),
                    )

    compare(cases())


@pytest.mark.parametrize("symbol", AUGMENTED)
def test_augmented_by_numbers(symbol: str) -> None:
    apply = AUGMENTED[symbol]

    def cases() -> Iterator[Any]:
        for dtype in DTYPES:
            for name, number in NUMBERS.items():
                yield (
                    f"{dtype} {symbol} {name}",
                    lambda e, d=dtype, n=number: apply(tensor(e, d, (2,)), n),
                )

    compare(cases())


@pytest.mark.parametrize("reflected", [False, True], ids=["second", "first"])
@pytest.mark.parametrize("symbol", BINARY)
def test_values_of_numpy(symbol: str, reflected: bool) -> None:
    apply = BINARY[symbol]

    def cases() -> Iterator[Any]:
        for dtype in ("float32", "float64", "float16", "complex64", "int64", "uint8", "bool"):
            for shape in ((2,), ()):
                for name, value in NUMPY.items():
                    yield (
                        f"{name}, {dtype}{shape} {symbol} (reflected: {reflected})",
                        lambda e, d=dtype, s=shape, v=value: (
                            apply(v, tensor(e, d, s)) if reflected else apply(tensor(e, d, s), v)
                        ),
                    )

    compare(cases())


# --- one tensor ----------------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", UNARY)
def test_one_operand(symbol: str) -> None:
    apply = UNARY[symbol]

    def cases() -> Iterator[Any]:
        for dtype in DTYPES:
            for shape in ((), (1,), (2,), (0,)):
                yield f"{symbol} {dtype}{shape}", lambda e, d=dtype, s=shape: apply(tensor(e, d, s))

    compare(cases())


# --- the short way -------------------------------------------------------------------------------

FUNCTIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}


def _operands(e: Any, dtype: str, grads: tuple[bool, bool], how: str) -> tuple[Any, Any]:
    """Two leaves, or views of two, as asked for."""
    x, y = tensor(e, dtype, (2, 3)), tensor(e, dtype, (2, 3), (2, 1))
    for t, grad in zip((x, y), grads, strict=True):
        t.requires_grad_(grad)
    if how == "view":
        return x[:, 1:], y.t()[1:].t()
    if how == "transposed":
        return x.t(), y.reshape(3, 2)
    if how == "expanded":
        return x[:1].expand(4, 3), y[0]
    if how == "part of several":
        return x.unbind(1)[1], y.unbind(1)[2]
    return x, y


@pytest.mark.parametrize("symbol", FUNCTIONS)
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
def test_gradients_and_modes(symbol: str, mode: str) -> None:
    apply = BINARY[symbol]

    def program(e: Any, dtype: str, grads: Any, how: str, fn: Callable[[Any, Any], Any]) -> Any:
        x, y = _operands(e, dtype, grads, how)
        with getattr(e, mode)():
            out = fn(x, y)
        if not out.requires_grad:
            return [out]
        leaves = [t for t in (x, y) if t.requires_grad]
        found = e.autograd.grad(out.sum(), leaves, create_graph=True, allow_unused=True)
        return [out, *(g.detach() for g in found)]

    def cases() -> Iterator[Any]:
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            for grads in ((False, False), (True, False), (False, True), (True, True)):
                for how in ("leaf", "view", "transposed", "expanded", "part of several"):
                    yield (
                        f"{dtype} {grads} {how}",
                        lambda e, d=dtype, g=grads, h=how: program(e, d, g, h, apply),
                    )

    compare(cases())


@pytest.mark.parametrize("symbol", FUNCTIONS)
def test_operator_and_function_agree(symbol: str) -> None:
    """The function takes the general way; the operator takes the short one where there is one."""
    apply, function = BINARY[symbol], getattr(tautograd, FUNCTIONS[symbol])
    found = []
    for dtype in DTYPES:
        for how in ("leaf", "view", "transposed", "expanded", "part of several"):
            for number in (None, 2, 2.5, True, 3 + 1j, -3, 10**25, np.float64(0.5), np.int32(3)):
                grads = (True, True) if dtype.startswith(("float", "bfloat")) else (False, False)
                x, y = _operands(tautograd, dtype, grads, how)
                second = y if number is None else number
                by_function = outcome(tautograd, lambda _, x=x, s=second: function(x, s))
                by_operator = outcome(tautograd, lambda _, x=x, s=second: apply(x, s))
                problem = difference(by_function, by_operator)
                if problem:
                    found.append(f"{dtype} {how} {number}: {problem}")
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:40])


# --- life-cycle ----------------------------------------------------------------------------------

PROGRAMS = {
    "a leaf that wants a gradient is not written": "x = torch.ones(2, requires_grad=True); x += 1",
    "nor a view of one": "x = torch.ones(2, requires_grad=True); v = x[:1]; v *= 2",
    "an expanded tensor is not written": "x = torch.ones(1).expand(2); x += 1",
    "history is written": "a = torch.ones(2, requires_grad=True); x = a * 2; x *= x; result = x",
    "what backward needs is not written": (
        "a = torch.ones(2, requires_grad=True); x = a * 2; y = x * x; x += 1; y.sum().backward()"
    ),
    "a number that cannot be stored": "x = torch.ones(2, dtype=torch.int64); x += 1.5",
    "an in-place sum that grows": "x = torch.ones(2); x += torch.ones(3, 2)",
    "bool minus bool": "result = torch.tensor([True]) - torch.tensor([True])",
    "minus bool": "result = -torch.tensor([True])",
    "one minus bool": "result = 1 - torch.tensor([True])",
    "bool minus number": "result = torch.tensor([True]) - True",
    "an integer to a negative power": "result = torch.tensor([2]) ** -1",
    "a number to negative integers": "result = 2 ** torch.tensor([-1, 1, -2])",
    "integers to negative integers": "result = torch.tensor([2, 1, -1]) ** torch.tensor([-1, -2, -3])",
    "integers divided by zero": "result = torch.tensor([1]) // torch.tensor([0])",
    "integers modulo zero": "result = torch.tensor([1]) % 0",
    "floats divided by zero": "result = torch.tensor([1.0, -1.0, 0.0]) / 0",
    "floor of floats by zero": "result = torch.tensor([1.0, -1.0, 0.0]) // 0",
    "floats modulo zero": "result = torch.tensor([1.0]) % 0",
    "shifts by too many": "result = torch.tensor([1, -1]) << 70",
    "shifts to the right by too many": "result = torch.tensor([1, -1]) >> 70",
    "alpha": "result = torch.add(torch.ones(2), torch.ones(2), alpha=0.5)",
    "alpha of integers": "torch.add(torch.tensor([1]), torch.tensor([1]), alpha=0.5)",
    "true is not alpha": "torch.add(torch.tensor([1]), torch.tensor([1]), alpha=True)",
    "a string": "torch.ones(2) + 'a'",
    "None": "torch.ones(2) * None",
    "truth of many": "bool(torch.ones(2))",
    "truth of none": "bool(torch.ones(0))",
    "in": "result = 2.0 in torch.tensor([1.0, 2.0])",
    "equality with None": "result = torch.ones(2) == None",
    "inequality with text": "result = torch.ones(2) != 'a'",
    "order with text": "torch.ones(2) < 'a'",
    "complex order": "torch.tensor([1j]) < 1",
    "chained": "x = torch.tensor([1.0, 2.0], requires_grad=True); result = (2 - x) * 3 / x ** 2",
    "default dtype of an integer quotient": "result = torch.tensor([4, 2]) / torch.tensor([2, 4])",
    "zero-dim does not widen": "result = torch.ones(2, dtype=torch.float16) * torch.tensor(2.0)",
    "zero-dim of a higher kind does": "result = torch.ones(2, dtype=torch.int8) * torch.tensor(2.5)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    def program(e: Any) -> Any:
        scope: dict[str, Any] = {"torch": e}
        exec(PROGRAMS[name], scope)
        return scope.get("result")

    compare(iter([(PROGRAMS[name], program)]))
