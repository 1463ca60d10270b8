"""What `FullyShardedDataParallel` is told: how to share out, in which dtypes, and what a state holds."""

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
    """What is shared out, and when parameters are whole."""

    FULL_SHARD = auto()
    """Parameters are let go between forward and backward."""
    SHARD_GRAD_OP = auto()
    """Parameters stay from forward to backward."""
    NO_SHARD = auto()
    """Every rank holds everything, as with `DistributedDataParallel`."""
    HYBRID_SHARD = auto()
    """`FULL_SHARD` among the ranks of a machine, copies between machines."""
    _HYBRID_SHARD_ZERO2 = auto()
    """`SHARD_GRAD_OP` among the ranks of a machine, copies between machines."""

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
    """When parameters would be gathered ahead of time; here they are when their backward begins."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class OptimStateKeyType(Enum):
    """What an optimizer's state calls parameters by."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """The dtypes of parameters while they compute, of gradients while they are summed, and of buffers."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shards lie in the CPU's memory while nothing is computed; on a CPU they do in any case."""

    offload_params: bool = False


class StateDictType(Enum):
    """What `state_dict()` gives: whole tensors, this rank's flat shards, or each tensor in shards."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Of a model's state."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Of one with whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of one with this rank's flat shards."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of one with each tensor in shards."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Of an optimizer's state."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Of one with whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of one with this rank's flat shards."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of one with each tensor in shards."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What kind of states is set."""

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
