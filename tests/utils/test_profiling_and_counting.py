"""Profiles, flop counts and custom operations."""

import importlib
import json

import pytest

import tautograd
from tests.both import same


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


@same
def test_operations_are_counted_forward_and_backward(torch):
    counter = part(torch, "utils.flop_counter").FlopCounterMode
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 5))
    x, a, b = torch.ones(2, 3, 8, 8), torch.ones(3, 4, 5), torch.ones(3, 5, 6)
    found = []
    for run in (lambda: net(x), lambda: net(x).sum().backward(), lambda: a @ b, lambda: a @ b[0]):
        with counter(display=False) as counted:
            run()
        found.append(counted.get_total_flops())
    return found


@same
def test_a_custom_operation_has_the_gradient_it_is_given(torch):
    library = part(torch, "library")
    name = f"tautest::square_{torch.__name__}"

    @library.custom_op(name, mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    x = torch.tensor([3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        square(x).sum().backward()
    square.register_autograd(
        lambda ctx, g: 5 * g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    getattr(torch.ops.tautest, f"square_{torch.__name__}")(x).sum().backward()
    return x.grad, torch.ops.aten.add.Tensor(x.detach(), x.detach())


def test_a_profile_says_where_the_time_went(tmp_path):
    profiler = tautograd.profiler
    net, x = tautograd.nn.Linear(4, 4), tautograd.ones(2, 4)
    with profiler.profile(record_shapes=True) as profile, profiler.record_function("mine"):
        tautograd.relu(net(x)).sum().backward()
    table = profile.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    assert "aten::relu" in table
    assert "mine" in table
    path = str(tmp_path / "trace.json")
    profile.export_chrome_trace(path)
    with open(path) as file:
        names = {event["name"] for event in json.load(file)["traceEvents"]}
    assert {"mine", "aten::relu"} <= names
    mine = next(e for e in profile.events() if e.name == "mine")
    assert 0 <= mine.self_cpu_time_total <= mine.cpu_time_total


@same
def test_a_schedule_waits_warms_up_and_records(torch):
    profiler = part(torch, "profiler")
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    return [plan(step).name for step in range(8)]
