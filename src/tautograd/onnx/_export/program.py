"""An exported ONNX model, which can save and run itself."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._files.atomic import replacing
from ..._tensor.tensor import Tensor, make
from ..errors import OnnxExporterWarning
from .inputs import leaves
from .needed import has_runtime, onnx

_LARGE = 1536 * 1024 * 1024
_LEAST_OUTSIDE = 256  # bytes from which a tensor goes into a second file


class ONNXProgram:
    """An ONNX model, and what it was exported from."""

    def __init__(self, model: Any, exported_program: Any = None) -> None:
        self.model = model
        self.exported_program = exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        graph = self.model.graph
        ins, outs = (", ".join(_form(v) for v in values) for values in (graph.input, graph.output))
        return (
            f"ONNXProgram({len(graph.node)} nodes, {len(graph.initializer)} weights and constants, "
            f"opset {self.model.opset_import[0].version})\n  inputs: {ins}\n  outputs: {outs}"
        )

    @property
    def model_proto(self) -> Any:
        """The ONNX `ModelProto`."""
        return self.model

    # ---- running -------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model on the module's arguments: with onnxruntime, or with onnx itself."""
        if not has_runtime() or self._has_bfloat16():
            return self.call_reference(*args, **kwargs)
        if self._session is None:
            self.initialize_inference_session()
        found = self._session.run(None, self._given(args, kwargs))
        return tuple(_tensor(a) for a in found)

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model with onnx's reference evaluator (slow, but the reference for others)."""
        onnx()
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(self.model)
        found: Any = evaluator.run(None, self._given(args, kwargs))
        return tuple(_tensor(a) for a in found)

    def initialize_inference_session(self, initializer: Callable[[Any], Any] | None = None) -> None:
        """Create the onnxruntime session that `__call__` runs; `initializer` may create another one."""
        if initializer is None:
            initializer = _session
        self._session = initializer(self.model.SerializeToString())

    def release(self) -> None:
        """Release the session."""
        self._session = None

    def _given(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Arguments by input name."""
        weights = {w.name for w in self.model.graph.initializer}
        names = [v.name for v in self.model.graph.input if v.name not in weights]
        given: dict[str, Any] = {}
        flat = [
            leaf for _, leaf in leaves(list(args)) if leaf is not None and not isinstance(leaf, str)
        ]
        for name, value in kwargs.items():
            if name in names:
                given[name] = value
            else:
                flat += [leaf for _, leaf in leaves(value) if leaf is not None]
        flat = [x for x in flat if isinstance(x, (Tensor, np.ndarray))]
        left = [name for name in names if name not in given]
        if len(flat) != len(left):
            raise ValueError(
                f"the model has {len(names)} inputs ({', '.join(names)}), but got {len(flat) + len(given)} tensors"
            )
        given.update(zip(left, flat, strict=True))
        return {k: v.detach().cpu()._data if isinstance(v, Tensor) else v for k, v in given.items()}

    def _has_bfloat16(self) -> bool:
        """Whether inputs or outputs have a dtype that NumPy cannot pass to onnxruntime."""
        graph = self.model.graph
        return any(v.type.tensor_type.elem_type == 16 for v in (*graph.input, *graph.output))

    def compute_values(
        self, value_names: Sequence[str], args: Any = (), kwargs: Any = None
    ) -> Sequence[Tensor]:
        """Compute values inside the graph for arguments."""
        package = onnx()
        model = package.ModelProto()
        model.CopyFrom(self.model)
        known = {n for node in model.graph.node for n in node.output} | {
            v.name for v in model.graph.input
        }
        missing = next((n for n in value_names if n not in known), None)
        if missing is not None:
            raise ValueError(
                f"Value '{missing}' not found in the model. Please provide a valid value name."
            )
        inferred = package.shape_inference.infer_shapes(model)
        kinds = {
            v.name: v
            for v in [*inferred.graph.value_info, *inferred.graph.output, *inferred.graph.input]
        }
        del model.graph.output[:]
        for name in value_names:
            model.graph.output.append(kinds.get(name, package.ValueInfoProto(name=name)))
        return ONNXProgram(model)(*args, **(kwargs or {}))

    # ---- weights ---------------------------------------------------------------------------------------

    def apply_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Replace the model's weights."""
        held = {w.name: w for w in self.model.graph.initializer}
        for name, tensor in state_dict.items():
            if name not in held:
                warnings.warn(
                    f"Weight '{name}' not found in the model. Skipped applying.",
                    OnnxExporterWarning,
                    stacklevel=2,
                )
                continue
            array = tensor.detach().cpu()._data
            if tuple(held[name].dims) != array.shape:
                raise ValueError(
                    f"the weight '{name}' has shape {tuple(held[name].dims)}, not {array.shape}"
                )
            held[name].raw_data = np.ascontiguousarray(array).tobytes()
        self._session = None

    def optimize(self) -> None:
        """A no-op: the exporter folds constants and drops unused values while it writes."""

    # ---- saving --------------------------------------------------------------------------------------

    def save(
        self,
        destination: Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file: as a whole, or not at all.

        With `external_data`, or if the model is too large for one file, weights go into a second file
        beside it, `NAME.data`.
        """
        package = onnx()
        model = package.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        if keep_initializers_as_inputs:
            for w in graph.initializer:
                graph.input.append(
                    package.helper.make_tensor_value_info(w.name, w.data_type, list(w.dims))
                )
        if not include_initializers:
            del graph.initializer[:]
        if hasattr(destination, "write"):
            if external_data:
                raise TypeError(
                    "external_data=True needs a path: weights are written beside the model's file"
                )
            destination.write(model.SerializeToString())
            return
        if not isinstance(destination, (str, os.PathLike)):
            raise TypeError(f"destination must be a path, but got {type(destination).__name__}")
        path = os.fspath(destination)
        total = sum(len(w.raw_data) for w in graph.initializer)
        if external_data or total > _LARGE:
            _write_outside(graph, path)
        with replacing(path) as file:
            file.write(model.SerializeToString())


def _write_outside(graph: Any, path: str) -> None:
    """Move the tensors' contents to a separate file, and record their locations in the model."""
    large = [w for w in graph.initializer if len(w.raw_data) > _LEAST_OUTSIDE]
    if not large:
        return
    name = os.path.basename(path) + ".data"
    with replacing(os.path.join(os.path.dirname(path), name)) as file:
        at = 0
        for w in large:
            at += file.write(b"\0" * (-at % 64))
            size = len(w.raw_data)
            file.write(w.raw_data)
            w.ClearField("raw_data")
            w.data_location = 1  # TensorProto.EXTERNAL
            for key, value in (("location", name), ("offset", str(at)), ("length", str(size))):
                entry = w.external_data.add()
                entry.key, entry.value = key, value
            at += size


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tensor(array: Any) -> Tensor:
    found = np.asarray(array)
    from_numpy_dtype(found.dtype)
    return make(np.array(found))


def _form(value: Any) -> str:
    dims = [d.dim_param or str(d.dim_value) for d in value.type.tensor_type.shape.dim]
    return f"{value.name}[{', '.join(dims)}]"


ONNXProgram.__module__ = "torch.onnx"
