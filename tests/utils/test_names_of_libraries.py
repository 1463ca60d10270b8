"""Names that libraries import and models carry: of ONNX, of quantization, of calls to other processes, of printing."""

from __future__ import annotations

import importlib

import pytest

from tests.both import same


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


@pytest.mark.parametrize(
    "name", ["own::op", "::relu", "onnx::op", "op", "a b::c", "x::9", "own::a\n"]
)
@same
def test_export_rules_by_name(torch, name):
    onnx = part(torch, "onnx")
    try:
        onnx.register_custom_op_symbolic(name, lambda g, x: x, 11)
        onnx.unregister_custom_op_symbolic(name, 11)
    except (ValueError, RuntimeError) as error:
        return type(error).__name__, str(error)
    return "kept"


@same
def test_what_onnx_answers(torch):
    onnx, helper = part(torch, "onnx"), part(torch, "onnx.symbolic_helper")
    part(torch, "onnx.symbolic_opset11")
    operators = part(torch, "onnx.operators")
    rule = helper.parse_args("v", "i")(lambda g, x, n: (x, n))
    shapes = [operators.shape_as_tensor(x) for x in (torch.ones(2, 0), torch.tensor(1.0))]
    flat = operators.reshape_from_tensor_shape(torch.arange(6), torch.tensor([2, 3]))
    return onnx.is_in_onnx_export(), rule._arg_descriptors, shapes, flat


def test_what_cannot_be_exported_says_so():
    import tautograd

    with pytest.raises(AttributeError, match="which PyTorch has: it is"):
        tautograd.onnx.InputObserver
    with pytest.raises(AttributeError, match=r"'torch\.onnx\.symbolic_opset11\.unsqueeze'"):
        importlib.import_module("tautograd.onnx.symbolic_opset11").unsqueeze


@pytest.mark.parametrize("room", ["ao.quantization", "quantization"])
@same
def test_models_that_could_be_quantized_compute_in_floats(torch, room):
    room = part(torch, room)
    torch.manual_seed(0)
    model = torch.nn.Sequential(room.QuantStub(), torch.nn.Linear(3, 2), room.DeQuantStub()).eval()
    wrapped = room.QuantWrapper(model)
    x = torch.ones(1, 3, requires_grad=True)
    wrapped(x).sum().backward()
    return repr(wrapped), list(wrapped.state_dict()), wrapped.training, x.grad


@same
def test_calls_on_other_processes_are_asked_for(torch):
    return callable(part(torch, "distributed.rpc").is_available)


@pytest.mark.parametrize("indent", [0, 5])
@same
def test_numbers_as_they_are_printed(torch, indent):
    printing = part(torch, "_tensor_str")
    tensors = [
        torch.arange(24.0).view(2, 3, 4), torch.tensor(3), torch.zeros(0, 3), torch.tensor([1 + 2j, 3j]),
        torch.tensor([True, False]), torch.tensor([1.5, 2.0], requires_grad=True),
    ]  # fmt: skip
    texts = [printing._tensor_str(x, indent) for x in tensors]
    before = torch.get_printoptions() if hasattr(torch, "get_printoptions") else None
    torch.set_printoptions(precision=2, threshold=10)
    try:
        texts += [printing._tensor_str(x, indent) for x in tensors]
        texts.append(printing.PRINT_OPTS.threshold)
    finally:
        torch.set_printoptions(profile="default")
    assert before is None or before["precision"] == 4
    return texts, printing._str(tensors[0], tensor_contents="..."), printing._str(tensors[0])


@same
def test_lists_of_tensors_in_groups(torch):
    utils = part(torch, "utils._foreach_utils")
    first = [torch.ones(2), torch.ones(1, dtype=torch.float64), torch.zeros(3)]
    found = []
    for lists in ([first, [], [2 * x for x in first]], [first[:1], [None]]):
        for with_indices in (False, True):
            groups = utils._group_tensors_by_device_and_dtype(lists, with_indices=with_indices)
            # In which order groups come is an accident of a hash table there.
            found.append(sorted((str(k), str(v[0]), list(v[1])) for k, v in groups.items()))
    cpu = torch.device("cpu")
    support = [utils._has_foreach_support(x, cpu) for x in (first, [None], [object()])]
    return found, support, utils._device_has_foreach_support(torch.device("meta"))


@same
def test_names_that_libraries_ask_for_at_their_import(torch):
    worker = part(torch, "utils.data._utils.worker")
    seeds = [list(worker._generate_state(base, n)) for base in (0, 2**40 + 7) for n in (0, 3)]
    future = part(torch, "futures").Future()
    future.set_result(3)
    assert part(torch, "utils.data.dataloader")._collate_fn_t
    return seeds, isinstance(future, torch.Future), future.value()


@same
def test_sharding_by_its_first_names(torch):
    new = part(torch, "distributed.fsdp")
    old = part(torch, "distributed._composable.fsdp")
    names = ("FSDPModule", "fully_shard", "MixedPrecisionPolicy", "CPUOffloadPolicy")
    with part(torch, "distributed._tensor.experimental").implicit_replication():
        inside = torch.ones(2) + 1
    return [getattr(new, n) is getattr(old, n) for n in names], inside
