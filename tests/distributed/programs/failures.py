"""What goes wrong between ranks, each in a group of its own; at the end one rank is killed."""

import os
import signal
import time
from datetime import timedelta


def main(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}

    def case(name, run):
        group = dist.new_group(timeout=timedelta(seconds=0.5))
        began = time.monotonic()
        try:
            found[name] = run(group)
        except RuntimeError as error:
            found[name] = f"{type(error).__name__}: {error}"
        found[f"{name}: seconds"] = time.monotonic() - began
        time.sleep(max(0.0, began + 0.9 - time.monotonic()))
        return group

    def mismatch(group):
        if rank == 1:
            dist.broadcast(torch.ones(3), 0, group=group)
        else:
            dist.all_reduce(torch.ones(3), group=group)

    def sizes(group):
        dist.all_reduce(torch.ones(3 + (rank == 1)), group=group)

    def late(group):
        if rank == 1:
            time.sleep(0.8)
        else:
            dist.all_reduce(torch.ones(3), group=group)

    def never_sent(group):
        if rank == 0:
            dist.recv(torch.ones(3), src=1, group=group)

    def too_short(group):
        if rank == 0:
            dist.recv(torch.ones(3), src=1, group=group)
        elif rank == 1:
            dist.send(torch.ones(2), dst=0, group=group)

    def too_long(group):
        if rank == 0:
            dist.recv(torch.ones(3), src=1, group=group)
        elif rank == 1:
            dist.send(torch.ones(5), dst=0, group=group)

    def dtypes(group):
        dist.all_reduce(torch.ones(3, dtype=torch.float64 if rank else torch.float32), group=group)

    def roots(group):
        dist.broadcast(torch.ones(3), src=rank, group=group)

    def parts(group):
        sent = [2 if rank == 2 else 1] + [1] * (size - 1)  # rank 0 expects one of each
        out = torch.zeros(size)
        dist.all_to_all_single(out, torch.ones(sum(sent)), [1] * size, sent, group=group)

    def own_fault(group):
        """The result cannot be put in its place: that is nobody else's business."""
        leaves = [torch.zeros(1, requires_grad=rank == 1) for _ in range(size)]
        try:
            dist.all_gather(leaves, torch.ones(1), group=group)
        finally:
            x = torch.ones(1)
            dist.all_reduce(x, group=group)
            found["own fault: afterwards"] = x.item()

    def monitored(group):
        if rank != 1:
            dist.monitored_barrier(group, timeout=timedelta(seconds=0.5))

    broken = case("mismatch", mismatch)
    try:
        dist.all_reduce(torch.ones(1), group=broken)
        found["again"] = "no error"
    except RuntimeError as error:
        found["again"] = str(error)
    case("sizes", sizes)
    case("late", late)
    case("never sent", never_sent)
    case("too short", too_short)
    case("too long", too_long)
    case("dtypes", dtypes)
    case("roots", roots)
    case("parts", parts)
    case("own fault", own_fault)
    case("monitored", monitored)
    dist.barrier()
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    try:
        dist.all_reduce(torch.ones(3))
        found["killed"] = "no error"
    except dist.DistBackendError as error:
        found["killed"] = str(error)
    found["killed: seconds"] = time.monotonic() - began
    return found
