"""`torch.jit`: scripts and traces give what the function gives, on both engines."""

import io

import pytest

import tautograd
from tests.both import same

# PyTorch says that scripts will go.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@same
def test_a_script_computes_what_the_module_does(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.ones(2, 3)
    scripted, traced = torch.jit.script(net), torch.jit.trace(net, x)
    scripted(x).sum().backward()
    assert isinstance(scripted, torch.jit.ScriptModule)
    assert isinstance(traced, torch.jit.ScriptModule)
    return (
        scripted(x), traced(x), net[0].weight.grad, list(scripted.state_dict()), repr(scripted),
        scripted.original_name,
    )  # fmt: skip


@same
def test_a_scripted_function_is_called_as_ever(torch):
    @torch.jit.script
    def double(x):
        return x * 2

    assert not torch.jit.is_scripting()
    assert torch.jit.annotate(list, [1]) == [1]
    assert torch.jit.isinstance([1, 2], list[int])
    assert not torch.jit.isinstance([1, "a"], list[int])
    future = torch.jit.fork(double, torch.ones(2))
    return double(torch.ones(2)), torch.jit.wait(future)


class Net(tautograd.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.act = tautograd.nn.Linear(2, 2), tautograd.relu

    def forward(self, x):
        return self.act(self.layer(x))


def test_a_script_in_a_file():
    net, file = Net(), io.BytesIO()
    torch = tautograd
    torch.jit.save(torch.jit.script(net), file, {"notes": "n"})
    file.seek(0)
    notes = {"notes": ""}
    found = torch.jit.load(file, _extra_files=notes)
    x = torch.rand(3, 2)
    assert torch.equal(found(x), net(x))
    assert notes == {"notes": "n"}
    with pytest.raises(RuntimeError, match="no program"):
        torch.jit.save(torch.jit.script(lambda x: x), io.BytesIO())


def test_a_branch_of_a_trace_is_taken_anew():
    def pick(x):
        return x if x.sum() > 0 else -x

    traced = tautograd.jit.trace(pick, tautograd.ones(2))
    assert traced(-tautograd.ones(2)).tolist() == [1.0, 1.0]


def test_freezing_wants_a_script_in_evaluation_mode():
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        tautograd.jit.freeze(Net())
    with pytest.raises(RuntimeError, match="eval mode"):
        tautograd.jit.freeze(tautograd.jit.script(Net()))
