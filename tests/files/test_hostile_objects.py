"""Files with whole objects (`weights_only=False`): classes are not asked, functions are not called."""

import importlib
import io
import struct
import sys
import types
import zipfile
from typing import Any

import pytest

import tautograd
from tautograd._files.refusals import UnsafeFile


def loaded(pickled: bytes) -> Any:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + pickled + b".")
        archive.writestr("archive/version", "3\n")
    file.seek(0)
    return tautograd.load(file, weights_only=False)


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


LINEAR = named("torch.nn.modules.linear", "Linear") + b")\x81"
SETTERS = [("torch", "set_default_dtype"), ("torch", "manual_seed"), ("torch", "set_num_threads"),
           ("torch", "load"), ("torch", "save"), ("torch.hub", "set_dir"), ("torch.nn", "Module.apply"),
           ("torch", "from_file"), ("torch.nn.modules.module", "register_module_forward_hook"),
           ("torch.nn.utils.prune", "remove"),
           ("torch.optim.optimizer", "register_optimizer_step_pre_hook")]  # fmt: skip


@pytest.mark.parametrize(("module", "name"), SETTERS, ids="-".join)
def test_a_function_that_sets_something_is_no_value_for_a_file(module: str, name: str) -> None:
    if module != "torch":
        importlib.import_module(module.replace("torch", "tautograd", 1))
    with pytest.raises((UnsafeFile, RuntimeError)):
        loaded(LINEAR + b"}" + text("act") + named(module, name) + b"sb")


class Curious:
    """An object of the program's own whose code runs whenever anything is asked of it."""

    def __getattribute__(self, name: str) -> str:
        asked.append(name)
        return "tautograd._ops."


asked: list[str] = []


def test_an_object_of_the_program_is_not_asked_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("programs_own")
    module.thing = Curious()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "programs_own", module)
    with pytest.raises(UnsafeFile):
        loaded(named("programs_own", "thing"))
    assert asked == []


@pytest.mark.parametrize("key", ["__setstate__", "__call__", "__class__", "__reduce__", "__dict__"])
def test_attributes_that_python_calls_are_refused(key: str) -> None:
    # The second state would go to whatever the first one put in the method's place.
    first = b"}" + text(key) + named("torch.nn.functional", "relu") + b"sb"
    with pytest.raises(UnsafeFile, match=key):
        loaded(LINEAR + first + named("torch", "float64") + b"b")
    assert tautograd.get_default_dtype() is tautograd.float32


def test_the_second_state_goes_to_the_class() -> None:
    first = b"}" + text("training") + b"\x88sb"
    net = loaded(LINEAR + first + b"}" + text("training") + b"\x89sb")
    assert net.training is False


def test_a_class_is_made_without_being_asked() -> None:
    with pytest.raises(UnsafeFile, match="arguments for Linear"):
        loaded(named("torch.nn.modules.linear", "Linear") + b"K\x01K\x02\x86\x81")

    class Net(tautograd.nn.Module):
        def __new__(cls, *args: Any) -> Any:
            raise AssertionError("the class was asked")

    module: Any = types.ModuleType("a_program_with_a_net")
    module.Net = Net
    sys.modules[module.__name__] = module
    try:
        found = loaded(named(module.__name__, "Net") + b")\x81}" + text("a") + b"K\x01sb")
        assert type(found) is Net
        assert found.a == 1
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("name", ["thing.attribute", "Kind.attribute", "absent", "thing.__class__"])
def test_looking_for_a_name_runs_nothing(name: str) -> None:
    asked: list[str] = []

    class Meta(type):
        def __getattr__(cls, wanted: str) -> Any:
            asked.append(wanted)
            raise AttributeError(wanted)

    class Kind(metaclass=Meta):
        attribute = property(lambda self: asked.append("attribute"))

    module: Any = types.ModuleType("a_program_with_traps")
    module.thing, module.Kind = Kind(), Kind
    module.__getattr__ = asked.append
    sys.modules[module.__name__] = module
    try:
        with pytest.raises(UnsafeFile):
            loaded(named(module.__name__, name))
        assert asked == []
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_with_a_function_in_it_comes_back(activation: str) -> None:
    layer = tautograd.nn.TransformerEncoderLayer(4, 2, 8, activation=activation)
    file = io.BytesIO()
    tautograd.save(layer, file)
    file.seek(0)
    found = tautograd.load(file, weights_only=False)
    assert found.activation is getattr(tautograd.nn.functional, activation)
