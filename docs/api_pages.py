"""Writes the pages of the API reference: one for each namespace, from the code itself.

What operations declare is read from the type stubs, which have their signatures with types; other
modules are asked directly. Descriptions are the docstrings.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tautograd
from tautograd._ops import nn_families  # noqa: F401  (operations that are loaded when first named)
from tautograd._ops.declare.public import FUNCTIONS

PACKAGE = Path(tautograd.__file__).parent
MODULES = {  # page -> the modules it describes, in this order
    "autograd": ("autograd", "autograd.graph", "autograd.functional", "autograd.forward_ad"),
    "func": ("func",),
    "checkpoint": ("utils.checkpoint",),
    "random": ("random",),
    "testing": ("testing",),
}
STUBS = {  # page -> its stub, the module, and the title
    "linalg": ("linalg.pyi", "linalg"),
    "special": ("special.pyi", "special"),
    "functional": ("nn/functional.pyi", "nn.functional"),
}
CHAPTERS = {  # of the functions of `torch`: the modules that declare them
    "Making tensors": "creation filled ranges interop grids",
    "Random numbers": "random random_state",
    "Pointwise": "elementwise arithmetic combining comparison complex division exponential floating "
    "gamma_functions bessel bitwise powers rounding selection clamping special_functions activations "
    "rectifiers trigonometric polynomials",
    "Reductions and scans": "counting cumulative differences extremes histograms norms "
    "numerical_gradient prods quantiles reductions softmaxes statistics truths",
    "Sorting and searching": "searching sorting",
    "Shape and views": "broadcasting diagonals inplace_views joining layout ones parts permutations "
    "rearranging repeating resizing shuffles splitting strided_views triangles views",
    "Indexing and scattering": "along_dimension gathering index_put index_reduce indexing masking "
    "part_scatters scatter_reduce taking writing",
    "Linear algebra": "added_products chains cholesky contractions determinants distances einsum "
    "eigenvalues householder inverses least_squares linear lu lu_systems matmul matrix_functions "
    "matrix_norms products qr renorming singular_values tensor_systems",
    "Dtypes, devices and settings": "settings place conversions promotion",
    "Neural networks": "",  # and whatever is not listed
}
CHAPTER_OF = {module: title for title, text in CHAPTERS.items() for module in text.split()}


def write_api_pages(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(exist_ok=True)
    pages = {"torch": torch_page(), "tensor": tensor_page()}
    for page, (stub, name) in STUBS.items():
        pages[page] = "\n".join([*title(name), *described(definitions(stub), f"torch.{name}")])
    for page, names in MODULES.items():
        pages[page] = "\n".join(line for name in names for line in module_page(name))
    for page, text in pages.items():
        path = folder / f"{page}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def title(name: str) -> Iterator[str]:
    module = importlib.import_module(f"tautograd.{name}")
    yield from (f"# torch.{name}", "", (inspect.getdoc(module) or "").replace("\n", " "), "")


# ---- from stubs ----------------------------------------------------------------------------------


def definitions(stub: str) -> list[ast.FunctionDef]:
    body = ast.parse((PACKAGE / stub).read_text(encoding="utf-8")).body
    return [statement for statement in body if isinstance(statement, ast.FunctionDef)]


def described(
    functions: Iterable[ast.FunctionDef], prefix: str, kind: str = "function"
) -> list[str]:
    """A directive for each function, its forms together."""
    forms: dict[str, list[ast.FunctionDef]] = {}
    for function in functions:
        forms.setdefault(function.name, []).append(function)
    lines: list[str] = []
    for name, several in forms.items():
        signatures = [f"{prefix}.{name}{signature(form)}" for form in several]
        about = ast.get_docstring(several[0]) or ""
        lines += directive(kind, signatures, about)
    return lines


def directive(kind: str, signatures: list[str], about: str) -> list[str]:
    """A name with its forms one below the other, and what is said of all of them."""
    *others, last = signatures
    lines: list[str] = []
    for place, form in enumerate(others):
        lines += [f"::::{{py:{kind}}} {form}", *([":no-index:"] if place else []), "::::", ""]
    lines += [f"::::{{py:{kind}}} {last}", *([":no-index:"] if others else [])]
    return [*lines, "", *about.splitlines(), "::::", ""]


def signature(function: ast.FunctionDef) -> str:
    """Arguments and result as PyTorch's documentation writes them: without the types' other names."""
    arguments = function.args
    for place in (arguments.posonlyargs, arguments.args):
        if place and place[0].arg == "self":
            place.pop(0)
    text = f"({ast.unparse(arguments)})"
    if function.returns is not None:
        text += f" -> {ast.unparse(function.returns)}"
    return re.sub(
        r"\b_(bool|complex|float|int|type|dtype|device|layout|memory_format)\b", r"\1", text
    )


def torch_page() -> str:
    """The functions of `torch`, by chapter."""
    chapters: dict[str, list[ast.FunctionDef]] = {chapter: [] for chapter in CHAPTERS}
    for function in definitions("__init__.pyi"):
        fn = FUNCTIONS.get(function.name) or getattr(tautograd, function.name)
        declared_in = inspect.unwrap(fn).__module__ or "activations"
        chapter = CHAPTER_OF.get(declared_in.rpartition(".")[2], "Neural networks")
        chapters[chapter].append(function)
    lines = ["# torch", "", "Functions on tensors, by subject.", ""]
    for chapter, functions in chapters.items():
        if functions:
            lines += [f"## {chapter}", "", *described(functions, "torch")]
    return "\n".join(lines)


def tensor_page() -> str:
    """The methods and attributes of `Tensor`, those of the class itself first."""
    (attached,) = [
        statement
        for statement in ast.parse(
            (PACKAGE / "_tensor" / "methods.pyi").read_text(encoding="utf-8")
        ).body
        if isinstance(statement, ast.ClassDef)
    ]
    methods = [part for part in attached.body if isinstance(part, ast.FunctionDef)]
    attributes = {
        **{part.name: part.returns for part in methods if _is_property(part)},
        **{
            part.target.id: part.annotation
            for part in attached.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        },
    }
    lines = ["# torch.Tensor", "", inspect.getdoc(tautograd.Tensor) or "", "", "## Attributes", ""]
    own = [name for name, value in vars(tautograd.Tensor).items() if isinstance(value, property)]
    for name in sorted({*own, *attributes}):
        if not name.startswith("_"):
            value = vars(tautograd.Tensor)[name]
            lines += directive("attribute", [f"torch.Tensor.{name}"], inspect.getdoc(value) or "")
    lines += ["## Methods", ""]
    public = [m for m in methods if not _is_property(m) and not m.name.startswith("_")]
    return "\n".join([*lines, *described(public, "torch.Tensor", "method")])


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in function.decorator_list)


# ---- from modules --------------------------------------------------------------------------------


def module_page(name: str) -> list[str]:
    """The public names of a module."""
    module = importlib.import_module(f"tautograd.{name}")
    lines = list(title(name))
    if "." in name and not name.startswith("utils."):
        lines[0] = f"#{lines[0]}"
    for public in module.__all__:
        value = getattr(module, public)
        if isinstance(value, ModuleType):
            continue
        lines += entry(f"torch.{name}.{public}", value)
    return lines


def entry(name: str, value: Any) -> list[str]:
    about = inspect.getdoc(value) or ""
    if not callable(value):
        return directive("data", [name], about)
    text = f"{name}{arguments(value)}"
    if not isinstance(value, type):
        return directive("function", [text], about)
    inner: list[str] = []
    for method, function in vars(value).items():
        if method.startswith("_") or not inspect.getdoc(function):
            continue
        if isinstance(function, staticmethod | classmethod):
            function = function.__func__
        if inspect.isfunction(function):
            inner += [
                f":::{{py:method}} {method}{arguments(function)}",
                "",
                *(inspect.getdoc(function) or "").splitlines(),
                ":::",
                "",
            ]
    return directive("class", [text], "\n".join([about, "", *inner]))


def arguments(value: Any) -> str:
    """A signature without its annotations and private parameters."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    bare = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in parameters
        if p.name not in ("self", "cls") and not p.name.startswith("_")
    ]
    return str(inspect.Signature(bare))
