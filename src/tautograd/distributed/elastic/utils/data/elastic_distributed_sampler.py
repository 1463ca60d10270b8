"""A sampler that skips what was seen before a restart, on any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tautograd as torch

from .....utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """The rest of an epoch's order from `start_index` on, divided among the ranks."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas=num_replicas, rank=rank)
        if start_index >= len(dataset):
            raise ValueError(
                f"Start index {start_index} should be less than dataset size {len(dataset)}"
            )
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        left = len(self.dataset) - self.start_index
        order = torch.randperm(left, generator=generator).tolist()
        order = [place + self.start_index for place in order]
        order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])
