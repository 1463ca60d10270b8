"""Collectives and groups, objects and messages, and what wrong arguments are told."""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group(backend="gloo", timeout=timedelta(seconds=60))
r, n = dist.get_rank(), dist.get_world_size()
print(
    dist.is_available(),
    dist.is_initialized(),
    dist.get_backend(),
    dist.is_gloo_available(),
    dist.is_torchelastic_launched(),
)
objs = [None] * n
dist.all_gather_object(objs, {"rank": r, "t": torch.tensor([r])})
print(objs)
told = ["foo", 12, {1: 2}] if r == 0 else [None] * 3
dist.broadcast_object_list(told, src=0)
print(told)
out = [None]
dist.scatter_object_list(out, [f"to{i}" for i in range(n)] if r == 0 else None, src=0)
print(out)
g = [None] * n if r == 0 else None
dist.gather_object((r, "x"), g, dst=0)
print(g)
if r == 0:
    dist.send_object_list(["hi", 3], dst=1)
elif r == 1:
    o = [None, None]
    dist.recv_object_list(o, src=0)
    print(o)
tl = [torch.zeros(2, dtype=torch.int64) for _ in range(n)]
dist.all_gather(tl, torch.tensor([r, r + 1]))
print(tl)
w = dist.all_reduce(torch.ones(3) * r, op=dist.ReduceOp.MAX, async_op=True)
print(w.wait(), w.is_completed())
x = torch.arange(n * 2.0) + r
y = torch.empty(2)
dist.scatter(y, list(x.chunk(n)) if r == 0 else None, src=0)
print(y)
if r == 0:
    gl = [torch.empty(2) for _ in range(n)]
    dist.gather(y, gl, dst=0)
    print(gl)
else:
    dist.gather(y, dst=0)
b = torch.full((2,), float(r))
dist.broadcast(b, src=n - 1)
print(b)
z = torch.tensor([1.0, 2.0])
dist.reduce(z, dst=0, op=dist.ReduceOp.PRODUCT)
print(z if r == 0 else None)
fut = dist.all_reduce(torch.ones(2), async_op=True).get_future()
print(fut.then(lambda f: f.value()[0] * 2).wait())
dist.monitored_barrier(timeout=timedelta(seconds=20))
print(
    dist.get_global_rank(dist.group.WORLD, 0),
    dist.get_group_rank(dist.group.WORLD, 1),
    dist.get_process_group_ranks(dist.group.WORLD),
)
cur, subs = dist.new_subgroups(group_size=n // 2 if n > 2 else 1)
print(dist.get_process_group_ranks(cur), len(subs))
cur, subs = dist.new_subgroups_by_enumeration([[0], list(range(1, n))])
print(cur.size(), cur.rank())
g2 = dist.new_group([0, 1])
print(dist.get_rank(g2), dist.get_world_size(g2))
if r < 2:
    t = torch.tensor([r + 1.0])
    dist.all_reduce(t, group=g2)
    print(t)
ops = [
    dist.P2POp(dist.isend, torch.tensor([float(r)]), (r + 1) % n),
    dist.P2POp(dist.irecv, rv := torch.zeros(1), (r - 1) % n),
]
for q in dist.batch_isend_irecv(ops):
    q.wait()
print(rv)
for bad in (
    lambda: dist.all_reduce([torch.ones(1)]),
    lambda: dist.broadcast(torch.ones(1), src=99),
    lambda: dist.all_gather([torch.ones(1)], torch.ones(2)),
    lambda: dist.new_group([0, 99]),
    lambda: dist.init_process_group("gloo"),
    lambda: dist.reduce_scatter(torch.ones(1), torch.ones(1)),
    lambda: dist.send(torch.ones(1), dst=r),
):
    try:
        print("ok", bad())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:150])
dist.destroy_process_group()
print(dist.is_initialized())
try:
    dist.get_rank()
except Exception as e:
    print(type(e).__name__, e)
