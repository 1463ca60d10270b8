"""`torch.onnx.export`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..._version import __version__
from ...jit._trace import tracing
from ...nn.modules.module import Module
from ..enums import OperatorExportTypes, TrainingMode
from ..errors import OnnxExporterError, OnnxExporterWarning
from .custom import checked_table
from .dynamic import Symbol, from_axes, from_shapes, sizes_that_run
from .emitting import Emitter
from .errors import refused
from .graph import Graph
from .inputs import Arguments
from .merging import Program, merged
from .modes import select_model_mode_for_export
from .needed import onnx
from .program import ONNXProgram
from .recording import Use
from .running import Runner
from .sizes import Size, of
from .watching import refuse_leaving, warn_leaving

DEFAULT_OPSET, LEAST_OPSET, LAST_OPSET = 20, 18, 23
_IR = 10  # which runtimes of recent years read

TABLE = Mapping[Callable[..., Any], Callable[..., Any]]


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: TABLE | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Any = None,
    training: Any = TrainingMode.EVAL,
    operator_export_type: Any = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Export a model as an ONNX graph, to the file `f` if given.

    The model is run on the example `args` and `kwargs` (and on others like them), and the operations that
    it applies become the graph. What depends on the arguments' sizes is computed in the graph if
    `dynamic_shapes` (or `dynamic_axes`) makes them dynamic; a decision that Python makes from values cannot
    be in a graph and is an error with its line (with `dynamo=False` a `TracerWarning`).

    Returns the `ONNXProgram`, or None with `dynamo=False`, as PyTorch does.
    """
    package = onnx()
    model = getattr(model, "_orig_mod", model)  # of a `torch.compile`d model
    _check_options(
        training, operator_export_type, export_modules_as_functions, profile, dump_exported_program
    )
    args, kwargs = _arguments(model, args, kwargs)
    _check_file(f, dynamo)
    if not dynamo and dynamic_shapes:
        raise ValueError(
            "The exporter only supports dynamic shapes through parameter dynamic_axes when dynamo=False."
        )
    opset = _opset(opset_version)
    table = checked_table(custom_translation_table)
    if dynamo and getattr(model, "training", False):
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may "
            "lead to different behavior during inference. Calling model.eval() before export is recommended.",
            UserWarning,
            stacklevel=warning_level(),
        )
    mode = TrainingMode.PRESERVE if dynamo else training
    with select_model_mode_for_export(model, mode):
        given = Arguments(model, args, kwargs)
        names = _names(input_names, given.names, "input_names")
        symbols = _symbols(dynamic_shapes, dynamic_axes, given, names, output_names, model)
        tracing.depth += not dynamo  # that exporter of PyTorch's traces
        try:
            traced = _traced(model, given, symbols, strict=dynamo, table=table)
        finally:
            tracing.depth -= not dynamo
    program, weights, written = traced
    proto = _written(
        package, program, weights, names, output_names, symbols, given, max(LEAST_OPSET, min(opset, LAST_OPSET)),
        table, custom_opsets,
    )  # fmt: skip
    proto = _converted(package, proto, opset)
    package.checker.check_model(proto, full_check=proto.ByteSize() < 2**30)
    for name, site in written.items():
        warnings.warn(
            f"the model changes its buffer or parameter '{name}' while it runs; an ONNX graph keeps no state, so "
            f"every run begins with the value that was exported{'' if site is None else f' (at {site.place})'}",
            OnnxExporterWarning,
            stacklevel=warning_level(),
        )
    found = ONNXProgram(proto)
    if verify:
        _verify(found, model, given, args, kwargs)
    if verbose:
        print(package.printer.to_text(proto.graph))  # noqa: T201  (that is what `verbose` asks for)
    if report:
        _report(found, os.fspath(artifacts_dir))
    if f is not None:
        found.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data and dynamo and not hasattr(f, "write"),
        )
    return found if dynamo else None


# ---- arguments ---------------------------------------------------------------------------------------


def _check_options(training: Any, kind: Any, as_functions: Any, profile: Any, dump: Any) -> None:
    if not isinstance(training, TrainingMode):
        raise TypeError(
            "training must be a torch.onnx.TrainingMode (EVAL, PRESERVE or TRAINING), but got "
            f"{type(training).__name__}"
        )
    if kind is not OperatorExportTypes.ONNX:
        raise ValueError(f"operator_export_type={kind}: only OperatorExportTypes.ONNX is supported")
    if as_functions:
        raise ValueError(
            "export_modules_as_functions is not supported (PyTorch has removed it, too)"
        )
    if dump:
        raise ValueError("dump_exported_program: there is no torch.export program here to dump")
    if profile:
        raise ValueError("profile is not supported; see torch.profiler for what the model costs")


def _arguments(model: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(model, Module):
        hint = "; wrap a function in a module" if callable(model) else ""
        raise TypeError(f"model must be a torch.nn.Module, but got {type(model).__name__}{hint}")
    if isinstance(args, Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple of example inputs, but got {type(args).__name__}")
    args = tuple(args)
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise TypeError(f"kwargs must be a dict, but got {type(kwargs).__name__}")
    if not kwargs and args and isinstance(args[-1], dict):
        args, kwargs = args[:-1], args[-1]
    return args, dict(kwargs or {})


def _check_file(f: Any, dynamo: bool) -> None:
    if f is None and dynamo:
        return
    if hasattr(f, "write"):
        if dynamo:
            warnings.warn(
                "Saving ONNX model to a BytesIO object is deprecated. Please use a file path instead.",
                DeprecationWarning,
                stacklevel=warning_level(),
            )
        return
    if not isinstance(f, (str, os.PathLike)):
        raise TypeError(f"f must be the path of a file, but got {type(f).__name__}")
    folder = os.path.dirname(os.fspath(f))
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write '{os.fspath(f)}': there is no folder '{folder}'")
    if os.path.isdir(f):
        raise IsADirectoryError(f"cannot write '{os.fspath(f)}': it is a folder")


def _opset(version: Any) -> int:
    if version is None:
        return DEFAULT_OPSET
    if not isinstance(version, int) or isinstance(version, bool) or not 7 <= version <= LAST_OPSET:
        raise ValueError(
            f"Unsupported ONNX opset version: {version!r} (7 to {LAST_OPSET} can be written)"
        )
    return version


def _names(wanted: Any, default: list[str], what: str) -> list[str]:
    if wanted is None:
        return list(default)
    if isinstance(wanted, str) or not all(isinstance(n, str) for n in wanted):
        raise TypeError(f"{what} must be a list of names")
    wanted = list(wanted)
    if len(wanted) > len(default):
        raise RuntimeError(
            f"number of {what.replace('_', ' ')} provided ({len(wanted)}) exceeded number of "
            f"{what.partition('_')[0]}s ({len(default)})"
        )
    named = [*wanted, *default[len(wanted) :]]
    if len(set(named)) != len(named):
        raise ValueError(f"{what}: each name must be there once, but got {named}")
    return named


def _symbols(
    shapes: Any, axes: Any, given: Arguments, names: list[str], outputs: Any, model: Any
) -> list[Symbol]:
    if shapes is not None:
        return from_shapes(shapes, given, model)
    return [] if axes is None else from_axes(axes, given, names, list(outputs or ()))


# ---- running and writing the model ---------------------------------------------------------------------


def _traced(
    model: Any, given: Arguments, symbols: list[Symbol], strict: bool, table: Any
) -> tuple[Program, dict[str, Any], dict[str, Any]]:
    leaves = refuse_leaving if strict else warn_leaving
    runner = Runner(model, given, leaves, turns=strict, custom=table)
    error = runner.unwatched({})  # fills caches that a model fills at its first call
    if error is not None:
        raise error
    if symbols:
        sizes = sizes_that_run(symbols, given, runner.unwatched)
        base = {place: s.base for s in symbols for place in s.places}
        if all(s.base >= 2 for s in symbols):
            sizes = [base, *sizes]
    else:
        sizes = [{}, {}] if strict else [{}]
    runs = [runner.watched(each, turned=i > 0) for i, each in enumerate(sizes)]
    arrays = {name: tensor._data for name, tensor in runner.weights.items()}
    return merged(runs), arrays, runs[0].written


def _written(
    package: Any,
    program: Program,
    weights: dict[str, Any],
    names: list[str],
    output_names: Any,
    symbols: list[Symbol],
    given: Arguments,
    opset: int,
    table: Any,
    custom_opsets: Any,
) -> Any:
    g = Graph(package, opset)
    inputs = {n: names[node.key] for n, node in enumerate(program.nodes) if node.kind == "input"}
    count = len(program.outputs)
    default = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    taken = set(names)
    default = [n if n not in taken else f"{n}_out" for n in default]
    out_names = _names(output_names, default, "output_names")
    g.domains.update(custom_opsets or {})
    emitter = Emitter(g, program, weights, table)
    outputs = list(zip(out_names, program.outputs, strict=True))
    emitter.emit(inputs, outputs)
    labels = _labels(symbols, program)
    make = package.helper.make_tensor_value_info
    ins = [
        make(g_name, g.type(program.nodes[n].dtype), _dims(program.nodes[n].shape, labels))
        for n, g_name in inputs.items()
    ]
    outs = []
    for name, use in outputs:
        if isinstance(use, Use):
            node = program.nodes[use.number]
            outs.append(make(name, g.type(node.dtype), _dims(node.shape, labels)))
        else:
            outs.append(make(name, g.type(np.asarray(use).dtype), []))
    graph = package.helper.make_graph(
        g.nodes, "main_graph", ins, outs, initializer=list(g.initializers.values())
    )
    imports = [package.helper.make_opsetid("", opset)]
    imports += [package.helper.make_opsetid(d, v) for d, v in g.domains.items()]
    return package.helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=_IR,
        producer_name="tautograd",
        producer_version=__version__,
    )


def _labels(symbols: list[Symbol], program: Program) -> dict[Any, str]:
    """The names of dimensions."""
    found: dict[Any, str] = {}
    inputs = [node for node in program.nodes if node.kind == "input"]
    for symbol in symbols:
        for i, axis in symbol.places:
            size = next(n for n in inputs if n.key == i).shape[axis]
            if isinstance(size, Size):
                found.setdefault((i, axis), symbol.name)
                found.setdefault(size.values, symbol.name)
    return found


def _dims(shape: Any, labels: dict[Any, str]) -> list[Any]:
    return [labels.get(n.values) if isinstance(n, Size) else int(n) for n in shape]


def _converted(package: Any, proto: Any, opset: int) -> Any:
    """Convert to an older operator set with onnx's own converter, as PyTorch does."""
    if opset >= LEAST_OPSET:
        return proto
    from onnx import version_converter

    try:
        return version_converter.convert_version(proto, opset)
    except Exception as error:
        warnings.warn(
            f"the model is written for operator set {LEAST_OPSET}, and onnx could not convert it to "
            f"{opset}: {error}",
            OnnxExporterWarning,
            stacklevel=warning_level(),
        )
        return proto


# ---- verify, report ------------------------------------------------------------------------------------


def _verify(program: ONNXProgram, model: Any, given: Arguments, args: Any, kwargs: Any) -> None:
    """Compare the graph's results with the model's on the example."""
    from .inputs import leaves
    from .running import as_it_was, weights_of

    with as_it_was(model, weights_of(model)):
        expected = [t for _, t in leaves(model(*args, **kwargs)) if isinstance(t, Tensor)]
    names = [v.name for v in program.model.graph.input]
    found = program(**dict(zip(names, given.tensors, strict=True)))
    for i, (a, b) in enumerate(zip(found, expected, strict=False)):
        x, y = a.numpy(), b.detach().numpy()
        room = 1e-3 if y.dtype.kind != "f" or y.dtype.itemsize > 2 else 1e-2
        if x.shape != y.shape or not np.allclose(x, y, rtol=room, atol=room, equal_nan=True):
            worst = (
                "shapes differ" if x.shape != y.shape else f"by up to {np.max(np.abs(x - y)):.3g}"
            )
            raise OnnxExporterError(f"verify: the graph's result {i} is not the model's ({worst})")


def _report(program: ONNXProgram, folder: str) -> None:
    """Write a page about the export, as `report=True` requests."""
    from ..._files.atomic import replacing

    graph = program.model.graph
    counts: dict[str, int] = {}
    for node in graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    rows = "\n".join(f"| {k} | {n} |" for k, n in sorted(counts.items()))
    text = (
        f"# ONNX export\n\n```\n{program!r}\n```\n\n| operator | nodes |\n| --- | --- |\n{rows}\n"
    )
    with replacing(os.path.join(folder, "onnx_export_report.md")) as file:
        file.write(text.encode())


__all__ = ["export", "of", "refused"]


speak(globals(), ("export",))
