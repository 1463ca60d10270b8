"""Every operation on tensors spread over ranks, and its gradient, beside the same on plain tensors.

Arguments are sharded, replicated, terms of a sum or plain, by chance. What one rank alone computes is exact to
rounding, so the results are compared closely.
"""

import os
import random
import sys
import warnings
from pathlib import Path

LEFT_OUT = (
    # Terms of an infinity or of the largest number add up to another one.
    "isfinite", "isclose", "isneginf", "isposinf",
    # What they show depends on how the elements lie in memory, and of the whole nobody has any.
    "as_strided", "as_strided_scatter", "view_dtype",
)  # fmt: skip


def main(torch, dist, seed="0", trials="1", first_sample_only="1"):
    sys.path.insert(0, str(Path(__file__).parents[3]))
    os.chdir(Path(__file__).parents[3])
    warnings.simplefilter("ignore")
    import numpy as np

    from tautograd._ops.declare.samples import T
    from tautograd.distributed.tensor import (
        DTensor,
        Partial,
        Replicate,
        Shard,
        distribute_tensor,
    )
    from tests.ops.arrays import array_for, to_tautograd
    from tests.ops.cases import RECORDS, TAUTOGRAD, program_of, record, samples_of, tensors_in
    from tests.ops.programs import DRAWN

    random_ones = {f"drawn_{name}" for name in DRAWN}
    size, chance = dist.get_world_size(), random.Random(int(seed))
    mesh = dist.init_device_mesh("cpu", (size,))

    def placed(tensor, how):
        if how == "terms" and (tensor.is_floating_point() or tensor.is_complex()):
            return DTensor.from_local((tensor / size).clone(), mesh, [Partial()]).detach()
        if how in range(tensor.dim()):
            return distribute_tensor(tensor, mesh, [Shard(how)]).detach()
        return distribute_tensor(tensor, mesh, [Replicate()]).detach()

    def whole(tensor):
        return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).numpy()

    def tensors(value):
        if isinstance(value, torch.Tensor):
            return [value]
        inner = value.values() if isinstance(value, dict) else value
        return (
            [t for one in inner for t in tensors(one)]
            if isinstance(value, (dict, list, tuple))
            else []
        )

    def run(name, sample, ways):
        """The results and the gradients, whole; `ways` are the placements."""
        left, leaves = list(enumerate(ways)), []

        def put(value):
            if isinstance(value, T):
                number, how = left.pop(0)
                tensor = to_tautograd(array_for(value, "float64", number))
                if how is not None:
                    tensor = placed(tensor, how)
                if value.grad and (tensor.is_floating_point() or tensor.is_complex()):
                    leaves.append(tensor.requires_grad_())
                return tensor
            if isinstance(value, (list, tuple)):
                return type(value)(put(one) for one in value)
            return {k: put(v) for k, v in value.items()} if isinstance(value, dict) else value

        args, options = put(sample.args), put(sample.kwargs)
        results = tensors(program_of(TAUTOGRAD, record(name))(*args, **options))
        total = 0
        for result in results:
            if result.requires_grad:
                weights = torch.arange(result.numel(), dtype=torch.float64).cos() + 0.3
                term = (result * weights.reshape(result.shape)).sum()
                total = total + (term.real + 2 * term.imag if term.is_complex() else term)
        if isinstance(total, torch.Tensor):
            total.backward()
        given = [whole(result.detach()) for result in results]
        return given, [None if leaf.grad is None else whole(leaf.grad) for leaf in leaves]

    def same(one, other):
        if one is None or other is None:
            return not np.any(other if one is None else one)
        # Thirds of a float32 do not add up to it, and two terms of the largest number to no number.
        close = 1e-5 if one.dtype.itemsize < 8 or one.dtype == np.complex64 else 1e-9
        return (
            one.shape == other.shape
            and one.dtype == other.dtype
            and np.allclose(one, other, rtol=close, atol=close, equal_nan=True)
        )

    wrong, compared = [], 0
    for name in RECORDS:
        samples = list(samples_of(name))
        if name in random_ones or name in LEFT_OUT:
            continue
        for sample in samples[: 1 if int(first_sample_only) else None]:
            for _ in range(int(trials)):
                slots = len(list(tensors_in(sample)))
                ways = [chance.choice([None, "copies", "terms", 0, 1, 2]) for _ in range(slots)]
                if slots and not any(way is not None for way in ways):
                    ways[chance.randrange(slots)] = 0
                try:
                    expected = run(name, sample, [None] * slots)
                except Exception:
                    continue  # some samples' results have no gradient
                try:
                    found = run(name, sample, ways)
                except dist.DistBackendError:
                    raise
                except Exception as error:
                    wrong.append(f"{name}, {sample}, {ways}: {type(error).__name__}: {error}")
                    continue
                compared += 1
                for kind, ours, theirs in zip(("value", "gradient"), found, expected, strict=True):
                    if len(ours) != len(theirs) or not all(map(same, ours, theirs)):
                        wrong.append(f"{name}, {sample}, {ways}: another {kind}")
    return compared, wrong
