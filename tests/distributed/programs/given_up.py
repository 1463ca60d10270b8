"""A message that comes after the one who waited for it has given up, and its memory has gone to other numbers."""

import gc
import time
from datetime import timedelta


def main(torch, dist):
    rank, count = dist.get_rank(), 5000
    group = dist.new_group(timeout=timedelta(seconds=0.2))
    said, held = "", []
    if rank == 0:
        room = torch.zeros(count)
        try:
            dist.recv(room, src=1, group=group)
        except dist.DistBackendError as error:
            said = str(error)
        del room
        time.sleep(0.1)  # the thread that looks after messages has let go of it
        gc.collect()
        held = [torch.full((count,), 7.0) for _ in range(50)]
    dist.barrier()
    if rank == 1:
        dist.isend(torch.ones(count), dst=0, group=group)
    for _ in range(20):  # so that MPI moves on
        dist.all_reduce(torch.ones(1))
        time.sleep(0.01)
    return said, sum(not bool((one == 7).all()) for one in held)
