"""`torch.fx`: a trace computes what the module does; graphs can be changed and run node by node."""

import copy

import pytest

from tests.both import same


def network(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 4)
            self.scale = torch.nn.Parameter(torch.full((4,), 2.0))
            self.more = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 4))

        def forward(self, x, times=2):
            y = torch.relu(self.layer(x)) * self.scale + times
            y = torch.nn.functional.softmax(self.more(y), dim=-1)
            return torch.cat([y, -y], dim=1).view(2, -1)[:, 1:], y.shape[0]

    torch.manual_seed(0)
    return Net()


def modules(torch):
    import importlib

    return importlib.import_module(f"{torch.__name__}.fx")


@same
def test_a_trace_computes_what_the_module_does(torch):
    fx, net = modules(torch), network(torch)
    traced = fx.symbolic_trace(net)
    traced.graph.lint()
    x = torch.ones(2, 3)
    again = copy.deepcopy(traced)
    kinds = [node.op for node in traced.graph.nodes]
    return traced(x), fx.Interpreter(traced).run(x), again(x), traced(x, 3), kinds


@same
def test_a_function_in_a_graph_is_replaced(torch):
    fx, net = modules(torch), network(torch)
    traced = fx.symbolic_trace(net)
    for node in list(traced.graph.nodes):
        if node.op == "call_function" and node.target is torch.relu:
            with traced.graph.inserting_after(node):
                other = traced.graph.call_function(torch.tanh, node.args)
            node.replace_all_uses_with(other)
            other.args = node.args
            traced.graph.erase_node(node)
    traced.recompile()
    with pytest.raises(RuntimeError, match="still had"):
        traced.graph.erase_node(next(iter(traced.graph.nodes)))
    assert "relu(" not in traced.code
    return traced(torch.ones(2, 3))


@same
def test_dead_code_goes_and_gradients_flow(torch):
    fx = modules(torch)

    def compute(x):
        x.exp()
        return (x * x).sum()

    traced = fx.symbolic_trace(compute)
    before = len(traced.graph.nodes)
    traced.graph.eliminate_dead_code()
    traced.recompile()
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    traced(x).backward()
    return before - len(traced.graph.nodes), x.grad


@same
def test_a_decision_on_a_value_cannot_be_traced(torch):
    fx = modules(torch)
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)


@same
def test_names_are_as_they_were_after_a_trace(torch):
    fx = modules(torch)
    before = torch.relu, torch.nn.functional.relu, torch.nn.Module.__call__
    fx.symbolic_trace(network(torch))
    assert before == (torch.relu, torch.nn.functional.relu, torch.nn.Module.__call__)


SOURCES = {
    "functions by their names": lambda torch: lambda x: torch.softmax(torch.relu(x), dim=-1),
    "dtypes": lambda torch: lambda x: x.to(torch.float64) + torch.ones(2, dtype=torch.int32),
    "devices": lambda torch: lambda x: x.to(torch.device("cpu")),
    "signs": lambda torch: lambda x: (-x, ~(x > 0), abs(x), 1 - x),
    "indices": lambda torch: lambda x: x[..., 1:2, None] @ x[0].T,
    "several let go at once": lambda torch: lambda x, y: torch.maximum(x * 2, y * 3),
    "never used": lambda torch: lambda x: (x.add_(1), x.exp())[1],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SOURCES))
@same
def test_the_source_is_pytorchs(torch, name):
    return modules(torch).symbolic_trace(SOURCES[name](torch)).code
