"""`quasirandom`, `hub`, `collect_env` and `tensorboard`."""

from __future__ import annotations

import importlib

import pytest

import tautograd
from tests.both import same


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 3, 40])
@same
def test_sobol_points(torch, dimension, scramble):
    engine = torch.quasirandom.SobolEngine(dimension, scramble, seed=7 if scramble else None)
    found = [
        engine.draw(),
        engine.draw(5),
        engine.draw(2, dtype=torch.float64),
        engine.num_generated,
    ]
    engine.fast_forward(9)
    found += [engine.draw(3), repr(engine)]
    engine.reset()
    engine.fast_forward(4)
    out = torch.empty(0)
    assert engine.draw(2, out=out) is out
    other = torch.quasirandom.SobolEngine(dimension, scramble, seed=3)
    return [*found, out, other.draw_base2(4), other.draw_base2(4)]


@same
def test_sobol_refusals(torch):
    said = []
    engine = torch.quasirandom.SobolEngine(2)
    engine.draw(3)
    for call in (
        lambda: torch.quasirandom.SobolEngine(0),
        lambda: torch.quasirandom.SobolEngine(21202),
        lambda: engine.draw_base2(3),
    ):
        with pytest.raises(ValueError) as error:
            call()
        said.append(str(error.value))
    # Unseeded scrambling draws from the global generator.
    return [said, torch.quasirandom.SobolEngine(2, scramble=True).draw(4)]


HUBCONF = """
dependencies = ["math"]
from helper import SIZE

def net(n=SIZE, *, bias=True):
    "Makes a net."
    return ("net", n, bias)

def _hidden(): pass
not_callable = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "helper.py").write_text("SIZE = 5\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_helper():
    import sys

    yield
    sys.modules.pop("helper", None)


def test_hub(folder):
    @same
    def compared(torch):
        hub = importlib.import_module(f"{torch.__name__}.hub")
        found = [hub.load(str(folder), "net", source="local")]
        found.append(hub.load(str(folder), "net", 7, source="local", bias=False))
        for name, source in (("nets", "local"), ("not_callable", "local"), ("net", "elsewhere")):
            with pytest.raises((RuntimeError, ValueError)) as error:
                hub.load(str(folder), name, source=source)
            found.append(str(error.value))
        before = hub.get_dir()
        hub.set_dir("/somewhere")
        found += [before, hub.get_dir()]
        hub._hub_dir = None
        return found

    compared()


def test_hub_finds_what_is_kept(folder, tmp_path_factory):
    hub = tautograd.hub
    kept = tmp_path_factory.mktemp("hub")
    folder.rename(kept / "someone_model_main")
    hub.set_dir(str(kept))
    try:
        assert hub.list("someone/model") == ["net"]
        assert hub.help("someone/model", "net") == "Makes a net."
        assert hub.load("someone/model:main", "net") == ("net", 5, True)
        with pytest.raises(RuntimeError, match="fetches nothing"):
            hub.load("someone/else", "net")
        with pytest.raises(FileNotFoundError, match="fetches nothing"):
            hub.load_state_dict_from_url("https://example.org/weights.pt")
        (kept / "checkpoints").mkdir()
        tautograd.save({"w": tautograd.ones(2)}, kept / "checkpoints" / "weights.pt")
        found = hub.load_state_dict_from_url("https://example.org/weights.pt")
        assert found["w"].tolist() == [1.0, 1.0]
    finally:
        hub._hub_dir = None


def test_missing_dependencies(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef net(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        tautograd.hub.load(tmp_path, "net", source="local")


def test_environment(capsys):
    from tautograd.utils import collect_env

    collect_env.main()
    text = capsys.readouterr().out
    for line in ("PyTorch version: 2.13.0+tautograd", "Is CUDA available:", "[pip3] numpy=="):
        assert line in text
    assert collect_env.get_env_info().numpy_version.count(".") >= 1


# ---- TensorBoard ---------------------------------------------------------------------------------


def _events(folder):
    """The summaries in a folder's files: {tag: [(step, value), …]}."""
    import struct

    from tensorboardX.proto.event_pb2 import Event

    found, graphs = {}, []
    for path in sorted(folder.rglob("events.out*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + size])
            data = data[12 + size + 4 :]
            if event.graph_def:
                graphs.append(event.graph_def)
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value))
    return found, graphs


def test_what_is_written(tmp_path):
    from tautograd.utils.tensorboard import SummaryWriter

    torch = tautograd
    with SummaryWriter(tmp_path / "run", flush_secs=1) as writer:
        assert writer.get_logdir() == writer.log_dir == str(tmp_path / "run")
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(step / 2, requires_grad=True), step)
        writer.add_scalar("half", torch.tensor(0.5, dtype=torch.bfloat16), global_step=1)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 4)
        writer.add_histogram("weights", torch.arange(10.0), 1)
        writer.add_text("note", "written")
        writer.add_tensor("values", torch.ones(2))
        writer.add_embedding(torch.rand(3, 2), metadata=["x", "y", "z"])
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.6, 0.9]), 0)
        writer.add_hparams(
            {"lr": 0.1, "name": "sgd"}, {"hparam/loss": torch.tensor(0.25)}, run_name="h"
        )
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
    found, _ = _events(tmp_path)
    assert [(s, v.simple_value) for s, v in found["loss"]] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert found["half"][0][1].simple_value == 0.5
    assert found["hparam/loss"][0][1].simple_value == 0.25
    assert found["weights"][0][1].histo.num == 10


def test_graphs(tmp_path):
    from tensorboardX.proto.graph_pb2 import GraphDef

    from tautograd.utils.tensorboard import SummaryWriter

    model = tautograd.nn.Sequential(tautograd.nn.Linear(3, 2), tautograd.nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, tautograd.ones(1, 3))
    _, (graph,) = _events(tmp_path)
    nodes = {node.name: node for node in GraphDef.FromString(graph).node}
    assert {"Sequential/0.weight", "Sequential/0.bias", "input/0", "output/0"} <= nodes.keys()
    assert {node.op for node in nodes.values()} >= {"Addmm", "Relu", "Parameter", "Output"}
    assert all(name in nodes for node in nodes.values() for name in node.input)


def test_pytorch_is_not_loaded():
    import subprocess
    import sys

    program = "import sys\nfrom tautograd.utils.tensorboard import SummaryWriter\nassert 'torch' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", program], check=True)
