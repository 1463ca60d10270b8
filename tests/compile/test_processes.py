"""Processes in which nothing has been compiled yet, that fork or that end, while threads compile."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("often")


TRAINING = """
import sys, threading
import tautograd as torch
sys.setswitchinterval(float(sys.argv[2]))
count = int(sys.argv[1])
losses = [None] * count
def work(i):
    model = torch.nn.Linear(3 + i % 3, 1)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.ones(4, 3 + i % 3)
    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    begin.wait()
    for _ in range(8):
        loss = step(x)
    losses[i] = round(loss.item(), 6)
begin = threading.Barrier(count)
threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(set(map(str, losses))))
"""


def _train_in_threads(count: int, switch: float) -> str:
    found = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", TRAINING, str(count), str(switch)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


def test_threads_that_compile_for_the_first_time() -> None:
    """Each made what machine code knows by its address, and all but one were freed while they were in use."""
    assert _train_in_threads(32, 1e-5) == _train_in_threads(3, 5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("run", range(30))
def test_again_and_again(run: int) -> None:
    found = _train_in_threads(32, (5e-3, 1e-4, 1e-6)[run % 3])
    assert found.count(",") == 2
    assert "None" not in found


# --- processes that end or fork ----------------------------------------------------------------------------

FORKING = """
import os, signal, sys, threading
import tautograd as torch
def training():
    weight = torch.ones(8, requires_grad=True)
    def step(x):
        loss = (weight * x).tanh().sum()
        loss.backward()
        return loss
    return torch.compile(step)
done = []
def forever():
    while not done:
        step = training()
        for _ in range(4): step(torch.ones(8))
step = training()  # so that all modules are there: a fork while another thread imports is Python's own trouble
for _ in range(4): step(torch.ones(8))
others = [threading.Thread(target=forever, daemon=True) for _ in range(3)]
for other in others: other.start()
"""


def test_a_fork_while_others_compile() -> None:
    """The child has LLVM in a state that it can go on from, and records nothing of its parent's."""
    body = FORKING + (
        "bad = 0\n"
        "for _ in range(5):\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        signal.alarm(20)\n"
        "        try:\n"
        "            step = training()\n"
        "            found = {round(step(torch.ones(8)).item(), 4) for _ in range(4)}\n"
        "            os._exit(0 if found == {6.0928} else 4)\n"
        "        except BaseException as error:\n"
        "            print(repr(error), file=sys.stderr, flush=True)\n"
        "        finally:\n"
        "            os._exit(3)\n"
        "    bad += os.waitpid(child, 0)[1] != 0\n"
        "done.append(1)\nfor other in others: other.join()\nsys.exit(bad)\n"
    )
    found = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", body],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")


HELD = {
    "drawing": """
def other():
    with torch.default_generator._core._bit_generator.lock:  # as NumPy does while it draws
        begun.set()
        time.sleep(0.5)
torch.rand(1)
""",
    "entering a mode": """
from tautograd._autograd import function_modes
names = function_modes._wrappers._names
def slow():
    begun.set()
    time.sleep(0.5)
    return names()
function_modes._wrappers._names = slow
def other():
    with _OfOperations.TorchFunctionMode(): pass
""",
    "importing": """
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name in ("tautograd._compile.native.llvm.jit", "tautograd._compile.native.watching"):
            begun.set()
            time.sleep(0.5)
sys.meta_path.insert(0, Slow())
def other():
    step = torch.compile(lambda x: x.tanh().sum())
    for _ in range(4): step(torch.ones(8))
""",
}


@pytest.mark.parametrize("what", HELD)
def test_a_fork_while_another_thread_holds_a_lock(what: str) -> None:
    """A generator's, that of modes, or of a module that is imported to compile: the child would wait for ever."""
    body = (
        "import os, signal, sys, threading, time\nimport tautograd as torch\n"
        "from tautograd.overrides import TorchFunctionMode, _OfOperations\nbegun = threading.Event()\n"
        + HELD[what]
        + "thread = threading.Thread(target=other)\nthread.start()\nbegun.wait()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(20)\n"
        "    torch.manual_seed(3)\n"
        "    torch.rand(4)\n"
        "    with TorchFunctionMode(), _OfOperations.TorchFunctionMode(): pass\n"
        "    step = torch.compile(lambda x: x.tanh().sum())\n"
        "    os._exit({round(step(torch.ones(8)).item(), 4) for _ in range(4)} != {6.0928})\n"
        "status = os.waitpid(child, 0)[1]\nthread.join()\nsys.exit(status != 0)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_a_process_that_ends_while_threads_compile() -> None:
    for _ in range(3):
        found = subprocess.run(
            [
                sys.executable,
                "-X",
                "faulthandler",
                "-c",
                FORKING + "import time; time.sleep(0.5)\n",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (found.returncode, found.stderr) == (0, "")


def test_a_function_that_is_compiled_when_the_process_ends() -> None:
    body = (
        "import atexit\nimport tautograd as torch\n"
        "def last():\n"
        "    f = torch.compile(lambda x: (x * 2).sum())\n"
        "    print([f(torch.ones(3)).item() for _ in range(4)])\n"
        "atexit.register(last)\n"
        "g = torch.compile(lambda x: (x * 3).sum())\n"
        "for _ in range(4): g(torch.ones(3))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, check=False, timeout=60
    )
    assert (found.stdout, found.stderr) == ("[6.0, 6.0, 6.0, 6.0]\n", "")


def test_a_fork_inside_of_a_recording() -> None:
    """The child goes on with plain arrays, and can record what comes later."""
    body = (
        "import os, warnings\nimport tautograd as torch\n"
        "warnings.simplefilter('ignore')\n"
        "from tautograd._tensor.tensor import Tensor\n"
        "children = []\n"
        "class Forking(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, y):\n"
        "        if Tensor.__dict__['_data'].__class__ is property and not children:\n"
        "            children.append(os.fork())\n"
        "        return y + 1\n"
        "@torch.compile(fallback=True)\n"
        "def f(x):\n"
        "    return Forking.apply(x * 2).sum()\n"
        "x = torch.ones(3)\n"
        "found = [f(x).item() for _ in range(4)]\n"
        "g = torch.compile(lambda x: (x * 3).sum())\n"
        "found += [g(x).item() for _ in range(4)]\n"
        "ok = found == [9.0] * 8 and g.records == 1\n"
        "ok = ok and Tensor.__dict__['_data'].__class__ is not property\n"
        "(child,) = children\n"
        "if child == 0: os._exit(0 if ok else 5)\n"
        "print(os.waitpid(child, 0)[1], ok)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, check=False
    )
    assert (found.stdout, found.stderr) == ("0 True\n", "")


# --- Python without its lock -------------------------------------------------------------------------------


@pytest.mark.parametrize("enabled", [True, False])
def test_a_python_without_the_lock_is_refused_in_words(enabled: bool) -> None:
    body = f"import sys\nsys._is_gil_enabled = lambda: {enabled}\nimport tautograd\nprint('imported')\n"
    found = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, check=False
    )
    if enabled:
        assert (found.stdout, found.stderr) == ("imported\n", "")
    else:
        assert found.returncode == 1
        assert "ImportError: tautograd needs Python's global lock (GIL)" in found.stderr
        assert "python -X gil=1" in found.stderr
