"""How many collectives elementwise functions of a sharded tensor make, and where its memory is said to be."""

import importlib


def main(torch, dist):
    spread = importlib.import_module(f"{torch.__name__}.distributed.tensor")
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    x = spread.distribute_tensor(torch.ones(4, 3), mesh, [spread.Shard(0)])
    groups = [dist.group.WORLD, mesh.get_group()]
    before = [group._number for group in groups]
    y = (x * 2 + 1).exp().abs()
    made = [group._number - count for group, count in zip(groups, before, strict=True)]
    return made, x.data_ptr() == x.to_local().data_ptr(), tuple(y.to_local().shape)
