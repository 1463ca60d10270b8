"""Every condition on values under which eager raises is kept by compiled code: same class, phrase and remains.

Good values are recorded and bad ones replayed; or the bad ones come while it is recorded; or the function catches the
error and goes on. Each time eager, beside it, says what has to come out, and what has to be left.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import tautograd as torch
from tautograd._arrays import checks
from tautograd._compile.messages.errors import CompileError
from tautograd._compile.program.ir import Check

from .compare import assert_same, bits
from .wrong_values import INF, ROWS, SHAPED_BY_VALUES, Row

BACKENDS = ("numpy", "llvm")
NATIVE = 256  # units in the last place of the largest number


class Step:
    """An operation between two writes and two draws, and its backward pass."""

    def __init__(self, row: Row, catches: bool = False) -> None:
        names = [*row.good]
        self.body = eval(
            f"lambda {', '.join(names)}: {row.code}", {"torch": torch, "F": torch.nn.functional}
        )
        self.row, self.names, self.catches = row, names, catches
        self.count = torch.zeros(3)
        self.leaf = torch.ones(()).requires_grad_()
        torch.manual_seed(5)

    def __call__(self, *args: Any) -> Any:
        self.count.add_(1)
        self.count[1:] += torch.rand(2)
        given = [
            x * self.leaf if n in self.row.grad else x
            for n, x in zip(self.names, args, strict=True)
        ]
        try:
            found = self.body(*given)
        except (RuntimeError, IndexError, ValueError):
            if not self.catches:
                raise
            self.count.sub_(10)
            return torch.rand(2)
        if self.row.grad:
            self.leaf.grad = None
            found.sum().backward()
            found = found.detach()
        self.count.mul_(2)
        return found

    def seen(self) -> Any:
        grad = self.leaf.grad
        # A version says how often memory was written: a replay that was put back has done so, too.
        return bits([self.count, grad, torch.get_rng_state()])


def tensors(values: dict[str, Any], engine: Any = torch) -> list[Any]:
    return [engine.from_numpy(np.array(x)) for x in values.values()]


def outcome(step: Any, run: Callable[..., Any], values: dict[str, Any]) -> Any:
    """What came out, and what is left: the step's state and the arguments."""
    args = tensors(values)
    torch.manual_seed(11)
    try:
        result = "result", bits(run(*args))
    except CompileError:
        raise
    except Exception as error:
        result = type(error).__name__, str(error)
    return [result, step.seen(), bits(args)]


class Pair:
    """A step as written beside the same compiled."""

    def __init__(self, row: Row, backend: str, **options: Any) -> None:
        catches = options.pop("catches", False)
        self.plain, self.other = Step(row, catches), Step(row, catches)
        self.compiled = torch.compile(self.other, backend=backend, **options)
        self.bound = NATIVE if backend == "llvm" else 64

    def call(self, values: dict[str, Any], where: str) -> str:
        expected = outcome(self.plain, self.plain, values)
        found = outcome(self.other, self.compiled, values)
        if expected[0][0] != "result":
            assert found[0] == expected[0], where
        assert_same(found, expected, self.bound, where)
        return str(expected[0][0])


def rows(backend: str) -> list[Any]:
    return [pytest.param(row, backend, id=f"{row.name}-{backend}") for row in ROWS]


BOTH = [param for backend in BACKENDS for param in rows(backend)]


@pytest.mark.parametrize(("row", "backend"), BOTH)
def test_wrong_values_in_a_replay(row: Row, backend: str) -> None:
    pair, dtypes = None, None
    for label, good, bad in row.cases():
        if dtypes != [a.dtype for a in good.values()]:
            dtypes = [a.dtype for a in good.values()]
            pair = Pair(row, backend)
            for _ in range(3):
                assert pair.call(good, f"{label} before") == "result"
            assert pair.compiled.records == 1
        assert pair is not None
        assert pair.call(bad, label) != "result"
        assert pair.call(good, f"{label} after") == "result"
        assert pair.compiled.records == 1
    assert pair is not None
    for (
        instruction
    ) in pair.compiled._last.program.instructions:  # an error is kept with the program
        if isinstance(instruction, Check):
            held = [cell.cell_contents for cell in instruction.error.__closure__ or ()]
            assert not any(hasattr(value, "dtype") for value in held)


@pytest.mark.parametrize(("row", "backend"), BOTH)
def test_wrong_values_while_it_is_recorded(row: Row, backend: str) -> None:
    label, good, bad = row.cases()[0]
    pair = Pair(row, backend)
    pair.call(good, f"{label} first")
    assert pair.call(bad, label) != "result"
    for i in range(4):
        assert pair.call(good, f"{label} after {i}") == "result"
    assert pair.compiled.records == 1
    assert pair.call(bad, label) != "result"


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_an_error_that_is_caught_belongs_to_its_values(row: Row, fallback: bool) -> None:
    """What a run does after it caught an error is no record of what it does without one, nor the other way round."""
    label, good, bad = row.cases()[-1]
    pair = Pair(row, "numpy", fallback=fallback, catches=True)
    calls = (
        good,
        bad,
        good,
        good,
        bad,
        good,
        good,
        good,
    )  # some are recorded again, to be followed
    for when, values in enumerate(calls):
        assert pair.call(values, f"{label} {when}") == "result"
    assert pair.compiled.records == 1


@pytest.mark.filterwarnings("ignore:.*is not compiled")
@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in SHAPED_BY_VALUES])
def test_what_is_shaped_by_values_is_refused_or_runs_eagerly(row: Row) -> None:
    label, good, bad = row.cases()[0]
    step = Step(row)
    compiled = torch.compile(step, backend="numpy")
    compiled(*tensors(good))
    with pytest.raises(CompileError, match="cannot be recorded"):
        compiled(*tensors(good))
    pair = Pair(row, "numpy", fallback=True)
    for values, when in ((good, 0), (good, 1), (bad, 2), (good, 3)):
        assert (pair.call(values, f"{label} {when}") == "result") == (values is good)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in (*ROWS, *SHAPED_BY_VALUES)])
def test_eager_raises_what_pytorch_raises(row: Row) -> None:
    for label, good, bad in row.cases():
        found = []
        for engine in (torch, pytorch):
            names = ", ".join(good)
            body = eval(f"lambda {names}: {row.code}", {"torch": engine, "F": engine.nn.functional})
            if engine is pytorch and not row.like_torch:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore" if engine is pytorch else "error")
                body(*tensors(good, engine))
                with pytest.raises((RuntimeError, IndexError, ValueError)) as caught:
                    body(*tensors(bad, engine))
            found.append([c.__name__.strip("_") for c in type(caught.value).__mro__[:-3]])
        assert len({names[0] for names in found}) == 1, (label, found)


# --- whole numbers at the edges of every dtype -----------------------------------------------------------

WHOLE = ("uint8", "int8", "int16", "int32", "int64")
OF_TWO = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "floor_divide": "a // b",
    "remainder": "a % b",
    "fmod": "torch.fmod(a, b)",
    "trunc": "torch.div(a, b, rounding_mode='trunc')",
    "floor": "torch.div(a, b, rounding_mode='floor')",
    "power": "a ** b",
    "power_64": "a ** 64",
    "power_63": "a ** 63",
    "power_7": "a ** 7",
    "left": "a << (b & 7)",
    "right": "a >> (b & 7)",
    "left_by_any": "a << b",
    "right_by_any": "a >> b",
    "and": "a & b",
    "xor": "a ^ b",
    "maximum": "torch.maximum(a, b)",
    "gcd": "torch.gcd(a, b)",
    "less": "a < b",
    "negative": "-a",
    "absolute": "abs(a)",
    "square": "a * a",
    "invert": "~a",
    "sum": "a.sum()",
    "product": "a.prod()",
    "cumulated": "a.cumsum(0)",
    "as_int8": "a.to(torch.int8)",
    "as_int64": "a.to(torch.int64) * b",
    "as_uint8": "a.to(torch.uint8)",
    "true_quotient": "a / b",
}


def edges(dtype: str) -> tuple[Any, Any]:
    """Pairs of the least and the largest number, of those beside them and of small ones; no divisor is zero."""
    bounds = np.iinfo(dtype)
    these = {bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, 0, 1, 2, 3, 63, 64, 65}
    these |= {-1, -2, -3} if bounds.min else set()
    pairs = [(x, y) for x in sorted(these) for y in sorted(these) if y]
    return tuple(np.array(side, dtype) for side in zip(*pairs, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_TWO)
def test_whole_numbers_at_the_edges(name: str, backend: str) -> None:
    for dtype in WHOLE:
        a, b = edges(dtype)
        body = eval(f"lambda a, b: {OF_TWO[name]}", {"torch": torch})
        compiled = torch.compile(body, backend=backend)
        for count in (2, 2, 2, len(a), len(a), len(a)):
            x, y = torch.from_numpy(a[:count].copy()), torch.from_numpy(b[:count].copy())
            assert_same(bits(compiled(x, y)), bits(body(x, y)), 0, f"{name} {dtype}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_unsigned_numbers_at_the_edges(dtype: str, backend: str) -> None:
    """For which eager has some of the functions, and refuses the others."""
    a, b = edges(dtype)
    for name, code in OF_TWO.items():
        body = eval(f"lambda a, b: {code}", {"torch": torch})
        x, y = torch.from_numpy(a.copy()), torch.from_numpy(b.copy())
        compiled = torch.compile(body, backend=backend)
        try:
            expected = bits(body(x, y))
        except Exception as error:
            for _ in range(3):
                with pytest.raises(type(error)):
                    compiled(x, y)
            continue
        for _ in range(3):
            found = compiled(x, y)
        assert_same(bits(found), expected, 0, f"{name} {dtype}")


# --- passes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_nobody_reads_is_checked_all_the_same(backend: str) -> None:
    def run(a: Any, b: Any, i: Any) -> Any:
        a // b
        torch.nn.functional.one_hot(i, 3)
        return a + 1

    compiled = torch.compile(run, backend=backend)
    a, b, i = torch.tensor([3, 4]), torch.tensor([1, 2]), torch.tensor([0, 2])
    for _ in range(3):
        compiled(a, b, i)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(a, torch.tensor([1, 0]), i)
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        compiled(a, b, torch.tensor([0, 3]))
    assert compiled(a, b, i).tolist() == [4, 5]
    assert compiled.records == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_backward_is_left_to_the_caller(backend: str) -> None:
    """A forward pass that stops leaves nothing that a backward pass would find."""
    x, good, bad = (
        torch.randn(3, 4).requires_grad_(),
        torch.tensor([0, 1, 2]),
        torch.tensor([0, -1, 2]),
    )
    compiled = torch.compile(
        lambda x, t: torch.nn.functional.cross_entropy(x * 2, t), backend=backend
    )
    for _ in range(3):
        compiled(x, good).backward()
    loss = compiled(x, good)
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        compiled(x, bad)
    x.grad = None
    loss.backward()
    found, x.grad = x.grad, None
    torch.nn.functional.cross_entropy(x * 2, good).backward()
    assert_same(bits(found), bits(x.grad), NATIVE)
    assert compiled.records == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_condition_of_the_backward_pass_is_looked_at_there(backend: str) -> None:
    """The recording supposes gradients; those that come decide."""
    matrix = torch.tensor([[2.0, 1j], [-1j, 3.0]], dtype=torch.complex128).requires_grad_()
    compiled = torch.compile(lambda a: torch.linalg.eigh(a)[1], backend=backend)
    for weight in (0.0, 0.0, 0.0):
        (compiled(matrix) * weight).real.sum().backward()
    loss = compiled(matrix).real.sum()
    with pytest.raises(RuntimeError, match="in the complex case are specified up to"):
        loss.backward()
    assert compiled.records == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_every_example_of_a_batch(backend: str) -> None:
    from tautograd.func import vmap

    table, good = torch.randn(2, 3, 4), torch.tensor([[0, 1], [2, 2]])
    body = vmap(lambda w, i: torch.nn.functional.embedding(i, w))
    compiled = torch.compile(lambda w, i: body(w, i), backend=backend)  # noqa: PLW0108 (a function)
    for _ in range(3):
        compiled(table, good)
    for bad in (torch.tensor([[0, 1], [2, -1]]), torch.tensor([[3, 1], [2, 1]])):
        for run in (body, compiled):
            with pytest.raises(IndexError, match="index out of range in self"):
                run(table, bad)
    assert compiled.records == 1


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_way_that_is_chosen_by_values(backend: str, first: int) -> None:
    """Residuals are reported only where a matrix has full rank: of another way than the recorded one there is no
    replay."""

    def run(a: Any, b: Any) -> Any:
        found = torch.linalg.lstsq(a, b, driver="gelsd")
        return found.solution, found.residuals

    matrices = [torch.tensor([[1.0, 0], [0, 2], [1, 1]]), torch.tensor([[1.0, 2], [1, 2], [2, 4]])]
    compiled = torch.compile(run, backend=backend)
    for turn in (first, first, first, 1 - first, first, 1 - first):
        args = matrices[turn], torch.tensor([[1.0], [2.0], [4.0]])
        assert_same(bits(compiled(*args)), bits(run(*args)), NATIVE)
    assert compiled.records == 1


LOSSES = {
    "classes": (
        torch.nn.functional.cross_entropy,
        lambda n: torch.zeros(n, dtype=torch.int64),
        -1,
        IndexError,
    ),
    "chances": (
        lambda y, t: torch.nn.functional.binary_cross_entropy(y.sigmoid(), t),
        lambda n: torch.full((n, 256), 0.5),
        1.5,
        RuntimeError,
    ),
}


@pytest.mark.parametrize("place", [0, 511, 1023])
@pytest.mark.parametrize("name", LOSSES)
def test_in_parts_of_the_batch_too(name: str, place: int) -> None:
    """A step that runs in shards of the batch, by two threads: what is wrong is in one of them."""
    loss_of, target_of, wrong, kind = LOSSES[name]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(256, 256) for _ in range(2)]
        model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
        optimizer = torch.optim.Adam(model.parameters())

        def run(x: Any, t: Any) -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(x), t)
            loss.backward()
            optimizer.step()
            return loss

        compiled = torch.compile(run, backend="llvm")
        x, t = torch.randn(1024, 256), target_of(1024)
        for _ in range(3):
            compiled(x, t)
        assert "parts of the batch" in str(compiled.explain())
        bad = t.clone()
        bad[place] = wrong
        kept = bits([dict(model.state_dict()), optimizer.state_dict()["state"]])
        with pytest.raises(kind, match=r"out of bounds|between 0 and 1"):
            compiled(x, bad)
        assert_same(bits([dict(model.state_dict()), optimizer.state_dict()["state"]]), kept)
        compiled(x, t)
        assert compiled.records == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_is_not_finite_changes_nothing(backend: str) -> None:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())

    def run(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
        return loss

    compiled = torch.compile(run, backend=backend)
    for _ in range(3):
        compiled(torch.ones(2, 3))
    kept = bits([dict(model.state_dict()), optimizer.state_dict()["state"]])
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        compiled(torch.full((2, 3), INF))
    assert_same(bits([dict(model.state_dict()), optimizer.state_dict()["state"]]), kept)
    compiled(torch.ones(2, 3))
    assert compiled.records == 1


# --- nothing is forgotten --------------------------------------------------------------------------------

SOURCE = Path(torch.__file__).parent
SEAM = {name for name in vars(checks) if name.startswith("require_")} | {"check_range"}


def stated() -> set[tuple[str, int]]:
    """Where the library states a condition on values."""
    found = set()
    for folder in ("_ops", "_tensor", "nn", "optim"):
        for path in (SOURCE / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id in SEAM
                ):
                    found.add((str(path), node.lineno))
    return found


def test_every_condition_is_broken_by_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that no row breaks would be one that nobody has seen in compiled code."""
    broken: set[tuple[str, int]] = set()
    plain = checks.first_wrong

    def noting(*args: Any) -> Any:
        frame: Any = sys._getframe(1)
        while frame is not None:
            broken.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return plain(*args)

    monkeypatch.setattr(checks, "first_wrong", noting)
    for row in (*ROWS, *SHAPED_BY_VALUES):
        body = eval(
            f"lambda {', '.join(row.good)}: {row.code}", {"torch": torch, "F": torch.nn.functional}
        )
        for _, _, bad in row.cases():
            with pytest.raises((RuntimeError, IndexError, ValueError)):
                body(*tensors(bad))
    missing = {(Path(name).name, line) for name, line in stated() - broken}
    assert not missing, f"conditions that no row of wrong_values.py breaks: {sorted(missing)}"
