"""`FullyShardedDataParallel`: a module's parameters, gradients and optimizer states, sharded over the ranks.

Each wrapped module is a unit: its parameters outside of wrapped children travel together (`_flat_handle`). They are
gathered and released at the same points as in `fully_shard`.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tautograd as torch

from ..._trees.nests import Nests
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from . import _flat_optimizer, _flat_states
from ._clipping import clipped
from ._flat_handle import FlatHandle
from ._fully_shard import ShardState, cast_to
from ._unit_groups import groups_of
from ._unit_parameters import check_device, ignored_by, made_real, of_unit, synchronised
from .api import (
    MODEL_CONFIGS,
    OPTIMIZER_CONFIGS,
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .policies import MixedPrecisionPolicy
from .wrap import auto_wrap

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision",
    "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip

WRAPPED = "_fsdp_wrapped_module"
_NESTS = Nests()
_NEWER = (
    "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, "
    "get_state_dict() and set_state_dict(), which can support different parallelisms, FSDP1, FSDP2, DDP."
)


class _UnitState(ShardState):
    """When a unit's parameters are gathered and released; what its inputs are cast to."""

    def __init__(self, unit: Any, handle: FlatHandle | None, precision: MixedPrecision) -> None:
        keeps = handle is not None and handle.strategy.keeps
        groups: list[Any] = [] if handle is None else [handle]
        self._precision = precision
        super().__init__([unit], groups, MixedPrecisionPolicy(), False if keeps else None)

    def find_root(self) -> None:
        first = self.is_root is None
        super().find_root()
        if first and self.is_root:
            for unit in FullyShardedDataParallel.fsdp_modules(self._module):
                unit._cast_buffers()

    def _before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        super()._before_forward(module, args, kwargs)
        precision = self._precision
        casts = precision.cast_forward_inputs
        if self.is_root and precision.cast_root_forward_inputs:
            casts = True
        if precision.param_dtype is None or not casts:
            return None
        cast = cast_to(precision.param_dtype)
        return _NESTS.mapped(args, cast), _NESTS.mapped(kwargs, cast)


class FullyShardedDataParallel(Module):
    """A module whose parameters, gradients and optimizer states are sharded over the ranks of a group."""

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(module, (ModuleList, ModuleDict)):
            warnings.warn(
                f"FSDP will not all-gather parameters for containers that do not implement forward: {module}",
                stacklevel=2,
            )
        check_device(device_id)
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if ignored_modules is not None and ignored_states is not None:
            raise ValueError(
                "Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states."
            )
        skipped_modules, skipped = ignored_by(module, ignored_modules, ignored_states)
        group, replicas = groups_of(process_group, strategy, auto_wrap_policy, device_mesh)
        precision = mixed_precision or MixedPrecision()
        if auto_wrap_policy is not None:
            shared = {
                "process_group": (group, replicas) if strategy.copies and device_mesh is None else process_group,
                "sharding_strategy": sharding_strategy, "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn, "device_id": device_id,
                "sync_module_states": sync_module_states, "forward_prefetch": forward_prefetch,
                "limit_all_gathers": limit_all_gathers, "use_orig_params": use_orig_params,
                "ignored_states": skipped, "device_mesh": device_mesh,
            }  # fmt: skip
            auto_wrap(module, auto_wrap_policy, skipped_modules, set(skipped), shared, type(self))
        self.sharding_strategy, self.mixed_precision = strategy, precision
        self.cpu_offload = cpu_offload or CPUOffload()
        self.process_group, self._replicas = group, replicas
        self.rank, self.world_size = group.rank(), group.size()
        self.compute_device = torch.device("cpu")
        self._use_orig_params, self._device_mesh = use_orig_params, device_mesh
        self._state_dict_type = StateDictType.FULL_STATE_DICT
        self._state_dict_config: StateDictConfig = FullStateDictConfig()
        self._optim_state_dict_config: OptimStateDictConfig = FullOptimStateDictConfig()
        made_real(module, param_init_fn, skipped_modules)
        if sync_module_states:
            synchronised(module, group, skipped)
        found = of_unit(module, skipped, skipped_modules, FullyShardedDataParallel)
        handle = None
        if found:
            alike = strategy if group.size() > 1 else ShardingStrategy.NO_SHARD
            how = group, replicas, alike, precision, use_orig_params
            handle = FlatHandle(module, found, *how)
        self.__dict__["_handle"] = handle
        self._buffer_dtypes: dict[tuple[int, str], Any] = {}
        setattr(self, WRAPPED, module)
        self.__dict__["_fsdp"] = _UnitState(self, handle, precision)
        self.register_load_state_dict_post_hook(_flat_states.after_load)

    # --- what is wrapped ------------------------------------------------------------------------

    @property
    def module(self) -> Any:
        """The wrapped module."""
        return self._modules[WRAPPED]

    @property
    def _is_root(self) -> bool:
        self._fsdp.find_root()
        return bool(self._fsdp.is_root)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == WRAPPED or WRAPPED not in self.__dict__.get("_modules", {}):
                raise
            return getattr(self.module, name)

    def __getitem__(self, key: int) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's forward, with whole parameters."""
        return self.module(*args, **kwargs)

    def check_is_root(self) -> bool:
        """Whether no other unit contains this one."""
        return self._is_root

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The units in a module."""
        units = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [unit for unit in units if unit.check_is_root()] if root_only else units

    @property
    def _units(self) -> list[FullyShardedDataParallel]:
        return self.fsdp_modules(self)

    @property
    def _shows_whole(self) -> bool:
        return any(unit._handle is not None and unit._handle.shows_whole for unit in self._units)

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """The same as `Module.apply`, with whole parameters."""
        if self._shows_whole:
            return super().apply(fn)
        with self.summon_full_params(self):
            return super().apply(fn)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """While whole parameters are shown, by their names without wrappers."""
        whole = self._shows_whole
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (name.replace(f"{WRAPPED}.", "") if whole else name), parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """While whole parameters are shown, by their names without wrappers."""
        whole = self._shows_whole
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (name.replace(f"{WRAPPED}.", "") if whole else name), buffer

    def _cast_buffers(self) -> None:
        """Cast buffers to the dtype to compute in; a state holds them in their own."""
        wanted = self.mixed_precision.buffer_dtype
        if wanted is None:
            return
        for module in _below(self.module):
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    self._buffer_dtypes.setdefault((id(module), name), buffer.dtype)
                    module._buffers[name] = buffer.to(wanted)

    # --- gradients ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients accumulate on each rank."""
        if not self._is_root:
            raise RuntimeError(
                "`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP module."
            )
        handles = [unit._handle for unit in self._units if unit._handle is not None]
        before = [handle.reduces for handle in handles]
        for handle in handles:
            handle.reduces = False
        try:
            yield
        finally:
            for handle, reduces in zip(handles, before, strict=True):
                handle.reduces = reduces

    def register_comm_hook(self, state: object, hook: Callable[..., None]) -> None:
        """Let a function sum gradients: `hook(state, whole, shard)`; `hook(state, whole)` if nothing is sharded."""
        if not self.check_is_root():
            raise AssertionError("register_comm_hook can only be called on a root instance.")
        if not callable(hook):
            raise ValueError(f"The communication hook must be callable but got {hook}")
        for unit in self._units:
            if unit.sharding_strategy.copies:
                raise AssertionError(
                    f"Communication hook is not supported for hybrid strategies: {unit.sharding_strategy}"
                )
            if unit._handle is not None:
                if unit._handle.hook is not None:
                    raise AssertionError("A communication hook is already registered")
                unit._handle.hook, unit._handle.hook_state = hook, state

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Clip the norm of all gradients, which are sharded."""
        if not self._is_root:
            raise RuntimeError(
                "`clip_grad_norm_()` should only be called on the root FSDP instance"
            )
        handles = [unit._handle for unit in self._units if unit._handle is not None]
        if not any(handle.strategy.shards for handle in handles):
            return torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        shards = [v.parameter for h in handles if h.strategy.shards for v in h.visible]
        seen = {id(p) for p in shards}
        others = [p for p in self.parameters() if id(p) not in seen]
        with torch.no_grad():
            return clipped(shards, others, self.process_group, float(max_norm), float(norm_type))

    # --- whole parameters -----------------------------------------------------------------------

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context in which parameters are whole; what is written to them is kept, unless `writeback=False`."""
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        units = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            units = [unit for unit in units if unit is module]
        if with_grads and not all(unit._use_orig_params for unit in units):
            raise NotImplementedError("with_grads=True requires use_orig_params=True")
        if with_grads and offload_to_cpu:
            raise NotImplementedError("with_grads=True does not support offload_to_cpu=True")
        handles = [unit._handle for unit in units if unit._handle is not None]
        for handle in handles:
            handle.summon(rank0_only, with_grads)
        try:
            yield
        finally:
            for handle in handles:
                handle.dismiss(writeback)

    # --- states ---------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set the kind of states that the units in a module save and load from now on; returns the previous one."""
        warnings.warn(_NEWER, FutureWarning, stacklevel=2)
        return _set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The kind of states that the units in a module save and load."""
        found = [unit._settings for unit in FullyShardedDataParallel.fsdp_modules(module)]
        for settings in found:
            if settings != found[0]:
                raise AssertionError(
                    f"All FSDP modules must have the same state dict settings.Got {settings} and {found[0]}."
                )
        if not found:
            raise ValueError("module: there is no FullyShardedDataParallel in it")
        return found[0]

    @property
    def _settings(self) -> StateDictSettings:
        return StateDictSettings(
            self._state_dict_type, self._state_dict_config, self._optim_state_dict_config
        )

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """A context in which the units in a module save and load this kind of states."""
        warnings.warn(_NEWER, FutureWarning, stacklevel=3)
        before = _set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            _set_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config,
            )  # fmt: skip

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """A state of the kind that is set, by names without wrappers."""
        return _flat_states.given(self, *args, **kwargs)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        _flat_states.before_load(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state keyed by parameter name, of the kind that is set."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        config = settings.optim_state_dict_config
        return _flat_optimizer.given(
            model, optim, optim_state_dict,
            whole=settings.state_dict_type is StateDictType.FULL_STATE_DICT,
            rank0_only=getattr(config, "rank0_only", False),
        )  # fmt: skip

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """A state keyed by name, converted for the optimizer's `load_state_dict`."""
        config = FullyShardedDataParallel.get_state_dict_type(model).optim_state_dict_config
        rank0_only = getattr(config, "rank0_only", False)
        result = _flat_optimizer.taken(model, optim, optim_state_dict, rank0_only)
        if load_directly:
            optim.load_state_dict(result)
        return result

    @staticmethod
    def full_optim_state_dict(
        model: Module,
        optim: Any,
        optim_input: Any = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The optimizer's state keyed by parameter name, with whole tensors."""
        _older("full_optim_state_dict", "optim_state_dict")
        return _flat_optimizer.given(model, optim, None, whole=True, rank0_only=rank0_only)

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """The optimizer's state keyed by parameter name, with sharded tensors."""
        _older("sharded_optim_state_dict", "optim_state_dict")
        return _flat_optimizer.given(model, optim, None, whole=False, rank0_only=False)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A state with whole tensors, converted for this rank's optimizer."""
        _older("shard_full_optim_state_dict", "optim_state_dict_to_load")
        return _flat_optimizer.taken(model, optim, full_optim_state_dict, rank0_only=False)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Any
    ) -> dict[str, Any]:
        """A state with sharded tensors, converted for this rank's optimizer."""
        _older("flatten_sharded_optim_state_dict", "optim_state_dict_to_load")
        return _flat_optimizer.taken(model, optim, sharded_optim_state_dict, rank0_only=False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """A state that rank 0 has, converted for each rank's optimizer."""
        _older("scatter_full_optim_state_dict", "optim_state_dict_to_load")
        return _flat_optimizer.taken(model, optim, full_optim_state_dict, rank0_only=True)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A state with its parameters keyed by name or by index."""
        return _flat_optimizer.rekeyed(optim_state_dict, optim_state_key_type, model, optim)


def _older(name: str, newer: str) -> None:
    warnings.warn(
        f"``FullyShardedDataParallel.{name}``is being deprecated and is replaced by "
        f"``FullyShardedDataParallel.{newer}``. ``FullyShardedDataParallel.{name}`` may be removed after PyTorch 2.2.",
        FutureWarning,
        stacklevel=3,
    )


def _set_type(
    module: Module, kind: StateDictType, config: Any, optimizer: Any
) -> StateDictSettings:
    for given, table, name in (
        (config, MODEL_CONFIGS, "state_dict_config"),
        (optimizer, OPTIMIZER_CONFIGS, "optim_state_dict_config"),
    ):
        if given is not None and type(given) is not table[kind]:
            raise RuntimeError(f"Expected {name} of type {table[kind]} but got {type(given)}")
    units = FullyShardedDataParallel.fsdp_modules(module)
    before = FullyShardedDataParallel.get_state_dict_type(module)
    for unit in units:
        unit._state_dict_type = kind
        unit._state_dict_config = config if config is not None else MODEL_CONFIGS[kind]()
        unit._optim_state_dict_config = (
            optimizer if optimizer is not None else OPTIMIZER_CONFIGS[kind]()
        )
    return before


def _below(module: Module) -> Iterator[Module]:
    """A module and its submodules that are not in another unit."""
    yield module
    for child in module.children():
        if not isinstance(child, FullyShardedDataParallel):
            yield from _below(child)
