"""What torchrun tells a rank, and a sampler that goes on in the middle of an epoch."""

import os

import torch.distributed as dist
import torch.nn as nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.elastic.utils.data import ElasticDistributedSampler


@record
def main():
    dist.init_process_group("gloo")
    int(os.environ["RANK"])
    print({k: os.environ[k] for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")})
    s = ElasticDistributedSampler(list(range(10)), start_index=2)
    s.set_epoch(1)
    print(list(s), len(s))
    m = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    print(sum(p.numel() for p in m.parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
