"""Normalisation on both engines: modules over their options, running statistics, errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.both import same
from tests.nn.layers import Case, attempt, compare, image

SHAPES = {1: (4, 3, 5), 2: (3, 3, 4, 2), 3: (2, 3, 2, 3, 2)}
BATCH_OPTIONS: list[dict[str, Any]] = [
    {},
    {"affine": False},
    {"bias": False},
    {"track_running_stats": False},
    {"momentum": None},
    {"eps": 1e-2, "momentum": 0.3},
]
CASES = [
    *[
        Case(f"BatchNorm{rank}d", (3,), options, SHAPES[rank])
        for rank in (1, 2, 3)
        for options in BATCH_OPTIONS
    ],
    Case("BatchNorm1d", (3,), {}, (5, 3)),
    Case("SyncBatchNorm", (3,), {}, (4, 3, 2)),
    *[
        Case(f"InstanceNorm{rank}d", (3,), options, shape)
        for rank in (1, 2, 3)
        for options in ({}, {"affine": True}, {"track_running_stats": True, "momentum": 0.4})
        for shape in (SHAPES[rank], SHAPES[rank][1:])
    ],
    *[
        Case(f"Lazy{kind}Norm{rank}d", (), {}, SHAPES[rank])
        for kind in ("Batch", "Instance")
        for rank in (1, 2, 3)
    ],
    *[
        Case("LayerNorm", (shape,), options, (3, 4, 5))
        for shape in (5, (4, 5))
        for options in ({}, {"bias": False}, {"elementwise_affine": False}, {"eps": 0.1})
    ],
    Case("LayerNorm", (300,), {}, (150, 2, 300)),
    *[
        Case("GroupNorm", (groups, 4), options, shape)
        for groups in (1, 2, 4)
        for options in ({}, {"affine": False}, {"bias": False})
        for shape in ((2, 4, 3), (2, 4, 2, 2), (3, 4))
        # One number has no deviation, and two are ±1 whatever they are: their gradient is noise.
        if not (groups > 1 and len(shape) == 2)
    ],
    *[
        Case("GroupNorm", (2, 6), options, (3, 6))
        for options in ({}, {"affine": False}, {"bias": False})
    ],
    *[
        Case("RMSNorm", (shape,), options, (3, 4, 5))
        for shape in (5, (4, 5))
        for options in ({}, {"elementwise_affine": False}, {"eps": 0.1})
    ],
    *[
        Case("LocalResponseNorm", (size,), {"alpha": 0.1, "k": 2.0}, shape)
        for size in (2, 3)
        for shape in ((2, 4, 5), (2, 4, 3, 3), (1, 4, 2, 2, 3))
    ],
    *[
        Case(name, args, {}, (4, 4, 3), dtype)
        for name, args in (("BatchNorm1d", (4,)), ("GroupNorm", (2, 4)), ("LayerNorm", (3,)))
        for dtype in ("float64", "float16", "bfloat16")
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_module(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@same
def test_cross_map(torch: Any, size: int) -> Any:
    """Without its gradient: PyTorch's is not that of what it computes."""
    module = torch.nn.CrossMapLRN2d(size, alpha=0.3, k=2)
    return module(image(torch, (2, 7, 3, 2), "float32")), repr(module)


@pytest.mark.parametrize("options", [*BATCH_OPTIONS, {"track_running_stats": True}])
@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
@same
def test_running_statistics(torch: Any, name: str, options: dict[str, Any]) -> Any:
    """Some steps of training, then evaluation, then training again from a saved state."""
    if name == "InstanceNorm1d" and options.get("momentum", 0) is None:
        options = {}
    module = getattr(torch.nn, name)(3, **options)
    batches = [image(torch, (4, 3, 5), "float32", step) * (step + 1) for step in range(3)]
    seen = [module(batch).detach() for batch in batches]
    state = copy.deepcopy(module.state_dict())
    module.eval()
    x = image(torch, (2, 3, 5), "float32", 9).requires_grad_()
    out = module(x)
    (out * image(torch, (2, 3, 5), "float32", 10)).sum().backward()
    again = getattr(torch.nn, name)(3, **options)
    again.load_state_dict(state)
    seen += [x.grad, out.detach(), again(x.detach()).detach()]
    seen += [p.grad for p in module.parameters()]
    module.reset_running_stats()
    return seen, dict(state), list(module.state_dict()), [p for _, p in module.named_buffers()]


@same
def test_half_with_float_statistics(torch: Any) -> Any:
    x = image(torch, (4, 3, 5), "float16")
    mean, var = torch.zeros(3), torch.ones(3)
    out = torch.nn.functional.batch_norm(x, mean, var, torch.ones(3), training=True)
    return out, mean, var


@same
def test_statistics_are_changed_in_place(torch: Any) -> Any:
    module = torch.nn.BatchNorm1d(3)
    mean, versions = module.running_mean, []
    for _ in range(2):
        module(image(torch, (4, 3), "float32"))
        versions.append(mean._version > 0)
    return mean is module.running_mean, versions, module.num_batches_tracked


@same
def test_convert_to_sync(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.BatchNorm1d(4)))
    found = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    nn.init.ones_(found[1].bias)  # or the second takes a mean of what has none
    return repr(found), dict(found.state_dict()), found(image(torch, (5, 3), "float32"))


@same
def test_old_files_have_no_count(torch: Any) -> Any:
    module = torch.nn.BatchNorm1d(2)
    state = module.state_dict()
    state._metadata[""]["version"] = 1
    del state["num_batches_tracked"]
    return str(module.load_state_dict(state)), module.num_batches_tracked


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.batch_norm(_x(t), t.ones(3), t.zeros(3), None, None, True, 0.1, 1e-5, False),
        lambda t: t.batch_norm(_x(t), None, None, t.zeros(3), t.ones(3), False, 0.1, 1e-5, False),
        lambda t: t.instance_norm(_x(t), None, None, None, None, True, 0.1, 1e-5, False),
        lambda t: t.layer_norm(_x(t), (4,), t.ones(4)),
        lambda t: t.group_norm(_x(t), 3),
        lambda t: t.rms_norm(_x(t), (4,)),
    ],
)
@same
def test_top_level(torch: Any, call: Any) -> Any:
    out = call(torch)
    return out, out.grad_fn


def _x(torch: Any) -> Any:
    return image(torch, (2, 3, 4), "float32").requires_grad_()


def _f(name: str, shape: tuple[int, ...], *args: Any, **options: Any) -> Any:
    """A call of a function on an input of this shape; tuples of sizes stand for tensors of ones."""

    def program(torch: Any) -> Any:
        def made(value: Any) -> Any:
            return torch.ones(value) if isinstance(value, list) else value

        given = [made(v) for v in args]
        named = {k: made(v) for k, v in options.items()}
        return getattr(torch.nn.functional, name)(torch.zeros(shape), *given, **named)

    return program


ERRORS = [
    _f("batch_norm", (1, 3), None, None, training=True),
    _f("batch_norm", (2, 3), None, None),
    _f("batch_norm", (2, 3), [3], None),
    _f("batch_norm", (2, 3), [2], [3]),
    _f("batch_norm", (2, 3), [3], [3], [4]),
    _f("instance_norm", (2, 3, 1)),
    _f("instance_norm", (2, 3, 4), use_input_stats=False),
    _f("layer_norm", (2, 3), (4,)),
    _f("layer_norm", (2, 3), (3,), [4]),
    _f("layer_norm", (2, 3), (3,), None, [4]),
    _f("layer_norm", (2, 3), ()),
    _f("group_norm", (2, 3), 2),
    _f("group_norm", (2, 4), 2, [3]),
    _f("group_norm", (4,), 2),
    _f("rms_norm", (2, 3), (4,)),
    _f("local_response_norm", (2, 3), 2),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(3)),
    lambda t: t.nn.BatchNorm2d(3)(t.zeros(2, 3)),
    lambda t: t.nn.BatchNorm3d(3)(t.zeros(2, 3)),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(2, 4)),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(2, 3, dtype=t.float64)),
    lambda t: t.nn.SyncBatchNorm(3)(t.zeros(3)),
    lambda t: t.nn.InstanceNorm1d(3)(t.zeros(3)),
    lambda t: t.nn.InstanceNorm1d(3, affine=True)(t.zeros(2, 4, 5)),
    lambda t: t.nn.GroupNorm(3, 4),
    lambda t: t.nn.LayerNorm(3)(t.zeros(2, 3).long()),
    lambda t: t.nn.BatchNorm1d(3)(t.zeros(2, 3).long()),
]


@pytest.mark.parametrize("program", ERRORS)
@same
def test_error(torch: Any, program: Any) -> Any:
    return attempt(torch, program)


@same
def test_another_number_of_features(torch: Any) -> Any:
    with pytest.warns(UserWarning, match="does not match num_features"):
        return torch.nn.InstanceNorm1d(3)(image(torch, (2, 4, 5), "float32"))


@pytest.mark.parametrize(("name", "args"), [("BatchNorm1d", (3,)), ("LayerNorm", (3,))])
@pytest.mark.parametrize("packed", [False, True])
@same
def test_result_may_be_overwritten(torch: Any, name: str, args: Any, packed: bool) -> Any:
    """As `ReLU(inplace=True)` does: the gradient needs the statistics, not the result."""
    x = image(torch, (4, 3), "float32").requires_grad_()
    module, kept = getattr(torch.nn, name)(*args), []

    def pack(tensor: Any) -> Any:
        kept.append(tuple(tensor.shape))
        return tensor

    if packed:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = module(x)
    else:
        out = module(x)
    out.exp_()
    (out * image(torch, (4, 3), "float32", 1)).sum().backward()
    return x.grad, module.weight.grad, module.bias.grad, len([s for s in kept if s == (4, 3)])
