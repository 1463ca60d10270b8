"""Write the type stubs of what operations declare at run time: functions and Tensor methods.

Operations become `tautograd.<name>` and `Tensor.<name>` when their records are imported, where type
checkers and editors cannot see them. This script writes the same names, arguments and descriptions into
stub files beside the modules; argument types come from the function itself, else from
`stub_types`. A build runs it (`hatch_build.py`), and so do `make test` and `make lint`.

    python tools/make_stubs.py
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from stub_types import IN_FUNCTION, METHODS, PARAMETERS, RESULTS, SIGNATURES

import tautograd
from tautograd import linalg, special
from tautograd._arrays.dtypes import DTYPE_NAMES
from tautograd._arrays.formats import FORMAT_NAMES
from tautograd._ops import nn_families  # noqa: F401  (operations that are loaded when first named)
from tautograd._ops.declare.public import FUNCTIONS
from tautograd._ops.declare.return_types import RETURN_TYPES
from tautograd._ops.sparse import methods as sparse_methods
from tautograd._tensor.creation import LEGACY_TYPES
from tautograd._tensor.storages import LEGACY_STORAGES
from tautograd._tensor.tensor import Tensor
from tautograd.nn import functional

linalg.ldl_solve, functional.linear_cross_entropy  # noqa: B018  (which are loaded when first named)

PACKAGE = Path(tautograd.__file__).parent
Parameter = inspect.Parameter
STARS = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
# Functions, methods and dtypes are called float, bool or complex, so types get other names.
SHADOWED = ("bool", "complex", "float", "int", "type")
HIDDEN = {
    "dtype",
    "device",
    "layout",
    "memory_format",
}  # as type names; tensors have such attributes
HEAD = '''"""{about}

Written by tools/make_stubs.py from what the package offers: not to be edited.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, overload

import numpy as np

from {dots} import return_types
from {dots}_arrays.devices import device as _device
from {dots}_arrays.dtypes import dtype as _dtype
from {dots}_arrays.formats import layout as _layout
from {dots}_arrays.formats import memory_format as _memory_format
from {dots}_autograd.hooks import RemovableHandle
from {dots}_tensor.random_state import Generator
from {dots}_tensor.storages import TypedStorage, UntypedStorage
from {dots}_tensor.tensor import Size, Tensor
from {dots}_types import DeviceLike, Dims, Ints, Number, TensorOrNumber, Tensors
'''
RESULTS_HEAD = '''"""Named results, for type checkers.

Written by tools/make_stubs.py from what the package offers: not to be edited.
"""

from collections.abc import Sequence
from typing import Any

from ._tensor.tensor import Tensor
'''


# ---- a function ----------------------------------------------------------------------------------


class _Unshadowed(ast.NodeTransformer):
    """Replaces type names that the stub shadows."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in SHADOWED or node.id in HIDDEN:
            node.id = f"_{node.id}"
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg):
            if argument is not None and argument.annotation is not None:
                argument.annotation = self.visit(argument.annotation)
        return node


def definition(name: str, signature: str, *, method: bool = False) -> ast.FunctionDef:
    found = ast.parse(f"def {name}{signature}: ...").body[0]
    assert isinstance(found, ast.FunctionDef)
    if method:
        found.args.args.insert(0, ast.arg("self"))
        if found.args.posonlyargs:
            found.args.posonlyargs.insert(0, found.args.args.pop(0))
    made = _Unshadowed().visit(found)
    assert isinstance(made, ast.FunctionDef)
    return made


def as_method(signature: str) -> str:
    """A function's signature without its first argument and without `out`."""
    found = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(found, ast.FunctionDef)
    arguments = found.args
    (arguments.posonlyargs or arguments.args).pop(0)
    kept = [
        (argument, value)
        for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if argument.arg != "out"
    ]
    arguments.kwonlyargs = [argument for argument, _ in kept]
    arguments.kw_defaults = [value for _, value in kept]
    assert found.returns is not None
    return f"({ast.unparse(arguments)}) -> {ast.unparse(found.returns)}"


def signature_of(name: str, fn: Callable[..., Any], space: str, *, method: bool) -> str:
    """The signature of a function, its `Any`s replaced by the usual types for its argument names."""
    found = inspect.signature(fn)
    if method and _open_ended(found) and not _open_ended(inspect.signature(_outplace(name, fn))):
        found = inspect.signature(_outplace(name, fn))  # a fast path in front of the full function
    parameters = list(found.parameters.values())
    if method:
        parameters = parameters[1:]
    returns = result_of(name, found.return_annotation, space)
    takes_out = not method and _takes_out(fn) and "out" not in found.parameters
    parts: list[str] = []
    starred = False
    for at, parameter in enumerate(parameters):
        if parameter.kind in STARS:  # better written out in stub_types.py
            parts.append(f"{STARS[parameter.kind]}{parameter.name}: {parameter.annotation}")
            starred = True
            continue
        if parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(
            f"{parameter.name}: {kind_of(name, parameter, returns)}{default_of(parameter)}"
        )
        following = parameters[at + 1].kind if at + 1 < len(parameters) else None
        if parameter.kind is Parameter.POSITIONAL_ONLY is not following:
            parts.append("/")
    if takes_out and (kind := out_kind(returns)):
        out = ([] if starred else ["*"]) + [f"out: {kind} = None"]
        end = len(parts) - bool(parts and parts[-1].startswith("**"))
        parts[end:end] = out
    return f"({', '.join(parts)}) -> {returns}"


def _open_ended(signature: inspect.Signature) -> bool:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    return Parameter.VAR_POSITIONAL in kinds


def _outplace(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The out-of-place twin of an in-place method, or the method itself."""
    twin: Callable[..., Any] = getattr(Tensor, name.removesuffix("_"), fn)
    return twin


def _takes_out(fn: Callable[..., Any]) -> bool:
    """Whether the wrapper from `_ops.declare.public` around a function takes `out=`."""
    while isinstance(fn, FunctionType):
        held = inspect.getclosurevars(fn).nonlocals
        if "takes_out" in held:
            return bool(held["takes_out"])
        if not hasattr(fn, "__wrapped__"):
            return False
        fn = fn.__wrapped__
    return False


def kind_of(name: str, parameter: inspect.Parameter, returns: str) -> str:
    text = parameter.annotation
    if parameter.name == "out":
        return out_kind(returns) or "Any"
    if text in (Parameter.empty, "Any"):
        text = IN_FUNCTION.get((name, parameter.name)) or PARAMETERS.get(parameter.name, "Any")
    if text == "Ints" and isinstance(parameter.default, int):
        text = "Dims"
    if parameter.default is None and text != "Any" and "None" not in text:
        text += " | None"
    return str(text)


def default_of(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is Parameter.empty:
        return ""
    plain = isinstance(value, (int, float, str, bool, tuple, type(None)))
    return f" = {value!r}" if plain else " = ..."


def result_of(name: str, annotation: Any, space: str) -> str:
    if name in RESULTS:
        return RESULTS[name]
    if annotation not in (inspect.Signature.empty, "Any"):
        return str(annotation)
    named = f"linalg_{name}" if space == "linalg" else name
    return f"return_types.{named}" if named in RETURN_TYPES else "Tensor"


def out_kind(returns: str) -> str | None:
    if returns == "Tensor":
        return "Tensor | None"
    if returns.startswith(("return_types.", "tuple[Tensor")):
        return "Tensors | None"
    return None


# ---- groups of them ------------------------------------------------------------------------------


def stub(name: str, fn: Any, space: str = "", *, method: bool = False) -> str:
    """All forms of a function or method, and the first paragraph of its description."""
    forms = METHODS.get(name) if method else SIGNATURES.get(name) if not space else None
    if forms is None and method and name in SIGNATURES and FUNCTIONS.get(name) is not None:
        forms = [as_method(form) for form in SIGNATURES[name]]
    twin = name.removesuffix("_")
    if forms is None and method and twin in SIGNATURES and _open_ended(inspect.signature(fn)):
        forms = [as_method(form) for form in SIGNATURES[twin]]
    if forms is None:
        forms = [signature_of(name, fn, space, method=method)]
    about = (inspect.getdoc(fn) or "").split("\n\n")[0].replace("\n", " ")
    texts = []
    for form in forms:
        made = definition(name, form, method=method)
        if len(forms) > 1:
            made.decorator_list = [ast.Name("overload")]
        if about:
            made.body = [ast.Expr(ast.Constant(about))]
        text = ast.unparse(ast.fix_missing_locations(made))
        if name in ("__eq__", "__ne__"):
            text = text.replace(":\n", ":  # type: ignore[override]\n", 1)
        texts.append(text)
    indent = "    " if method else ""
    return "".join(f"{indent}{line}\n" for text in texts for line in text.splitlines())


def functions(names: Mapping[str, Any], space: str = "") -> str:
    return "\n".join(
        stub(name, fn, space) for name, fn in sorted(names.items()) if not isinstance(fn, type)
    )


def classes(names: Mapping[str, Any]) -> str:
    return "".join(
        f"from {getattr(fn, 'home', fn.__module__)} import {fn.__name__} as {name}\n"
        for name, fn in sorted(names.items())
        if isinstance(fn, type)
    )


# ---- the files -----------------------------------------------------------------------------------


def tensor_methods() -> str:
    """The base class that only type checkers see: what other modules attach to `Tensor`."""
    own = set(_class_body("_tensor/tensor.py", "Tensor"))
    members = []
    # Methods that are loaded by their first call are described as loaded.
    for name, value in sorted({**vars(Tensor), **sparse_methods.METHODS}.items()):
        if name in own or (name.startswith("_") and not name.startswith("__")):
            continue
        if isinstance(value, property):
            getter = value.fget
            assert getter is not None
            returns = result_of(name, inspect.signature(getter).return_annotation, "")
            if value.fset is not None:
                members.append(f"    {name}: {_renamed(returns)}\n")
            else:
                members.append(f"    @property\n    def {name}(self) -> {_renamed(returns)}: ...\n")
        elif isinstance(value, FunctionType):
            members.append(stub(name, value, method=True))
    return (
        HEAD.format(about="What operations attach to `Tensor`, for type checkers.", dots="..")
        + "\nclass TensorMethods:\n"
        + "\n".join(members)
    )


def _renamed(annotation: str) -> str:
    return ast.unparse(_Unshadowed().visit(ast.parse(annotation, mode="eval")))


def _class_body(path: str, wanted: str) -> Iterable[str]:
    """The names that a class body defines, and those that every class has."""
    yield from ("__module__", "__doc__", "__slots__", "__dict__", "__weakref__", "__annotations__")
    for statement in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ClassDef) and statement.name == wanted:
            for part in statement.body:
                if isinstance(part, ast.FunctionDef):
                    yield part.name
                elif isinstance(part, ast.Assign):
                    yield from (t.id for t in part.targets if isinstance(t, ast.Name))
                elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    yield part.target.id


def package() -> str:
    """The stub of `tautograd` itself."""
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    lines = ["from math import e as e, inf as inf, nan as nan, pi as pi"]
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom) and statement.level == 1:
            for alias in statement.names:
                name = alias.asname or alias.name
                if name in SIGNATURES or (name.startswith("_") and name != "__version__"):
                    continue
                lines.append(f"from .{statement.module or ''} import {alias.name} as {name}")
    lines += [
        f"from . import {part} as {part}"
        for part in sorted(tautograd._PARTS)
        if importlib.util.find_spec(f"tautograd.{part}") is not None
    ]
    lines += [
        f"from .{module} import {name} as {name}" for name, module in tautograd._ELSEWHERE.items()
    ]
    lines += ["", "newaxis: None"]
    lines += [f"{name}: _dtype" for name in sorted(DTYPE_NAMES)]
    lines += [f"{name}: {_type_name(kind)}" for name, kind in sorted(FORMAT_NAMES.items())]
    lines += [f"{name}: _type[Tensor]" for name in sorted(LEGACY_TYPES)]
    lines += [f"{name}: _type[TypedStorage]" for name in sorted((*LEGACY_STORAGES, "Storage"))]
    here = {name: getattr(tautograd, name) for name in SIGNATURES if hasattr(tautograd, name)}
    head = HEAD.format(about="Everything in `tautograd`, for type checkers.", dots=".")
    for name in ("return_types", "Generator", "Size, Tensor"):  # exported below
        head = re.sub(rf"from .* import {name}\n", "", head)
    return head + "\n".join(lines) + "\n\n" + functions({**FUNCTIONS, **here})


def _type_name(value: object) -> str:
    return f"_{type(value).__name__}"


def namespace(about: str, dots: str, module: ModuleType, space: str) -> str:
    """The stub of a module whose functions are declared by operations."""
    names = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and isinstance(value, (FunctionType, type))
    }
    return HEAD.format(about=about, dots=dots) + classes(names) + "\n" + functions(names, space)


def return_types() -> str:
    """Each named result, as a named tuple."""
    parts = [RESULTS_HEAD]
    for name, kind in sorted(RETURN_TYPES.items()):
        fields = kind.__match_args__
        types = ["Tensor"] * len(fields)
        if name == "histogramdd":
            types[1] = "tuple[Tensor, ...]"
        lines = [f"class {name}(tuple[{', '.join(types)}]):"]
        lines.append("    def __new__(cls, values: Sequence[Any]) -> " + name + ": ...")
        for field, text in zip(fields, types, strict=True):
            lines += ["    @property", f"    def {field}(self) -> {text}: ..."]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def stubs() -> dict[Path, str]:
    """The text of every stub file."""
    return {
        PACKAGE / "__init__.pyi": package(),
        PACKAGE / "_tensor" / "methods.pyi": tensor_methods(),
        PACKAGE / "return_types.pyi": return_types(),
        PACKAGE / "linalg.pyi": namespace(
            "Linear algebra, for type checkers.", ".", linalg, "linalg"
        ),
        PACKAGE / "special.pyi": namespace(
            "Special functions, for type checkers.", ".", special, "special"
        ),
        PACKAGE / "nn" / "functional.pyi": namespace(
            "The functions of neural networks, for type checkers.",
            "..",
            functional,
            "functional",
        ),
    }


def main() -> None:
    for path, text in stubs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
