"""NCCL with one rank: every collective on a GPU's memory, and DistributedDataParallel around a model.

    PYTHONPATH=src python3 tools/gpu/one_rank.py      # exit status 1 if one of them is wrong

One GPU can test only one rank: NCCL refuses two on a device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tautograd as torch
import tautograd.distributed as dist


def collectives(x: Any) -> dict[str, Callable[[], Any]]:
    """Calls that leave a world of one rank unchanged, by name."""
    out = torch.empty_like(x)

    def into(call: Callable[[], Any]) -> Any:
        call()
        return out

    def gathered() -> Any:
        parts = [torch.empty_like(x)]
        dist.all_gather(parts, x)
        return parts[0]

    return {
        "all_reduce": lambda: (dist.all_reduce(x), x)[1],
        "all_reduce AVG": lambda: (dist.all_reduce(x, dist.ReduceOp.AVG), x)[1],
        "all_reduce asynchronous": lambda: (dist.all_reduce(x, async_op=True).wait(), x)[1],
        "reduce": lambda: (dist.reduce(x, 0), x)[1],
        "broadcast": lambda: (dist.broadcast(x, 0), x)[1],
        "all_gather": gathered,
        "all_gather_into_tensor": lambda: into(lambda: dist.all_gather_into_tensor(out, x)),
        "reduce_scatter_tensor": lambda: into(lambda: dist.reduce_scatter_tensor(out, x)),
        "all_to_all_single": lambda: into(lambda: dist.all_to_all_single(out, x)),
        "barrier": lambda: (dist.barrier(), x)[1],
        "a view": lambda: (dist.all_reduce(x.view(2, -1).t()), x)[1],
    }


def main() -> int:
    dist.init_process_group("nccl", rank=0, world_size=1)
    wrong = 0
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64):
        x = torch.arange(8, device="cuda").to(dtype)
        for name, call in collectives(x).items():
            if name.endswith("AVG") and not dtype.is_floating_point:
                continue
            try:
                said = "" if call().tolist() == list(range(8)) else "other numbers"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            wrong += bool(said)
            sys.stdout.write(f"{'FAIL' if said else 'ok  '} {name} {dtype} {said}\n")
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2).cuda()
    batch = torch.ones(3, 4, device="cuda")
    model(batch).sum().backward()
    alone = model.weight.grad.tolist()
    model.zero_grad()
    torch.nn.parallel.DistributedDataParallel(model)(batch).sum().backward()
    same = model.weight.grad.tolist() == alone
    sys.stdout.write(f"{'ok  ' if same else 'FAIL'} DistributedDataParallel\n")
    dist.destroy_process_group()
    return 1 if wrong or not same else 0


if __name__ == "__main__":
    sys.exit(main())
