"""`torch.distributed.elastic.utils.data`: a sampler that resumes where a job was interrupted."""

from .elastic_distributed_sampler import ElasticDistributedSampler

__all__ = ["ElasticDistributedSampler"]
