"""What a tracer can be asked for, and what a graph then is: as text, as a copy, cut up, run; on both engines."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tests.both import same


def _outcome(call: Any) -> Any:
    """What a call says, or the class and first line of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


def _model(torch: Any) -> Any:
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.w = torch.nn.Parameter(torch.arange(9.0).view(3, 3))
            self.lin = torch.nn.Linear(3, 3)
            self.register_buffer("b", torch.ones(3))

        def forward(self, x, y=2, *, z=None):
            first, second = x
            t = self.lin(first) * self.w.t() + self.b
            return [t, second.sum(dim=-1)[..., 1:, None], getattr(x, "shape", None)]

    return Model()


@same
def test_parameters_are_nodes_whatever_is_done_with_them(torch: Any) -> Any:
    class Transposed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.arange(6.0).view(2, 3))

        def forward(self, x):
            return x @ self.w.t()

    traced = torch.fx.symbolic_trace(Transposed())
    traced(torch.ones(1, 3)).sum().backward()
    return traced.code, traced.w.grad


@same
def test_unpacking_annotations_and_tables(torch: Any) -> Any:
    def function(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        a, b = x
        return a * n + b

    function.__annotations__ = {"x": torch.Tensor, "n": int, "return": torch.Tensor}
    traced = torch.fx.symbolic_trace(function)
    found = torch.fx.symbolic_trace(_model(torch))
    return (
        traced.code, str(traced.graph), traced(torch.ones(2, 3)), traced.print_readable(False),
        found.code, str(found.graph), [n.format_node() for n in found.graph.nodes],
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Was not able to add assertion")
@same
def test_arguments_that_a_trace_is_specialized_to(torch: Any) -> Any:
    PH = torch.fx.PH

    def function(x, d, scale):
        return torch.relu(d["a"] + x) * scale, {"k": d["b"][0]}

    def optional(x, mode):
        return x if mode is None else x + mode

    fixed = {"d": {"a": PH, "b": (PH, 3)}, "scale": 2.5}
    traced = torch.fx.symbolic_trace(function, concrete_args=fixed)
    none = torch.fx.symbolic_trace(optional, concrete_args={"mode": None})
    one = torch.ones(2)
    given = {"a": one, "b": (one, 3)}
    again = pickle.loads(pickle.dumps(traced))
    bare = torch.fx.GraphModule({}, copy.deepcopy(traced.graph))
    bare.graph.set_codegen(torch.fx.CodeGen())
    bare.recompile()
    flat = traced.graph.process_inputs(one, given, 2.5)
    return (
        traced.code, traced(one, given, 2.5), again(one, given, 2.5), none.code, none(one, None),
        traced.graph.process_outputs(bare(*flat)),
        _outcome(lambda: traced(one, given, 3.5)), _outcome(lambda: none(one, 1)),
        _outcome(lambda: traced(one, {"a": one, "b": (one, 4)}, 2.5)),
        torch.fx.symbolic_trace(function, concrete_args=(PH, given, 2.0)).code.count("_assert"),
        _outcome(lambda: torch.fx.symbolic_trace(function, concrete_args=(PH,))),
    )  # fmt: skip


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Record:
    number: int
    value: Any


@same
def test_what_comes_out_in_containers(torch: Any) -> Any:
    traced = [torch.fx.symbolic_trace(f) for f in (
        lambda x: Pair(x, x + 1),
        lambda x: Record(1, x),
        lambda x: {"a": [x, (x,)], "b": x[1 : x.shape[0]]},
        lambda x: x.to(memory_format=torch.contiguous_format, dtype=torch.int8),
    )]  # fmt: skip
    results = [t(torch.ones(3)) for t in traced]
    kinds = [type(r).__name__ for r in results]
    return (
        [t.code for t in traced],
        kinds,
        results[0][1],
        results[1].value,
        results[2]["b"],
        results[3],
    )


def doubled(x):
    return int(x) * 2


@same
def test_functions_that_stay_calls(torch: Any) -> Any:
    tracer = torch.fx.Tracer(autowrap_functions=(doubled,))
    graph = tracer.trace(lambda x: doubled(x.shape[0] / 2))
    module = torch.fx.GraphModule(tracer.root, graph)
    root = torch.fx.symbolic_trace(lambda x: math.sqrt(x) + math.pi)
    assert math.sqrt(4.0) == 2.0
    again = torch.fx.symbolic_trace(root)
    return module(torch.ones(4)), root.code, root(9.0), again.code, again(9.0)


@same
def test_arguments_of_nodes_do_not_change(torch: Any) -> Any:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],), {"dim": 0})
    spec = torch.utils._pytree.tree_flatten(node.args)[0]
    return (
        [type(node.args[0]).__name__, type(node.kwargs).__name__], len(spec),
        _outcome(lambda: node.args[0].append(x)), _outcome(lambda: node.kwargs.update(dim=1)),
        _outcome(lambda: node.args[0].__setitem__(0, x)), hash(node.args[0]) == hash(node.args[0]),
    )  # fmt: skip


@same
def test_what_is_refused(torch: Any) -> Any:
    fx = torch.fx
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.relu, (x,)))

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [torch.nn.Linear(2, 2)]

        def forward(self, x):
            return self.layers[0](x)

    parameter = torch.nn.Parameter(torch.ones(2))

    def branches(x):
        return x if x.sum() > 0 else -x

    return [_outcome(call) for call in (
        lambda: fx.symbolic_trace(branches),
        lambda: fx.symbolic_trace(lambda x: [i + 1 for i in x]),
        lambda: fx.symbolic_trace(lambda x: torch.add(**x)),
        lambda: fx.symbolic_trace(lambda x: torch.relu({x: 1}["a"])),
        lambda: fx.symbolic_trace(lambda x: len(x) + 1),
        lambda: fx.symbolic_trace(Hidden()),
        lambda: fx.symbolic_trace(lambda x: x + parameter),
        lambda: fx.symbolic_trace(5),
        lambda: graph.erase_node(x),
        lambda: graph.find_nodes(op="call_function"),
        lambda: graph.create_node("call_function", torch.relu, args=[1]),
        lambda: graph.create_node("call_function", "relu"),
        lambda: graph.create_node("nothing", "relu"),
        lambda: fx.GraphModule({}, fx.symbolic_trace(_model(torch)).graph),
        lambda: fx.Interpreter(fx.GraphModule({}, graph)).run(),
        lambda: fx.Interpreter(fx.GraphModule({}, graph)).boxed_run([1, 2]),
    )]  # fmt: skip


@same
def test_source_that_a_user_changes(torch: Any) -> Any:
    class OfList(torch.fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            names = ", ".join(free_vars)
            return f"def forward(self, given: List){maybe_return_annotation}:\n    {names} = given"

        def additional_globals(self):
            return [("List", list)]

        def process_inputs(self, *inputs):
            return inputs[0]

        def generate_output(self, output_args):
            return f"return list({output_args!r})"

        def process_outputs(self, outputs):
            return list(outputs)

    def function(a, b):
        a = a + b
        return a, a * b

    traced = torch.fx.symbolic_trace(function)
    with traced.graph.on_generate_code(lambda before: lambda lines: ["seen.append(1)\n", *lines]):
        changed = traced.graph.python_code("self").src
    traced.graph.set_codegen(OfList())
    traced.recompile()
    given = [torch.ones(2), torch.full((2,), 3.0)]
    transformed = torch.fx.Transformer(traced).transform()
    ran = torch.fx.Interpreter(traced).run(given)
    return changed, traced.code, traced(given), ran, transformed(given)


@same
def test_copies_keep_what_the_graph_does_not_name(torch: Any) -> Any:
    traced = torch.fx.symbolic_trace(_model(torch))
    traced.meta["itself"] = traced
    copied = copy.deepcopy(traced)
    plain = torch.fx.GraphModule(traced, traced.graph)
    pickled = pickle.loads(pickle.dumps(torch.fx.symbolic_trace(_model(torch))))
    return (
        copied.meta["itself"] is copied, copied.w is traced.w, copied.code == traced.code,
        "itself" in plain.meta, pickled.code, sorted(pickled.state_dict()),
    )  # fmt: skip


@same
def test_nodes_know_where_they_come_from(torch: Any) -> Any:
    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))

        def forward(self, x):
            return self.inner(x) + 1

    tracer = torch.fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Outer())
    traced = torch.fx.GraphModule(tracer.root, graph)
    new = torch.fx.Transformer(traced).transform()
    stacks = [
        {k: v[1].__name__ for k, v in n.meta.get("nn_module_stack", {}).items()}
        for n in new.graph.nodes
    ]
    lines = [bool(n.stack_trace and "test_tracers.py" in n.stack_trace) for n in new.graph.nodes]
    return stacks, lines[1:-1], sorted(tracer.node_name_to_scope)


@same
def test_an_error_shows_the_generated_line(torch: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + x.nothing)
    with pytest.raises(AttributeError):
        traced(torch.ones(1))
    said = capsys.readouterr().err
    return "line 6 of the traced Module's generated forward function:" in said


@same
def test_shapes_are_propagated(torch: Any) -> Any:
    from importlib import import_module

    shapes = import_module(f"{torch.__name__}.fx.passes.shape_prop")
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    traced = torch.fx.symbolic_trace(module)
    image = torch.ones(2, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    shapes.ShapeProp(traced).propagate(image)
    found = [n.meta["tensor_meta"] for n in traced.graph.nodes]
    split = torch.fx.symbolic_trace(lambda x: x.split([1, 2]))
    shapes.ShapeProp(split).propagate(torch.ones(3, 2))
    return (
        [(tuple(m.shape), str(m.dtype), m.requires_grad) for m in found],
        [str(m.memory_format) for m in found[:1]],
        [tuple(m.shape) for m in next(iter(split.graph.nodes)).next.meta["tensor_meta"]],
        _outcome(lambda: shapes.ShapeProp(traced).propagate(torch.ones(2)))[0],
    )  # fmt: skip


@same
def test_a_graph_cut_into_parts(torch: Any) -> Any:
    from importlib import import_module

    cut = import_module(f"{torch.__name__}.fx.passes.split_module").split_module
    traced = torch.fx.symbolic_trace(_chain(torch))
    parts = iter([0, 0, 1, 1, 2])
    split = cut(traced, traced, lambda node: next(parts))
    x = torch.arange(6.0).view(2, 3)
    return (
        [n.name for n in split.graph.nodes], [name for name, _ in split.named_children()],
        split.submod_0.code, torch.equal(split(x), traced(x)),
    )  # fmt: skip


def _chain(torch: Any) -> Any:
    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.lin = torch.nn.Linear(3, 3)
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            a = self.lin(x)
            b = a + self.w
            c = torch.relu(b) * a
            return c.sum(-1)

    return Chain()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own import
@same
def test_batch_norm_folded_and_dropout_removed(torch: Any) -> Any:
    from importlib import import_module

    passes = import_module(f"{torch.__name__}.fx.experimental.optimization")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 2), torch.nn.BatchNorm2d(2), torch.nn.Dropout(), torch.nn.Flatten(),
        torch.nn.Linear(8, 3), torch.nn.BatchNorm1d(3),
    )  # fmt: skip
    model(torch.randn(4, 1, 3, 3))
    model.eval()
    fused = passes.remove_dropout(passes.fuse(model))
    x = torch.randn(2, 1, 3, 3)
    return [str(n.target) for n in fused.graph.nodes], torch.allclose(fused(x), model(x), atol=1e-5)


@same
def test_assertions_kept_in_a_trace(torch: Any) -> Any:
    def checked(x):
        torch._assert(x.shape[0] > 1, "too short")
        return x + 1

    traced = torch.fx.symbolic_trace(checked)
    return traced.code, traced(torch.ones(2)), _outcome(lambda: traced(torch.ones(1)))


@same
def test_rewritten_assertions(torch: Any) -> Any:
    from importlib import import_module

    rewriter = import_module(f"{torch.__name__}.fx.experimental.rewriter")

    class Checked(torch.nn.Module):
        def forward(self, x):
            assert x.shape[0] > 1, "too short"
            return x + 1

    Checked.forward.__globals__.setdefault("torch", torch)
    tracer = rewriter.RewritingTracer()
    graph = tracer.trace(Checked())
    traced = torch.fx.GraphModule(tracer.root, graph)
    return traced(torch.ones(2)), _outcome(lambda: traced(torch.ones(1)))


@same
def test_changes_are_refused_where_a_tracer_says_so(torch: Any) -> Any:
    class Strict(torch.fx.Tracer):
        check_mutable_operations = True

    def function(x):
        y = torch.rand_like(x)
        torch.sigmoid(x, out=y)
        return y

    kind, said = _outcome(lambda: Strict().trace(function))
    return kind, "Tried to trace mutable operation aten::sigmoid.out" in said


@same
def test_a_package_of_source(torch: Any, tmp_path: Any) -> Any:
    traced = torch.fx.symbolic_trace(_chain(torch))
    folder = tmp_path / f"of_{torch.__name__}"
    traced.to_folder(folder, "Chain")
    text = (folder / "module.py").read_text()
    return sorted(p.name for p in folder.iterdir()), "class Chain(torch.nn.Module):" in text


@same
def test_a_class_whose_instances_are_made_of_proxies(torch: Any) -> Any:
    class Both(metaclass=torch.fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def add(self, other):
            return Both(self.left + other.left, self.right + other.right)

    def function(x, y):
        return x.add(Both(y, y))

    found = torch.fx.symbolic_trace(function)(Both(torch.ones(1), torch.zeros(1)), torch.ones(1))
    return found.left, found.right


@same
def test_dead_calls_that_draw_or_write_stay(torch: Any) -> Any:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    for function in (torch.relu, torch.rand_like, operator.iadd, torch._assert):
        graph.call_function(function, (x,) if function in (torch.relu, torch.rand_like) else (x, 1))
    graph.output(x)
    graph.eliminate_dead_code()
    return [n.name for n in graph.nodes]


def test_two_texts_compared() -> None:
    """`FileCheck` accepts and refuses what PyTorch's does."""
    import torch

    import tautograd

    text = "one two\nthree two four\nfive\n"
    for build in (
        lambda c: c.check("one").check("three").check_next("five"),
        lambda c: c.check("three").check("one"),
        lambda c: c.check("one").check_same("two").check_not("three").check("five"),
        lambda c: c.check_count("two", 2, exactly=True),
        lambda c: c.check_count("two", 1, exactly=True),
        lambda c: c.check_not("six"),
        lambda c: c.check_not("five"),
        lambda c: c.check_regex("t.o f"),
        lambda c: c.check("one").check_next("two"),
        lambda c: c.check("three").check_same("five"),
    ):
        outcomes = []
        for engine in (torch, tautograd):
            try:
                build(engine.testing.FileCheck()).run(text)
                outcomes.append(None)
            except RuntimeError as error:
                outcomes.append(str(error).partition(" but ")[0].partition('" to not')[0][:20])
        assert outcomes[0] == outcomes[1], (outcomes, build)
