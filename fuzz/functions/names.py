"""Every public function that tautograd shares with PyTorch, and PyTorch's declarations of its parameters.

Nothing is listed by hand except what must not be called at random: what starts processes, changes
process-wide settings, or waits for something.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from typing import Any

NOT_MODULES = re.compile(
    r"\.(_|cuda|cpu|accelerator|backends|serialization|safetensors|evidence|version|overrides"
    r"|return_types|amp|random|nn\.modules|nn\.parameter|nn\.utils\.(?!rnn|parametr)"
    r"|optim\.(?!lr_scheduler|swa)|autograd\.(?!functional)|utils\.(tensorboard|hooks|checkpoint)"
    r"|utils\.data\.|utils\.collect_env|compiler|hub|multiprocessing|distributed(\.|$)|utils\.flop_counter"
    r"|distributions\.|fx\.|jit\.|profiler\.|testing\.)"
)
NOT_NAMES = re.compile(
    r"^(_|set_|compile$|save$|load$|fork_rng|verify|doctor|explain|compare_devices|check_grad"
    r"|seed$|initial_seed|autocast|clear_autocast|is_autocast|get_autocast|inference_mode|enable_grad"
    r"|no_grad|set_grad|manual_seed|use_deterministic|prepare_multiprocessing|get_rng_state|cuda$"
    r"|pin_memory|share_memory|is_shared|storage|untyped_storage|get_worker_info|detect_anomaly"
    r"|DataParallel|Distributed|Module$|ModuleList|ModuleDict|Optimizer$|register_module|Function$"
    r"|Buffer$|Timer$|timer$|enable_onednn_fusion|optimized_execution|fuser$|wait$|kernel_choice"
    r"|load_library|tensorboard_trace_handler|Distribution$|ExponentialFamily$|ScriptModule"
    r"|CompilationUnit|Future$|Attribute$|ExecutionTrace|strict_fusion|TracedModule|script_method|wrap$|has_side_effect)"
)
NOT_PARAMETERS = {"num_workers", "multiprocessing_context", "pin_memory", "persistent_workers",
                  "prefetch_factor", "timeout", "in_order", "pin_memory_device"}  # fmt: skip
DUNDERS = re.compile(
    r"__(r|i)?(add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)__"
    r"|__(eq|ne|lt|le|gt|ge|getitem|setitem|invert|neg|pos|abs|bool|int|float|complex|index|len|iter"
    r"|contains|reversed|repr|format|array|round)__"
)


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, and its type as PyTorch declares it ("" if it does not)."""

    name: str
    type: str
    required: bool
    keyword: bool = False


@dataclass(frozen=True)
class Public:
    """A public function, method or class; `overloads` are its parameter lists, as PyTorch declares them."""

    name: str
    overloads: tuple[tuple[Parameter, ...], ...]
    is_class: bool


@functools.cache
def public_functions() -> tuple[Public, ...]:
    """All of them, ordered by name."""
    found: dict[str, Public] = {}
    ours, theirs = importlib.import_module("tautograd"), importlib.import_module("torch")
    importlib.import_module("tautograd.nn")
    for path in _modules(ours):
        try:
            there = importlib.import_module("torch" + path)
        except ImportError:
            continue
        here = importlib.import_module("tautograd" + path)
        names = getattr(here, "__all__", None) or dir(here)
        extra = (
            importlib.import_module("tautograd._ops.declare.public").FUNCTIONS if not path else ()
        )
        for name in {*names, *extra}:
            _add(
                found, f"torch{path}.{name}", getattr(here, name, None), getattr(there, name, None)
            )
    for name in dir(ours.Tensor):
        if hasattr(theirs.Tensor, name) and (not name.startswith("_") or DUNDERS.fullmatch(name)):
            _add(
                found,
                f"torch.Tensor.{name}",
                getattr(ours.Tensor, name),
                getattr(theirs.Tensor, name),
            )
    for name, lists in _schemas().items():  # by their operators, which check their own types
        written = inspect.isfunction(getattr(theirs, name, None))  # differs from its operator
        if not written and not NOT_NAMES.search(name) and hasattr(ours.ops.aten, name):
            found[f"torch.ops.aten.{name}"] = Public(f"torch.ops.aten.{name}", lists, False)
    return tuple(found[name] for name in sorted(found))


def _modules(package: Any) -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(package.__path__, "tautograd.")]
    paths = ["", *(name.removeprefix("tautograd") for name in names)]
    return [path for path in paths if not NOT_MODULES.match(path)]


def _add(found: dict[str, Public], name: str, ours: Any, theirs: Any) -> None:
    path, _, last = name.rpartition(".")
    dunder = path == "torch.Tensor" and DUNDERS.fullmatch(last)
    if (NOT_NAMES.search(last) and not dunder) or not callable(ours) or not callable(theirs):
        return
    if str(getattr(ours, "__module__", "")).startswith(
        ("tautograd._view", "tautograd._verify", "typing")
    ):
        return
    is_class = isinstance(theirs, type)
    if is_class and not (path.startswith(_WITH_CLASSES) or last in _CLASSES):
        return
    if isinstance(ours, enum.EnumType) or (is_class and issubclass(theirs, (BaseException, tuple))):
        return
    found[name] = Public(name, parameters_of(name, theirs, ours), is_class)


_WITH_CLASSES = ("torch.nn", "torch.optim", "torch.utils", "torch.distributions", "torch.fx")
_CLASSES = ("Generator", "Size", "device", "finfo", "iinfo", "UntypedStorage", "TypedStorage")


# ---- parameters ----------------------------------------------------------------------------------


def parameters_of(name: str, theirs: Any, ours: Any) -> tuple[tuple[Parameter, ...], ...]:
    """PyTorch's parameter lists of a function: its operators' schemas, or Python's signature."""
    path, _, last = name.rpartition(".")
    method = path == "torch.Tensor"
    if isinstance(theirs, type) or inspect.isfunction(theirs):
        said = _from_python(
            theirs.__init__ if isinstance(theirs, type) else theirs, isinstance(theirs, type)
        )
        if said:
            return (said,)
    prefix = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}.get(
        path, ""
    )
    lists = _schemas().get(prefix + last, ())
    if lists:
        if not method:
            return lists
        mine = tuple(ps for ps in lists if ps and ps[0].name in ("self", "input"))
        if mine:
            return mine
    said = _from_python(ours.__init__ if isinstance(ours, type) else ours, isinstance(ours, type))
    return (said,) if said else ((Parameter("input", "Tensor", True),),)


def _from_python(function: Any, bound: bool) -> tuple[Parameter, ...]:
    try:
        given = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    except (ValueError, TypeError):
        return ()
    found = []
    for p in given:
        if p.kind == p.VAR_KEYWORD:
            continue
        text = "" if p.annotation is p.empty else str(p.annotation)
        if isinstance(p.annotation, type):
            text = p.annotation.__name__
        found.append(Parameter(p.name, text, p.default is p.empty, p.kind == p.KEYWORD_ONLY))
    return tuple(found)


@functools.cache
def _schemas() -> dict[str, tuple[tuple[Parameter, ...], ...]]:
    import torch

    found: dict[str, list[tuple[Parameter, ...]]] = {}
    operators = set(torch._C._dispatch_get_all_op_names())  # the others exist only in TorchScript
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
        if not schema.name.startswith("aten::") or name not in operators:
            continue
        arguments = tuple(
            Parameter(
                "input" if a.name == "self" else a.name,
                _typed(str(a.type), a),
                not a.has_default_value() and a.name != "out",
                a.kwarg_only,
            )
            for a in schema.arguments
        )
        if not any(
            "Dimname" in str(a.type) or (str(a.type) == "str" and a.name == "dim")
            for a in schema.arguments
        ):
            found.setdefault(schema.name.removeprefix("aten::"), []).append(arguments)
    return {name: tuple(lists) for name, lists in found.items()}


def _typed(text: str, argument: Any) -> str:
    # In schemas, a dtype, a layout and a memory format are integers; their names tell which.
    if argument.name in ("dtype", "layout", "memory_format", "dtype_out"):
        return argument.name
    return text
