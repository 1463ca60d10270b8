"""`export`'s arguments, the files it writes, and what it says of wrong ones."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch as pytorch

import tautograd as torch
from tautograd.onnx import ONNXProgram, TrainingMode, export, select_model_mode_for_export
from tests.onnx.exported import exported, run


def linear() -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2).eval()


def example() -> tuple[Any, ...]:
    return (torch.ones(4, 3),)


def test_the_signature_is_pytorchs() -> None:
    theirs, ours = (inspect.signature(t.onnx.export).parameters for t in (pytorch, torch))
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].kind is parameter.kind, name
        default, mine = parameter.default, ours[name].default
        assert str(mine).rpartition(".")[2] == str(default).rpartition(".")[2], name


def test_a_file_and_weights_beside_it(tmp_path: Path) -> None:
    model = torch.nn.Linear(40, 40).eval()
    path = tmp_path / "model.onnx"
    program = export(model, (torch.ones(1, 40),), path)
    assert isinstance(program, ONNXProgram)
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
    onnx.checker.check_model(str(path), full_check=True)
    read = onnx.load(str(path))
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in read.graph.initializer}
    assert np.array_equal(weights["weight"], model.weight.detach().numpy())
    export(model, (torch.ones(1, 40),), path, external_data=False)
    assert len(onnx.load(str(path), load_external_data=False).SerializeToString()) > 40 * 40 * 4


def test_initializers(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export(linear(), example(), path, export_params=False, keep_initializers_as_inputs=True)
    graph = onnx.load(str(path)).graph
    assert not graph.initializer
    assert [v.name for v in graph.input] == ["input", "weight", "bias"]


def test_a_killed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    program = exported(linear(), example())

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        program.save(path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_names() -> None:
    program = exported(
        linear(),
        example(),
        input_names=["image"],
        output_names=["scores"],
        dynamic_axes={"image": {0: "n"}, "scores": [0]},
    )
    graph = program.model_proto.graph
    assert repr(program).splitlines()[1:] == ["  inputs: image[n, 3]", "  outputs: scores[n, 2]"]
    assert [v.name for v in (*graph.input, *graph.output)] == ["image", "scores"]


class Dim:
    """As `torch.export.Dim` says what it is."""

    def __init__(self, name: str, min: int = 0, max: float = float("inf")) -> None:
        self.__name__, self.min, self.max = name, min, max


@pytest.mark.parametrize(
    "shapes",
    [
        ({0: "n"},),
        {"input": {0: "n"}},
        (("n", None),),
        ({0: Dim("n", 1, 9)},),
        [{0: Dim("n", max=5)}],
    ],
)
def test_dynamic_shapes(shapes: Any) -> None:
    program = exported(linear(), example(), dynamic_shapes=shapes)
    assert "input[n, 3]" in repr(program)
    assert run(program, "reference", torch.ones(7, 3))[0].shape == (7, 2)


@pytest.mark.parametrize("opset", [15, 18, 20, 21, 23])
def test_opsets(opset: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.GELU()).eval()
    program = exported(model, example(), opset_version=opset)
    assert program.model_proto.opset_import[0].version == opset
    assert np.allclose(
        run(program, "reference", *example())[0], model(*example()).detach().numpy(), atol=1e-6
    )


def test_verify_verbose_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(linear(), example(), verify=True, verbose=True, report=True, artifacts_dir=tmp_path)
    assert "Gemm" in capsys.readouterr().out
    assert "| Gemm | 1 |" in (tmp_path / "onnx_export_report.md").read_text()


def test_a_program_runs_and_takes_other_weights() -> None:
    model, other = linear(), torch.nn.Linear(3, 2)
    program = exported(model, example())
    assert torch.allclose(program(*example())[0], model(*example()))
    program.apply_weights(other.state_dict())
    assert torch.allclose(program(*example())[0], other(*example()))
    assert torch.allclose(program.compute_values(["output"], example())[0], other(*example()))
    with pytest.raises(ValueError, match="not found in the model"):
        program.compute_values(["nothing"], example())
    with pytest.raises(ValueError, match="has 1 inputs"):
        program()


def test_a_rule_of_ones_own() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.erfinv(x) + 1

    rule = lambda g, s, x: g.op("Mul", x, np.float32(3))
    program = exported(
        Model().eval(), (torch.full((2,), 0.5),), custom_translation_table={torch.erfinv: rule}
    )
    assert run(program, "reference", torch.full((2,), 0.5))[0].tolist() == [2.5, 2.5]


@pytest.mark.parametrize("dynamo", [True, False])
def test_whether_a_model_is_being_exported(dynamo: bool) -> None:
    def answers() -> tuple[bool, ...]:
        compiler = torch.compiler
        asked = torch.onnx.is_in_onnx_export, compiler.is_exporting, compiler.is_compiling
        return (*(ask() for ask in asked), torch.jit.is_tracing())

    seen = []

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append(answers())
            return x + 1

    exported(Model().eval(), example(), f=None if dynamo else io.BytesIO(), dynamo=dynamo)
    assert set(seen) == {(True, True, True, not dynamo)}
    assert not any(answers())


def test_the_mode_of_a_model() -> None:
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval())
    with select_model_mode_for_export(model, TrainingMode.EVAL):
        assert not any(m.training for m in model.modules())
    assert [m.training for m in model.modules()] == [True, True, False]
    with (
        pytest.raises(TypeError, match=r"'mode' should be a torch\.onnx 'TrainingMode' enum"),
        select_model_mode_for_export(model, 1),
    ):
        pass


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"model": lambda x: x}, TypeError, "model must be a torch.nn.Module, but got function; wrap"),
    ({"args": 3}, TypeError, "args must be a tuple of example inputs, but got int"),
    ({"args": ()}, TypeError, "missing 1 required positional argument: 'input'"),
    ({"args": (torch.ones(2, 4),)}, RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    ({"kwargs": [1]}, TypeError, "kwargs must be a dict"),
    ({"f": 3}, TypeError, "f must be the path of a file"),
    ({"f": "no/such/folder/model.onnx"}, FileNotFoundError, "there is no folder 'no/such/folder'"),
    ({"f": "."}, IsADirectoryError, "it is a folder"),
    ({"opset_version": 99}, ValueError, "Unsupported ONNX opset version: 99"),
    ({"input_names": ["a", "b"]}, RuntimeError, r"number of input names provided \(2\) exceeded"),
    ({"input_names": "abc"}, TypeError, "input_names must be a list of names"),
    ({"dynamic_axes": {"nobody": [0]}}, ValueError, "dynamic_axes names 'nobody'"),
    ({"dynamic_axes": {"input": [5]}}, ValueError, "of 2 dimensions has no axis 5"),
    ({"dynamic_axes": 3}, TypeError, "dynamic_axes must be a dict"),
    ({"dynamic_shapes": 3}, TypeError, "dynamic_shapes must be a dict, a tuple or a list"),
    ({"dynamic_shapes": ({}, {})}, ValueError, "2 entries for 1 arguments"),
    ({"dynamic_shapes": {"nobody": {0: "n"}}}, ValueError, "dynamic_shapes names 'nobody'"),
    ({"dynamic_shapes": ({0: 1.5},)}, TypeError, "axis 0 of 'input' is 1.5"),
    ({"dynamic_shapes": ({0: "n"},), "dynamo": False, "f": "x.onnx"}, ValueError, "only supports dynamic shapes"),
    ({"training": 0}, TypeError, "training must be a torch.onnx.TrainingMode"),
    ({"operator_export_type": 3}, ValueError, "only OperatorExportTypes.ONNX"),
    ({"custom_translation_table": {torch.erfinv: [1]}}, TypeError, "single callable, not a sequence"),
    ({"custom_translation_table": {print: print}}, ValueError, "is no operation of this library"),
    ({"export_modules_as_functions": True}, ValueError, "not supported"),
    ({"dump_exported_program": True}, ValueError, "dump_exported_program"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "said"), WRONG)
def test_wrong(given: dict[str, Any], kind: type[Exception], said: str) -> None:
    call = {"model": linear(), "args": example(), **given}
    with pytest.raises(kind, match=said):
        export(call.pop("model"), call.pop("args"), call.pop("f", None), **call)


def test_a_buffer_in_memory_is_written_with_a_warning() -> None:
    buffer = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="BytesIO"):
        export(linear(), example(), buffer)
    onnx.checker.check_model(onnx.load_from_string(buffer.getvalue()))


def test_without_the_package_onnx(tmp_path: Path) -> None:
    (tmp_path / "onnx.py").write_text("raise ImportError('not here')")
    script = "import tautograd as t; t.onnx.export(t.nn.Linear(1, 1).eval(), (t.ones(1),))"
    path = os.pathsep.join([str(tmp_path), str(Path(torch.__file__).parents[1])])
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert 'pip install "tautograd[onnx]"' in found.stderr
