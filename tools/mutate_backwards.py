"""Changes the backward of public autograd Functions, one place at a time, and asks who notices.

    python tools/mutate_backwards.py FOLDER            all that stand in FOLDER, by the table below
    python tools/mutate_backwards.py FOLDER --only entmax --json out.json
    python tools/mutate_backwards.py FOLDER --by cosmic-ray --most 40

FOLDER holds the repositories as they are published, one folder each, named owner+name. Nothing of theirs is kept here.
A mutant is one change of one expression or statement in a backward (or in a function that it calls): an operator,
a constant, a comparison, a sign, a call left out, a statement left out; with `--by cosmic-ray` what that tool makes
of it, as many as `--most` says, drawn by a fixed seed. Mutants whose gradient is that of the original at every input
and for every incoming gradient that is tried are equivalent, and not counted; nor are those that raise.
Each of the others is shown to `torch.autograd.gradcheck` and to `verify`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.util
import json
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from cosmic_ray_mutants import outside_mutants

import tautograd


@dataclass(frozen=True)
class Target:
    """A Function: where it is defined, what else belongs to its backward, and how it is called."""

    repository: str  # or the name of an installed module
    path: str
    name: str
    call: Callable[[Any, Any], Callable[..., Any]]  # of the Function and its module
    shapes: tuple[tuple[int, ...], ...]
    helpers: tuple[str, ...] = ()
    scale: float = 1.0  # of the inputs: large enough for all branches to be taken


def _first(*rest: Any) -> Callable[[Any, Any], Callable[..., Any]]:
    """Call with a tensor and these arguments."""
    return lambda F, module: lambda x: _tensors(F.apply(x, *rest))


def _tensors(result: Any) -> Any:
    """The floating-point result of functions that also return an index or a size."""
    return result[0] if isinstance(result, tuple) else result


def _loss(*rest: Any) -> Callable[[Any, Any], Callable[..., Any]]:
    target = torch.tensor([1, 3, 0])
    return lambda F, module: lambda x: _tensors(F.apply(x, target, *rest))


def _points() -> tuple[Any, Any]:
    numbers = torch.linspace(-1, 1, 8, dtype=torch.float64)
    return numbers.reshape(4, 2).sin(), numbers.reshape(4, 2).cos()


def _distance(power: int) -> Callable[[Any, Any], Any]:
    return lambda a, b: torch.cdist(a, b) ** power


ENTMAX = "deep-spin+entmax"
TARGETS = [
    Target(ENTMAX, "entmax/activations.py", "SparsemaxFunction", _first(-1, None), ((3, 5),)),
    Target(ENTMAX, "entmax/activations.py", "Entmax15Function", _first(-1, None), ((3, 5),)),
    Target(ENTMAX, "entmax/root_finding.py", "EntmaxBisectFunction",
           lambda F, m: lambda x, a: F.apply(x, 1.2 + 0.2 * torch.sigmoid(a), -1, 60, True), ((3, 4), (1,))),
    Target(ENTMAX, "entmax/root_finding.py", "SparsemaxBisectFunction", _first(-1, 60, True), ((3, 4),)),
    Target(ENTMAX, "entmax/root_finding.py", "NormmaxBisectFunction", _first(2, -1, 60), ((3, 4),)),
    Target(ENTMAX, "entmax/root_finding.py", "BudgetBisectFunction", _first(2, -1, 60), ((3, 4),)),
    Target(ENTMAX, "entmax/losses.py", "SparsemaxLossFunction", _loss(2, {"k": None}), ((3, 5),),
           ("_GenericLossFunction",)),
    Target("lukemelas+EfficientNet-PyTorch", "efficientnet_pytorch/utils.py", "SwishImplementation",
           _first(), ((3, 4),)),
    Target("locuslab+lml", "lml.py", "LML_Function", _first(2, 1e-12, 200, None, -1), ((3, 5),)),
    *(
        Target("huggingface+pytorch-image-models", "timm/layers/activations_me.py", f"{name}AutoFn",
               _first(), ((4, 8),), (f"{helper}_bwd",), scale=2.5)
        for name, helper in (("Swish", "swish"), ("Mish", "mish"), ("HardSigmoid", "hard_sigmoid"),
                             ("HardSwish", "hard_swish"), ("HardMish", "hard_mish"))
    ),
    Target("cornellius-gp+gpytorch", "gpytorch/functions/_log_normal_cdf.py", "LogNormalCDF",
           _first(), ((4, 6),)),
    Target("cornellius-gp+gpytorch", "gpytorch/functions/rbf_covariance.py", "RBFCovariance",
           lambda F, m: lambda s: F.apply(*_points(), s.exp(), _distance(2)), ((1, 1),)),
    Target("cornellius-gp+gpytorch", "gpytorch/functions/matern_covariance.py", "MaternCovariance",
           lambda F, m: lambda s: F.apply(*_points(), s.exp(), 2.5, _distance(1)), ((1, 1),)),
    Target("transformers.models.bloom.modeling_bloom", "", "GeLUFunction",
           _first(), ((3, 4),), ("bloom_gelu_back",)),
    Target("transformers.models.sew_d.modeling_sew_d", "", "XSoftmax",
           lambda F, m: lambda x: F.apply(x, torch.ones(3, 4) - torch.eye(3, 4), -1), ((3, 4),)),
]  # fmt: skip


# --- mutants -------------------------------------------------------------------------------------

_SWAPS: dict[type, list[type]] = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add], ast.Div: [ast.Mult],
    ast.Pow: [ast.Mult], ast.Gt: [ast.GtE, ast.Lt], ast.Lt: [ast.LtE, ast.Gt], ast.GtE: [ast.Lt],
    ast.LtE: [ast.Gt], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.And: [ast.Or], ast.Or: [ast.And],
    ast.MatMult: [ast.Mult],
}  # fmt: skip


def mutants(tree: ast.Module, names: set[str]) -> Iterator[tuple[str, ast.Module]]:
    """The mutated programs, each with a description of what was changed and where."""
    for function in _functions(tree, names):
        places = [n for n in ast.walk(function) if isinstance(n, (ast.expr, ast.stmt))]
        for number in range(len(places)):
            for what, change in _changes(places[number]):
                other = copy.deepcopy(tree)
                same = next(f for f in _functions(other, names) if f.lineno == function.lineno)
                node = [n for n in ast.walk(same) if isinstance(n, (ast.expr, ast.stmt))][number]
                change(node)
                yield f"line {places[number].lineno}: {what}", ast.fix_missing_locations(other)


def _functions(tree: ast.Module, names: set[str]) -> list[ast.FunctionDef]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in names:
            found += [
                f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "backward"
            ]
        elif isinstance(node, ast.FunctionDef) and node.name in names:
            found.append(node)
    return found


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """The possible changes at a node."""
    operator = getattr(node, "op", None)
    for other in _SWAPS.get(type(operator), []):
        yield (
            f"{type(operator).__name__} to {other.__name__}",
            lambda n, o=other: setattr(n, "op", o()),
        )
    if isinstance(node, ast.BinOp):
        yield "left operand alone", lambda n: _become(n, n.left)
        yield "right operand alone", lambda n: _become(n, n.right)
    if isinstance(node, ast.Compare):
        for other in _SWAPS.get(type(node.ops[0]), []):
            yield (
                f"{type(node.ops[0]).__name__} to {other.__name__}",
                lambda n, o=other: n.ops.__setitem__(0, o()),
            )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield "sign or negation left out", lambda n: _become(n, n.operand)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        for value in (number + 1, number * 2, 0):
            if value != number:
                yield f"{number} to {value}", partial(_with_value, value)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} to {not node.value}", lambda n: setattr(n, "value", not n.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield f"{node.func.attr}() left out", lambda n: _become(n, n.func.value)
    if isinstance(node, ast.AugAssign):
        yield "statement left out", lambda n: _become(n, ast.Pass())
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield "statement left out", lambda n: _become(n, ast.Pass())
    if isinstance(node, ast.Return) and node.value is not None:
        yield "result negated", _negated
        yield "result doubled", _doubled


def _with_value(value: Any, node: Any) -> None:
    node.value = value


def _become(node: Any, other: Any) -> None:
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(other.__dict__)


def _of_first(node: Any, change: Callable[[Any], Any]) -> None:
    value = node.value
    if isinstance(value, ast.Tuple) and value.elts:
        value.elts[0] = change(value.elts[0])
    else:
        node.value = change(value)


def _negated(node: Any) -> None:
    _of_first(node, lambda v: ast.UnaryOp(ast.USub(), v))


def _doubled(node: Any) -> None:
    _of_first(node, lambda v: ast.BinOp(v, ast.Mult(), ast.Constant(2)))


# --- judges --------------------------------------------------------------------------------------


def _loaded(target: Target, folder: Path) -> tuple[ast.Module, Any]:
    """The program's tree, and the unmodified module."""
    if not target.path:
        module = importlib.import_module(target.repository)
        return ast.parse(Path(str(module.__file__)).read_text()), module
    root = folder / target.repository
    sys.path.insert(0, str(root))
    name = target.path.removesuffix(".py").replace("/", ".")
    try:
        module = importlib.import_module(name)
    except ImportError:  # the package needs others; the file may not
        spec: Any = importlib.util.spec_from_file_location(name, root / target.path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return ast.parse((root / target.path).read_text()), module


def _executed(tree: ast.Module, module: Any) -> Any:
    made = types.ModuleType(module.__name__)
    made.__package__, made.__file__ = module.__package__, module.__file__
    exec(compile(tree, str(module.__file__), "exec"), made.__dict__)
    return made


def _gradients(function: Any, shapes: Any) -> list[Any]:
    """Gradients at several inputs, for several incoming gradients."""
    found = []
    for seed in range(6):
        torch.manual_seed(seed)
        inputs = [
            (torch.randn(s, dtype=torch.float64) * (1 + seed)).requires_grad_() for s in shapes
        ]
        out = function(*inputs)
        sent = [
            torch.ones_like(out),
            torch.randn_like(out),
            torch.zeros_like(out),
            1e8 * torch.randn_like(out),
        ]
        for one in sent:
            grads = torch.autograd.grad(out, inputs, one, retain_graph=True, allow_unused=True)
            found += [torch.zeros(1) if g is None else g for g in grads]
    return found


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def _noticed_by_gradcheck(function: Any, inputs: Any) -> bool:
    try:
        return not torch.autograd.gradcheck(function, inputs, raise_exception=False)
    except Exception:
        return True


def _noticed_by_verify(function: Any, inputs: Any) -> bool:
    try:
        report = tautograd.verify(function, inputs, confirm=False, locate=False)
    except Exception:
        return True
    return report.verdict != "correct"


def _judged(target: Target, folder: Path, outside: int | None) -> dict[str, Any]:
    tree, module = _loaded(target, folder)
    names = {target.name, *target.helpers}
    if outside is None:
        made = mutants(tree, names)
    else:
        source = Path(str(module.__file__)).read_text()
        made = outside_mutants(source, _functions(tree, names), outside)
    row: dict[str, Any] = {"name": target.name, "counted": 0, "equivalent": 0, "raise": 0,
                           "gradcheck": 0, "verify": 0, "survivors": []}  # fmt: skip
    original = target.call(getattr(module, target.name), module)
    right = _gradients(original, target.shapes)
    torch.manual_seed(11)
    drawn = [torch.randn(s, dtype=torch.float64) * target.scale for s in target.shapes]
    inputs = tuple(x.requires_grad_() for x in drawn)
    row["accused"] = {
        "gradcheck": _noticed_by_gradcheck(original, inputs),
        "verify": _noticed_by_verify(original, inputs),
    }
    for what, changed in made:
        try:
            function = target.call(getattr(_executed(changed, module), target.name), module)
            other = _gradients(function, target.shapes)
        except Exception:
            row["raise"] += 1
            continue
        if _same(right, other):
            row["equivalent"] += 1
            continue
        row["counted"] += 1
        row["gradcheck"] += _noticed_by_gradcheck(function, inputs)
        noticed = _noticed_by_verify(function, inputs)
        row["verify"] += noticed
        if not noticed:
            row["survivors"].append(what)
    return row


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="repositories, one folder each: owner+name")
    parser.add_argument("--only", default="", help="part of a repository's or a Function's name")
    parser.add_argument("--by", choices=("tree", "cosmic-ray"), default="tree", help="who mutates")
    parser.add_argument("--most", type=int, default=40, help="of cosmic-ray's, for one Function")
    parser.add_argument("--json", type=Path, help="where to write the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    say(
        "| Function | mutants | gradcheck | verify | equivalent | raise |\n|---|---|---|---|---|---|"
    )
    for target in TARGETS:
        if options.only.lower() not in f"{target.repository} {target.name}".lower():
            continue
        try:
            row = _judged(target, options.folder, options.most if options.by != "tree" else None)
        except Exception as error:
            say(f"| {target.name} | not run: {type(error).__name__}: {error} |")
            continue
        rows.append(row)
        cells = (row[k] for k in ("name", "counted", "gradcheck", "verify", "equivalent", "raise"))
        say(f"| {' | '.join(map(str, cells))} |")
        if row["survivors"] or any(row["accused"].values()):
            say(f"  <!-- left: {row['survivors']}; original accused: {row['accused']} -->")
    total = [sum(row[k] for row in rows) for k in ("counted", "gradcheck", "verify")]
    say(f"| all | {' | '.join(map(str, total))} |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
