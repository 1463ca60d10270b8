"""FSDP: states saved, loaded into another model, and trained on."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    StateDictType,
)
from torch.distributed.fsdp import (
    FullyShardedDataParallel as FSDP,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

dist.init_process_group("gloo")
r = dist.get_rank()
cpu = torch.device("cpu")


def make(seed, orig=False):
    torch.manual_seed(seed)
    m = FSDP(
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)),
        device_id=cpu,
        use_orig_params=orig,
        auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
    )
    return m, torch.optim.Adam(m.parameters(), lr=0.01)


def go(m, o, k):
    torch.manual_seed(r)
    for _ in range(k):
        o.zero_grad()
        loss = m(torch.randn(6, 4)).pow(2).mean()
        loss.backward()
        o.step()
    return f"{loss.item():.5f}"


m, o = make(0)
print(go(m, o, 3))
FSDP.set_state_dict_type(
    m,
    StateDictType.FULL_STATE_DICT,
    FullStateDictConfig(rank0_only=False),
    FullOptimStateDictConfig(rank0_only=False),
)
sd, osd = m.state_dict(), FSDP.optim_state_dict(m, o)
print(FSDP.get_state_dict_type(m))
print(sorted(osd["state"]), osd["param_groups"][0]["params"])
m2, o2 = make(9)
FSDP.set_state_dict_type(
    m2,
    StateDictType.FULL_STATE_DICT,
    FullStateDictConfig(rank0_only=False),
    FullOptimStateDictConfig(rank0_only=False),
)
print(m2.load_state_dict(sd))
o2.load_state_dict(FSDP.optim_state_dict_to_load(m2, o2, osd))
print(go(m, o, 2), go(m2, o2, 2))
full = FSDP.full_optim_state_dict(m, o)
m3, o3 = make(9)
m3.load_state_dict(sd)
shard = FSDP.scatter_full_optim_state_dict(full if r == 0 else None, m3, optim=o3)
print(type(shard).__name__, sorted(shard))
try:
    m2.load_state_dict({"0.weight": sd["0.weight"]})
except RuntimeError as e:
    print(str(e)[:300])
print([(n, tuple(p.shape)) for n, p in m.named_parameters()])
with FSDP.summon_full_params(m, writeback=False):
    print([(n, tuple(p.shape)) for n, p in m.named_parameters()], m.module[0].weight.shape)
mo, oo = make(0, True)
print([(n, tuple(p.shape)) for n, p in mo.named_parameters()])
print(go(mo, oo, 3))
print(isinstance(mo[0], FSDP), type(mo.module).__name__)
pg = [
    {"params": [p for n, p in mo.named_parameters() if "bias" in n], "weight_decay": 0.0},
    {"params": [p for n, p in mo.named_parameters() if "bias" not in n]},
]
print(go(mo, torch.optim.AdamW(pg, lr=0.01, weight_decay=0.1), 2))
mo.eval()
with torch.no_grad():
    print(f"{mo(torch.ones(1, 4)).sum().item():.4f}")
