"""The settings of `FullyShardedDataParallel`: how to shard, in which dtypes, and what a state contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is sharded, and when parameters are whole."""

    FULL_SHARD = auto()
    """Parameters are released between forward and backward."""
    SHARD_GRAD_OP = auto()
    """Parameters are kept from forward to backward."""
    NO_SHARD = auto()
    """Every rank holds everything, as with `DistributedDataParallel`."""
    HYBRID_SHARD = auto()
    """`FULL_SHARD` among the ranks of a machine, replicas between machines."""
    _HYBRID_SHARD_ZERO2 = auto()
    """`SHARD_GRAD_OP` among the ranks of a machine, replicas between machines."""

    @property
    def shards(self) -> bool:
        """Whether a rank holds a part."""
        return self is not ShardingStrategy.NO_SHARD

    @property
    def copies(self) -> bool:
        """Whether several groups hold the same shards."""
        return self in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)

    @property
    def keeps(self) -> bool:
        """Whether parameters stay whole from forward to backward."""
        return self not in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)


class BackwardPrefetch(Enum):
    """When parameters would be prefetched; here they are gathered when their backward begins."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class OptimStateKeyType(Enum):
    """How an optimizer's state identifies parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """The dtypes in which parameters compute, in which gradients are summed, and of buffers."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether idle shards are kept in CPU memory; on a CPU they are in any case."""

    offload_params: bool = False


class StateDictType(Enum):
    """What `state_dict()` returns: whole tensors, this rank's flat shards, or sharded tensors."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Settings for a model's state."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings for a model's state of whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings for a model's state of this rank's flat shards."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings for a model's state of sharded tensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Settings for an optimizer's state."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings for an optimizer's state of whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings for an optimizer's state of this rank's flat shards."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings for an optimizer's state of sharded tensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The kind of states that is set."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


MODEL_CONFIGS = {
    StateDictType.FULL_STATE_DICT: FullStateDictConfig,
    StateDictType.LOCAL_STATE_DICT: LocalStateDictConfig,
    StateDictType.SHARDED_STATE_DICT: ShardedStateDictConfig,
}
OPTIMIZER_CONFIGS = {
    StateDictType.FULL_STATE_DICT: FullOptimStateDictConfig,
    StateDictType.LOCAL_STATE_DICT: LocalOptimStateDictConfig,
    StateDictType.SHARDED_STATE_DICT: ShardedOptimStateDictConfig,
}
