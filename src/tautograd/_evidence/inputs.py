"""Where the inputs of a verification come from, and how they are recorded.

In order of precedence: the command line (shapes, a function, a file), `<name>_inputs` beside the
function, its attribute `inputs`, or `Annotated[Tensor, "3x4"]` in its signature.
"""

from __future__ import annotations

import inspect
import os
import re
import typing
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tautograd._evidence.canonical import sha256_of_file
from tautograd._evidence.refusals import CannotRun, shown
from tautograd._evidence.sources import code_of, file_of, project_root, relative
from tautograd._evidence.targets import Target, find, load_module
from tautograd._files.numpy_arrays import read_arrays
from tautograd._verify.subject.engines import is_module, is_tensor

_ITEM = re.compile(
    r"(?:(?P<shape>scalar|[0-9]+(?:x[0-9]+)*))(?::(?P<dtype>[a-z]\w*))?(?:<(?P<below>[0-9]+))?"
)
_NUMBER = re.compile(r"=(?P<value>[^,]+)")
LARGEST_FILE = 2**32
"""Maximum bytes of data in an input file, unpacked."""
_MOST_DIMENSIONS = 64
_MOST_DIGITS = 18  # of a size: 64 bits hold all of these
GRAMMAR = (
    "shapes are written '3x4:float64,5': sizes joined by x (or 'scalar'), then ':dtype', then for "
    "integers '<limit'; '=2.5' is a plain number; 'x=3x4' goes by keyword"
)


@dataclass
class Inputs:
    """The arguments of a call, and their origin."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    definition: dict[str, Any] = field(default_factory=lambda: {"kind": "given"})


# ---- shapes --------------------------------------------------------------------------------------


def from_shapes(text: str, engine: Any, seed: int, dtype: Any = None) -> Inputs:
    """Inputs drawn from the normal distribution (integers: uniformly), in the shapes given."""
    engine.manual_seed(seed)
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise CannotRun(f"--inputs is empty; {GRAMMAR}")
    values: list[Any] = []
    named: dict[str, Any] = {}
    for item in items:
        name, rest = _named(item)
        if name in named:
            raise CannotRun(f"--inputs: '{name}' is given twice")
        if not name and named:
            raise CannotRun(f"--inputs: '{shown(item)}' has no name, and stands after one that has")
        made = _one(rest, engine, dtype)
        if name:
            named[name] = made
        else:
            values.append(made)
    usual = str(dtype).rpartition(".")[2] if dtype is not None else "float64"
    definition = {"kind": "shapes", "text": ",".join(items), "default_dtype": usual, "seed": seed}
    return Inputs(tuple(values), named, definition)


def _named(item: str) -> tuple[str, str]:
    """The name and the rest of 'mask=3:bool' (a number by name: 'n==2'); otherwise no name."""
    name, _, rest = item.partition("=")
    return (name, rest) if rest and name.isidentifier() else ("", item)


@dataclass(frozen=True)
class Drawn:
    """A tensor specified by `--inputs`."""

    shape: list[int]
    dtype: str | None
    below: int | None


def item_in(item: str) -> Any:
    """One item of `--inputs`: a tensor to draw, or a plain number."""
    number = _NUMBER.fullmatch(item)
    if number:
        return _number(number["value"])
    match = _ITEM.fullmatch(item)
    if match is None:
        raise CannotRun(f"--inputs: '{shown(item)}' is not a shape; {GRAMMAR}")
    sizes = [] if match["shape"] == "scalar" else match["shape"].split("x")
    if any(len(size) > _MOST_DIGITS for size in (*sizes, match["below"] or "")):
        raise CannotRun(f"--inputs: a number in '{item[:40]}' is beyond the range of 64 bits")
    if len(sizes) > _MOST_DIMENSIONS:
        raise CannotRun(
            f"--inputs: '{item[:40]}...' has {len(sizes)} dimensions, more than any tensor"
        )
    below = int(match["below"]) if match["below"] else None
    return Drawn([int(size) for size in sizes], match["dtype"], below)


def items_in(text: str) -> list[Any]:
    """The items that a text for `--inputs` specifies."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise CannotRun(f"--inputs is empty; {GRAMMAR}")
    return [item_in(_named(item)[1]) for item in items]


def _one(item: str, engine: Any, default: Any) -> Any:
    asked = item_in(item)
    if not isinstance(asked, Drawn):
        return asked
    dtype = default or engine.float64
    if asked.dtype:
        dtype = getattr(engine, asked.dtype, None)
        if not isinstance(dtype, engine.dtype):
            raise CannotRun(f"--inputs: '{asked.dtype}' in '{item}' is not a dtype")
    if dtype.is_floating_point or dtype.is_complex:
        if asked.below is not None:
            raise CannotRun(f"--inputs: '<{asked.below}' in '{item}' is for integer dtypes")
        # Drawn in double and rounded, so that every dtype starts from the same numbers.
        wide = engine.complex128 if dtype.is_complex else engine.float64
        return engine.randn(asked.shape, dtype=wide).to(dtype).requires_grad_()
    return engine.randint(0, asked.below or 2, asked.shape).to(dtype)


def _number(text: str) -> Any:
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    if text in ("True", "False"):
        return text == "True"
    raise CannotRun(f"--inputs: '={shown(text)}' is not a number")


# ---- a function, a file --------------------------------------------------------------------------


def from_function(text: str, engine: Any, seed: int) -> Inputs:
    """Inputs made by a function of the user's."""
    target = Target.parse(text)
    if not target.name:
        raise CannotRun(f"--inputs-from '{text}' names no function; write 'pkg.mod:make_inputs'")
    maker = find(load_module(target), target.name)
    return from_maker(maker, text, engine, seed)


def from_maker(maker: Any, name: str, engine: Any, seed: int) -> Inputs:
    """Inputs from a function without arguments, or from a plain value."""
    if callable(maker) and not is_tensor(maker):
        if engine is not None:
            engine.manual_seed(seed)
        try:
            made = maker()
        except TypeError as error:
            if "argument" in str(error):
                raise CannotRun(
                    f"'{name}' must make the inputs without arguments: {error}"
                ) from None
            raise
        file = file_of(maker)
        files = code_of(file, project_root(file)) if file else []
        path = relative(file, project_root(file)) if file else None
        definition = {
            "kind": "function",
            "target": name,
            "file": path,
            "files": files,
            "seed": seed,
        }
    else:
        made, definition = maker, {"kind": "attribute", "target": name}
    args, kwargs = arguments_in(made)
    return Inputs(args, kwargs, definition)


def arguments_in(made: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments from the value returned for them.

    A tuple or list holds them in order, a dictionary by name, `(tuple, dict)` both; anything else
    is the only argument.
    """
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], (tuple, list)):
        args, kwargs = made
        if isinstance(kwargs, dict) and all(isinstance(key, str) for key in kwargs):
            return tuple(args), dict(kwargs)
    if isinstance(made, dict) and all(isinstance(key, str) for key in made):
        return (), dict(made)
    if isinstance(made, (tuple, list)):
        return tuple(made), {}
    return (made,), {}


def from_file(path: str, engine: Any) -> Inputs:
    """Inputs from a `.npy` or `.npz` file, in its order; nothing in it is executed."""
    try:
        values = [_as_input(array, engine) for array in read_arrays(path, LARGEST_FILE)]
    except FileNotFoundError:
        raise CannotRun(f"--inputs-file: there is no file '{path}'") from None
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise CannotRun(f"--inputs-file: '{path}' is no .npy or .npz file: {error}") from None
    definition = {"kind": "file", "path": recorded_path(path), "sha256": sha256_of_file(path)}
    return Inputs(tuple(values), definition=definition)


def _as_input(array: Any, engine: Any) -> Any:
    tensor = engine.tensor(array)
    return tensor.requires_grad_() if array.dtype.kind in "fc" else tensor


def recorded_path(path: str) -> str:
    """A file's path as recorded in evidence: relative to its project, if it is in one."""
    return relative(path, project_root(os.getcwd()))


# ---- known beside the function -------------------------------------------------------------------


def companion(module: ModuleType, name: str, subject: Any) -> tuple[str, Any] | None:
    """The inputs that a module defines for one of its functions: their name and value."""
    for candidate in (f"{name}_inputs", f"{name.lower()}_inputs"):
        if candidate in vars(module):  # actual definitions only, nothing from a `__getattr__`
            return candidate, vars(module)[candidate]
    marked = inspect.getattr_static(subject, "inputs", None)
    if marked is not None:
        # For a class, a static method or a tuple: a bound method would need an instance.
        value = getattr(marked, "__func__", marked) if isinstance(marked, staticmethod) else marked
        return f"{name}.inputs", value
    return None


def annotated(subject: Any) -> str | None:
    """The shapes annotated in a signature, in the syntax of `--inputs`."""
    function = type(subject).forward if is_module(subject) else subject
    if inspect.isclass(subject):
        function = getattr(subject, "forward", subject)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError, NameError, AttributeError):
        return None
    found = []
    for name, parameter in parameters.items():
        if name == "self":
            continue
        texts = [m for m in getattr(hints.get(name), "__metadata__", ()) if isinstance(m, str)]
        if texts:
            found.append(texts[0])
        elif parameter.default is inspect.Parameter.empty:
            return None
        else:
            break
    return ",".join(found) or None
