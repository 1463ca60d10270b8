"""How one module is parallelised: the placements of its parameters, inputs and outputs."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]


class ParallelStyle:
    """What `parallelize_module` applies to a module."""

    src_data_rank: int | None = 0

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise NotImplementedError


def _spread(value: Any, mesh: Any, given: Placement, wanted: Placement) -> Any:
    """A plain tensor placed as `given` (or a DTensor of any placement), redistributed to `wanted`."""
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (given,))
    return value if value.placements == (wanted,) else value.redistribute(placements=(wanted,))


def _returned(value: Any, wanted: Placement, as_local: bool) -> Any:
    if value.placements != (wanted,):
        value = value.redistribute(placements=(wanted,))
    return value.to_local() if as_local else value


class _LayerStyle(ParallelStyle):
    """A layer with one input and one output."""

    _desired_input: Placement

    def __init__(
        self,
        *,
        input_layouts: Placement,
        output_layouts: Placement,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts, self.output_layouts = input_layouts, output_layouts
        self.use_local_output = use_local_output

    def _of_parameter(self, module: Any, name: str) -> Placement:
        raise NotImplementedError

    def _wanted(self, module: Any, rank: int) -> Placement:
        return self._desired_input

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        for key, parameter in list(module._parameters.items()):
            if parameter is not None:
                placement = self._of_parameter(module, key)
                made = distribute_tensor(
                    parameter, mesh, (placement,), src_data_rank=self.src_data_rank
                )
                module.register_parameter(key, made)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        kinds = (torch.nn.Linear, torch.nn.Embedding)
        if not isinstance(module, kinds):
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            )

        def given(layer: Any, inputs: Any, mesh: Any) -> Any:
            wanted = self._wanted(layer, inputs[0].dim())
            return (_spread(inputs[0], mesh, self.input_layouts, wanted), *inputs[1:])

        def returned(layer: Any, output: Any, mesh: Any) -> Any:
            return _returned(output, _counted(self.output_layouts, output), self.use_local_output)

        return distribute_module(module, device_mesh, self._partition, given, returned)


def _counted(placement: Placement, tensor: Any) -> Placement:
    """The same placement, with its dimension counted from the front."""
    if isinstance(placement, Shard) and placement.dim < 0:
        return Shard(placement.dim + tensor.dim())
    return placement


class ColwiseParallel(_LayerStyle):
    """Each rank computes some of a layer's outputs."""

    _desired_input = Replicate()

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts=input_layouts or Replicate(),
            output_layouts=output_layouts or Shard(-1),
            use_local_output=use_local_output,
        )

    def _of_parameter(self, module: Any, name: str) -> Placement:
        return Shard(1) if isinstance(module, torch.nn.Embedding) else Shard(0)


class RowwiseParallel(_LayerStyle):
    """Each rank computes with some of a layer's inputs; the outputs are summed."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts=input_layouts or Shard(-1),
            output_layouts=output_layouts or Replicate(),
            use_local_output=use_local_output,
        )

    def _wanted(self, module: Any, rank: int) -> Placement:
        return Replicate() if isinstance(module, torch.nn.Embedding) else Shard(rank - 1)

    def _of_parameter(self, module: Any, name: str) -> Placement:
        if isinstance(module, torch.nn.Embedding):
            return Shard(0)
        return Shard(1) if name == "weight" else Replicate()


class SequenceParallel(ParallelStyle):
    """A norm or dropout, computed on a part of the sequence by each rank."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        cut = Shard(self.sequence_dim)

        def given(layer: Any, inputs: Any, mesh: Any) -> Any:
            return (_spread(inputs[0], mesh, cut, cut), *inputs[1:])

        def returned(layer: Any, output: Any, mesh: Any) -> Any:
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, None, given, returned)


def _as_tuple(value: Any) -> tuple[Any, ...] | None:
    return value if value is None or isinstance(value, tuple) else (value,)


def _paired(name: str, given: Any, wanted: Any) -> None:
    if given is not None and wanted is None:
        raise AssertionError(f"desired module {name} should not be None!")
    if given is not None and len(given) != len(wanted):
        raise AssertionError(f"{name} and desired {name} should have same length!")


class PrepareModuleInput(ParallelStyle):
    """Redistributes a module's inputs to the placements it needs."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _as_tuple(input_layouts)
        self.desired_input_layouts = _as_tuple(desired_input_layouts)
        _paired("input_layouts", self.input_layouts, self.desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _one(self, value: Any, mesh: Any, given: Any, wanted: Any) -> Any:
        if given is None or not isinstance(value, torch.Tensor):
            return value
        given, wanted = _counted(given, value), _counted(wanted or given, value)
        spread = _spread(value, mesh, given, wanted)
        return spread.to_local() if self.use_local_output else spread

    def _prepare(self, mesh: Any, args: Any, kwargs: Any) -> Any:
        if self.input_layouts is not None:
            if len(args) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            layouts = zip(self.input_layouts, self.desired_input_layouts or (), strict=True)
            args = tuple(self._one(v, mesh, *lay) for v, lay in zip(args, layouts, strict=True))
        named = self.input_kwarg_layouts
        kwargs = {
            k: self._one(v, mesh, named.get(k), self.desired_input_kwarg_layouts.get(k))
            for k, v in kwargs.items()
        }
        return args, kwargs

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_pre_hook(
            lambda _, args, kwargs: self._prepare(device_mesh, args, kwargs), with_kwargs=True
        )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Redistributes a module's outputs to the placements its caller needs."""

    def __init__(
        self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.output_layouts = _as_tuple(output_layouts) or ()
        self.desired_output_layouts = _as_tuple(desired_output_layouts) or ()
        _paired("output_layouts", self.output_layouts, self.desired_output_layouts)
        self.use_local_output = use_local_output

    def _prepare(self, mesh: Any, outputs: Any) -> Any:
        several = isinstance(outputs, tuple)
        values = outputs if several else (outputs,)
        if len(values) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        found = []
        layouts = zip(self.output_layouts, self.desired_output_layouts, strict=True)
        for value, (given, wanted) in zip(values, layouts, strict=True):
            if given is None:
                found.append(value)
                continue
            spread = _spread(value, mesh, _counted(given, value), _counted(wanted, value))
            found.append(spread.to_local() if self.use_local_output else spread)
        return tuple(found) if several else found[0]

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_hook(lambda _, args, out: self._prepare(device_mesh, out))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` together."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
