"""Objects among ranks for logging: gathered, scattered, broadcast; groups and backends by name."""

import logging
import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    log = logging.getLogger("train")
    metrics = {
        "rank": rank,
        "loss": 1.0 / (rank + 1),
        "tensor": torch.arange(rank + 2),
        "none": None,
    }
    gathered = [None] * size
    dist.all_gather_object(gathered, metrics)
    if rank == 0:
        for one in gathered:
            log.info(one)
        log.info("mean %.4f", sum(one["loss"] for one in gathered) / size)
    out = [None] * size if rank == 0 else None
    dist.gather_object(("rank", rank, {rank}), out, dst=0)
    log.info("[%d] %s", rank, out)
    received = [None]
    dist.scatter_object_list(
        received, [f"to {i}" for i in range(size)] if rank == 1 else None, src=1
    )
    log.info("[%d] %s", rank, received)
    config = [{"lr": 0.1}, "adam", torch.ones(2)] if rank == 0 else [None] * 3
    dist.broadcast_object_list(config, src=0)
    log.info("[%d] %s", rank, config)
    if rank == 0:
        dist.send_object_list(["message", 1], dst=1)
    elif rank == 1:
        items = [None, None]
        sender = dist.recv_object_list(items, src=0)
        log.info("%s from %s", items, sender)
    totals = torch.tensor([rank + 1.0, 10.0])
    dist.reduce(totals, dst=0, op=dist.ReduceOp.SUM)
    if rank == 0:
        log.info(totals)
    work = dist.all_reduce(torch.ones(3), op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    log.info("[%d] %s %s", rank, work.is_completed(), dist.get_backend())
    pair = dist.new_group([0, 1])
    log.info("[%d] %s %s", rank, dist.get_process_group_ranks(pair), dist.get_rank(pair))
    try:
        dist.all_gather([torch.zeros(2)] * (size + 1), torch.zeros(2))
    except (ValueError, RuntimeError) as error:
        log.info("[%d] %s: %s", rank, type(error).__name__, str(error).splitlines()[0])
    dist.barrier()
    dist.destroy_process_group()
    log.info("[%d] %s", rank, dist.is_initialized())


if __name__ == "__main__":
    main()
