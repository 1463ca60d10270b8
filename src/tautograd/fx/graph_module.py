"""A module whose `forward` is generated from a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from .._tensor.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .codegen import _PyTreeCodeGen
from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_number = itertools.count()


class _WrappedCall:
    """A graph module's call: an error in its source is shown with the lines around it."""

    def __init__(self, cls: type[GraphModule]) -> None:
        self.cls = cls

    def __call__(self, module: GraphModule, *args: Any, **kwargs: Any) -> Any:
        try:
            return super(self.cls, module).__call__(*args, **kwargs)
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_own(f)]
            if frames and frames[-1].filename.startswith(_PREFIX):
                print(_place(frames[-1]), file=sys.stderr)  # noqa: T201 (where PyTorch prints it)
                raise error.with_traceback(None) from None
            raise


_PREFIX = "<eval_with_key>."


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Whether a line is of this package: what PyTorch does there is no line of Python."""
    return frame.filename.startswith(_PACKAGE) or frame.filename.startswith("<tautograd")


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _place(frame: traceback.FrameSummary) -> str:
    """The lines before and after the one that failed."""
    number = frame.lineno or 0
    lines = [linecache.getline(frame.filename, i) for i in range(1, number + 3)]
    around = "".join(lines[max(number - 3, 0) : number]), "\n".join(lines[number : number + 2])
    return (
        f"Call using an FX-traced Module, line {number} of the traced Module's generated forward "
        f"function:\n{around[0]}\n~~~ <--- HERE\n{around[1]}\n"
    )


class GraphModule(Module):
    """A graph with the submodules and parameters that it names; call `recompile` after a change."""

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """A class of its own for each, since `forward` is a member of the class."""
        for base in cls.__mro__:
            if base.__qualname__.rpartition(".")[2] != "GraphModuleImpl":
                return super().__new__(type("GraphModuleImpl", (base,), {"__module__": __name__}))
        return super().__new__(cls)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        if not isinstance(root, (Module, dict)):
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        if not isinstance(graph, Graph):
            raise TypeError(f"argument 'graph' must be Graph, not {type(graph).__name__}")
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        paths = [str(n.target) for n in graph._nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, dict):
            for node in graph._nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in "
                        "``root``!"
                    )
        for path in sorted(dict.fromkeys(paths), key=lambda path: path.count(".")):
            _copy_attribute(root, self, path)
        self.graph = graph
        self.__dict__["meta"] = {}

    @property
    def graph(self) -> Graph:
        return self.__dict__["_graph"]  # type: ignore[no-any-return]

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        graph.owning_module = self
        self.__dict__["_graph"] = graph
        self.recompile()

    def recompile(self) -> PythonCode:
        """Regenerate `forward` from the graph."""
        codegen = self.graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            info = codegen.pytree_info
            self.__dict__.update(_in_spec=info.in_spec, _out_spec=info.out_spec)
        code = self.graph.python_code("self")
        kind = type(self)
        self.__dict__["_code"] = code.src
        self.__dict__["_lineno_map"] = code._lineno_map
        self.__dict__["_prologue_start"] = code._prologue_start
        kind.forward = _compiled(code.src, code.globals, self.graph)["forward"]
        call = _WrappedCall(kind)

        def __call__(self: GraphModule, *args: Any, **kwargs: Any) -> Any:
            return call(self, *args, **kwargs)

        kind.__call__ = __call__  # type: ignore[method-assign, assignment]
        return code

    @property
    def code(self) -> str:
        """The source of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        found: str = self.__dict__["_code"]
        return found

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, creating empty modules on the way; False if something else is there."""
        *path, last = target.split(".")
        holder: Any = self
        for step in path:
            below = getattr(holder, step, None)
            if below is None:
                below = Module()
                setattr(holder, step, below)
            if not isinstance(below, Module):
                return False
            holder = below
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a module; False if there is none."""
        *path, last = target.split(".")
        holder: Any = self
        for step in path:
            holder = getattr(holder, step, None)
            if not isinstance(holder, Module):
                return False
        if not isinstance(getattr(holder, last, None), Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node calls."""
        used = {str(n.target) for n in self.graph._nodes if n.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            inside = any(
                u == name or u.startswith(f"{name}.") or name.startswith(f"{u}.") for u in used
            )
            if name and not inside:
                self.delete_submodule(name)

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a package: its source, and a file with its state."""
        from .as_folder import write

        write(self, Path(folder), module_name)

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
        colored: bool = False, **options: Any,
    ) -> str:  # fmt: skip
        """The module as source text, with where its nodes were made, and the graphs it calls."""
        code = self.graph.python_code("self", verbose=True).src
        text = f"class {type(self).__name__}(torch.nn.Module):\n{_indented(code.strip())}\n"
        inner = [
            m.print_readable(False, include_stride, include_device, colored)
            for m in self.children()
            if isinstance(m, GraphModule)
        ]
        text = "\n".join([text.rstrip(" "), *(_indented(each) for each in inner)])
        text = "\n".join(line.rstrip() for line in text.split("\n"))
        if print_output:
            print(text)  # noqa: T201 (what it is for)
        return text

    # ---- copies and files ----------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        state = {k: v for k, v in self.__dict__.items() if k not in _OF_GRAPH}
        root = Module()
        root.__dict__.update({k: copy.deepcopy(v, memo) for k, v in state.items() if k != "meta"})
        graph = copy.deepcopy(self.graph, memo)
        GraphModule.__init__(made, root, graph, type(self).__name__)
        # What the graph does not name stays, too: hooks, attributes that a user has set.
        kept = {
            k: v
            for k, v in root.__dict__.items()
            if k not in ("_modules", "_parameters", "_buffers")
        }
        made.__dict__.update(kept)
        for kind in ("_parameters", "_buffers"):
            for name, value in root.__dict__[kind].items():
                made.__dict__[kind].setdefault(name, value)
        made.__dict__["meta"] = {k: copy.deepcopy(v, memo) for k, v in self.meta.items()}
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, type(self).__name__)
        made.__dict__["meta"] = dict(self.meta)
        return made

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in _OF_GRAPH}
        state["_in_spec_of_graph"] = getattr(self.graph._codegen, "pytree_info", None)
        imports = _imports(self.graph.python_code("self").globals)
        return reduce_graph_module, ({**state, "_code": self.code}, imports, type(self).__name__)

    def _replicate_for_data_parallel(self) -> GraphModule:
        made = self.__copy__()
        made.__dict__["_is_replica"] = True
        return made

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Any) -> Any:
        """A context in which this is called for each node whose uses are replaced."""
        hooks = self.__dict__.setdefault("_replace_hooks", [])
        hooks.append(f)
        try:
            yield
        finally:
            hooks.remove(f)

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__repr__()}\n\n{self.code}\n{hint}"


_OF_GRAPH = ("_graph", "_code", "_lineno_map", "_prologue_start")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


def _compiled(source: str, names: dict[str, Any], graph: Graph | None = None) -> dict[str, Any]:
    """The globals of a run of a graph's source, which a traceback shows."""
    traced = graph._traced_place if graph is not None else ""
    name = f"{_PREFIX}{next(_number)}{f' from {traced}' if traced else ''}"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = dict(names)
    exec(compile(source, name, "exec"), namespace)  # the graph's own source
    return namespace


def _imports(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a source with what a pickle can say of each."""
    package = __name__.partition(".")[0]
    return {
        k: v
        for k, v in names.items()
        if getattr(v, "__name__", "") != package and k not in _STANDING
    }


_STANDING = ("inf", "nan", "NoneType", "pytree", "fx_pytree")


def reduce_graph_module(
    body: dict[Any, Any], imports: dict[str, Any], name: str = "GraphModule"
) -> Module:
    """A pickled graph module: its source is traced again."""
    import importlib
    import math

    from ..utils import _pytree as pytree
    from . import _pytree as fx_pytree
    from .tracing import Tracer

    state = dict(body)
    source, info = state.pop("_code"), state.pop("_in_spec_of_graph", None)
    names = {
        "inf": math.inf, "nan": math.nan, "NoneType": type(None), "pytree": pytree, "fx_pytree": fx_pytree,
        "torch": importlib.import_module(__name__.partition(".")[0]), **imports,
    }  # fmt: skip
    forward = _compiled(source, names)["forward"]

    class CodeOnlyModule(Module):
        def __init__(self, state: dict[str, Any]) -> None:
            super().__init__()
            self.__dict__.update(state)

    CodeOnlyModule.forward = forward

    class KeepModules(Tracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    root = CodeOnlyModule(state)
    tracer = KeepModules()
    fixed = None
    if info is not None and info.in_spec is not None:
        fixed = _placeholders(info)
    graph = tracer.trace(root, fixed)
    if info is not None:
        graph._codegen = _PyTreeCodeGen(info)
    made = GraphModule(root, graph, name)
    kept = {k: v for k, v in state.items() if k not in ("_modules", "_parameters", "_buffers")}
    made.__dict__.update(kept)
    for kind in ("_parameters", "_buffers", "_modules"):
        for key, value in state[kind].items():
            made.__dict__[kind].setdefault(key, value)
    return made


def _placeholders(info: Any) -> dict[str, Any]:
    """The nested arguments of a traced function, a placeholder at each leaf."""
    from .placeholders import PH

    names = [n.partition(":")[0].partition("=")[0].strip() for n in info.orig_args if n != "self"]
    children = info.in_spec.children()
    children = children[len(children) - len(names) :]
    return {
        name: spec.unflatten([PH] * spec.num_leaves)
        for name, spec in zip(names, children, strict=True)
        if not spec.is_leaf()
    }


def _copy_attribute(source: Any, target: Module, path: str) -> None:
    """Put what a root has at a path at the same path of a module; a plain tensor becomes a buffer."""
    *steps, last = path.split(".")
    given = isinstance(source, dict)
    value, holder = source[path] if given else source, target
    for step in steps:
        below = getattr(holder, step, None)
        if not given:
            value = getattr(value, step)
            if value is below:
                return  # with all that is in it
        if below is None:
            below = Module()
            setattr(holder, step, below)
        holder = below
    if not given:
        value = getattr(value, last)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)
