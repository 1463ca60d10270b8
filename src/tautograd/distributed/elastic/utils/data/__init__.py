"""`torch.distributed.elastic.utils.data`: a sampler that goes on where a job was interrupted."""

from .elastic_distributed_sampler import ElasticDistributedSampler

__all__ = ["ElasticDistributedSampler"]
