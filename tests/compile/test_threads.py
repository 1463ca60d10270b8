"""Threads that compile, replay, record and drop programs at the same time: no crash, and the numbers of one thread."""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._arrays.once import once
from tautograd._compile.native.llvm import c_functions, jit, llvm_thread
from tautograd._compile.record import tensor_data
from tautograd._tensor.tensor import Tensor


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work(i)` gives in as many threads at once; errors are raised here."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    begin = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            begin.wait(60)
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


# --- processes in which nothing has been compiled yet ------------------------------------------------------

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


# --- what is made once -------------------------------------------------------------------------------------


def test_once_is_once() -> None:
    made: list[object] = []

    @once
    def slowly() -> object:
        time.sleep(0.02)
        made.append(object())
        return made[-1]

    assert len({id(x) for x in in_threads(32, lambda i: slowly())}) == 1
    assert len(made) == 1


def test_an_error_is_not_kept() -> None:
    tries: list[int] = []

    @once
    def at_the_second_try() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return 7

    with pytest.raises(OSError):
        at_the_second_try()
    assert (at_the_second_try(), at_the_second_try(), len(tries)) == (7, 7, 2)


def test_a_function_holds_its_method_and_its_code() -> None:
    """CPython's function object has only their addresses."""
    method = c_functions.Method(b"probe", 1, c_functions.NO_ARGUMENTS, None)
    loaded = jit.Loaded(jit.assemble("define i64 @probe() {\n ret i64 0\n}\n"), {})
    gone = weakref.ref(loaded)
    function = c_functions.function_of(method, None, loaded)
    at = ctypes.addressof(method)
    del method, loaded
    gc.collect()
    assert gone() is not None
    assert ctypes.c_void_p.from_address(id(function) + object.__basicsize__).value == at
    del function
    gc.collect()
    llvm_thread.by_llvm(int)
    assert gone() is None


def test_code_that_is_garbage_never_waits_for_a_compiler() -> None:
    """Garbage is collected in whatever the thread is at: it may hold any other lock."""
    loaded = jit.Loaded(jit.assemble("define i64 @gone() {\n ret i64 0\n}\n"), {})
    name = loaded._engine
    let_go = threading.Event()
    keep_busy(let_go)
    start = time.monotonic()
    del loaded
    assert time.monotonic() - start < 5
    assert id(name) in llvm_thread._belongings  # it is there until LLVM has time for it
    let_go.set()
    jit.assemble("define i64 @next() {\n ret i64 0\n}\n")
    assert id(name) not in llvm_thread._belongings


def keep_busy(until: threading.Event) -> None:
    llvm_thread.by_llvm(int)  # so that there is a thread
    llvm_thread._llvm.jobs.put(llvm_thread._Job(lambda: until.wait(20)))


def test_ctrl_c_does_not_wait_for_a_compiler_and_does_not_stop_it() -> None:
    """llvmlite's lock would stay held, and every other thread wait for it."""
    begun, let_go = threading.Event(), threading.Event()
    done: list[int] = []

    def slow() -> None:
        begun.set()
        let_go.wait(20)
        done.append(1)

    def interrupt() -> None:
        begun.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        llvm_thread.by_llvm(slow)
    assert time.monotonic() - start < 1
    thread.join()
    let_go.set()
    assert llvm_thread.by_llvm(lambda: 5) == 5
    assert done == [1]


def test_what_is_no_longer_waited_for_is_not_begun() -> None:
    let_go = threading.Event()
    keep_busy(let_go)
    done: list[int] = []

    def interrupt() -> None:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        llvm_thread.by_llvm(done.append, 1)
    thread.join()
    let_go.set()
    llvm_thread.by_llvm(int)
    assert not done


def test_errors_of_llvm_come_out_where_it_was_asked() -> None:
    with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
        jit.assemble("nonsense")
    assert jit.assemble("define i64 @fine() {\n ret i64 0\n}\n")


def test_without_a_thread_the_caller_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(llvm_thread, "_llvm", llvm_thread._Llvm())
    monkeypatch.setattr(threading.Thread, "start", cannot)
    assert jit.assemble("define i64 @fine() {\n ret i64 0\n}\n")


# --- what threads share ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_one_function_for_64_threads(backend: str) -> None:
    function = torch.compile(lambda x, w: torch.tanh(x @ w).sum(), backend=backend)

    def work(i: int) -> bool:
        rng = np.random.default_rng(i)
        for _ in range(6):
            x = torch.tensor(rng.standard_normal((4, 3)))
            w = torch.tensor(rng.standard_normal((3, 2)), requires_grad=True)
            v = w.detach().clone().requires_grad_()
            first, second = function(x, w), function(x, w)
            second.backward()
            first.backward()
            (2 * torch.tanh(x @ v).sum()).backward()
            torch.testing.assert_close(w.grad, v.grad)
            torch.testing.assert_close(first, second)
        return True

    assert all(in_threads(64, work))


LEAVES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda leaf: lambda x: (leaf * x).sum().backward(),
    "compiled": lambda leaf: torch.compile(lambda x: (leaf * x).sum().backward()),
    "forward compiled": lambda leaf: _and_backward(torch.compile(lambda x: (leaf * x).sum())),
    "not contiguous": lambda leaf: lambda x: (leaf.view(3) * x.flip(0)).sum().backward(),
    "a graph of its own": lambda leaf: lambda x: (leaf * x).sum().backward(create_graph=False),
}


def _and_backward(function: Any) -> Any:
    return lambda x: function(x).backward()


@pytest.mark.parametrize("way", LEAVES)
def test_one_leaf_for_64_threads(way: str) -> None:
    """No addition is lost: whole numbers, so the sum is exact in any order."""
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    add = LEAVES[way](leaf)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def work(i: int) -> None:
        for _ in range(20):
            add(x)

    in_threads(64, work)
    assert leaf.grad is not None
    assert sorted(leaf.grad.tolist()) == [1280.0, 2560.0, 3840.0]


def test_one_leaf_and_several_ways_to_it() -> None:
    """Eager backward passes, and programs that each have a gradient of their own to give it."""
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    adds = [LEAVES["eager"](leaf), *(LEAVES["compiled"](leaf) for _ in range(3))]
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def work(i: int) -> None:
        for _ in range(20):
            adds[i % 4](x)

    in_threads(32, work)
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [640.0, 1280.0, 1920.0]


def test_one_graph_that_many_threads_go_back_through() -> None:
    leaf = torch.ones(3, dtype=torch.float64, requires_grad=True)
    middle = leaf * 2
    loss = (middle + middle * 3).sum()
    in_threads(32, lambda i: [loss.backward(retain_graph=True) for _ in range(10)])
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2560.0] * 3


def test_modes_stay_in_their_thread() -> None:
    function = torch.compile(lambda x: x * 2)
    leaf = torch.ones(2, requires_grad=True)

    def work(i: int) -> set[tuple[bool, bool]]:
        seen = set()
        for _ in range(60):
            if i % 2:
                with torch.no_grad():
                    seen.add((function(leaf).requires_grad, (leaf + 1).requires_grad))
            else:
                seen.add((function(leaf).requires_grad, (leaf + 1).requires_grad))
        return seen

    found = in_threads(16, work)
    assert all(seen == {(not i % 2, not i % 2)} for i, seen in enumerate(found))


def test_a_recording_is_its_own_threads_business() -> None:
    """Others see arrays, numbers and Python's own functions, from the first moment to the last."""
    stop = threading.Event()
    weight = torch.ones(4, dtype=torch.float64, requires_grad=True)
    seen: set[str] = set()

    def watching() -> None:
        while not stop.is_set():
            seen.add(type(weight._data).__name__)
            grad = weight.grad
            if grad is not None:
                seen.add(type(grad._data).__name__)
                seen.add(type((grad + 1)._data).__name__)
            seen.add(type(math.sin(0.5)).__name__)
            seen.add(json.dumps({"x": 0.5}))

    others = [threading.Thread(target=watching) for _ in range(3)]
    for other in others:
        other.start()
    for _ in range(25):

        def step(x: Any, scale: float) -> Any:
            weight.grad = None
            loss = (weight * x).sum() * math.sin(scale)
            loss.backward()
            return loss

        compiled = torch.compile(step)
        for i in range(4):
            compiled(torch.ones(4, dtype=torch.float64), 0.1 * i)
    stop.set()
    for other in others:
        other.join()
    assert seen == {"ndarray", "float", '{"x": 0.5}'}
    assert Tensor.__dict__["_data"] is tensor_data._data


def test_other_memory_for_an_argument_while_the_program_runs() -> None:
    """What was looked at is what is read, until the end."""
    function = torch.compile(lambda x: (x * 2).sum())
    x = torch.ones(1 << 16, dtype=torch.float64)
    for _ in range(3):
        function(x)
    stop = threading.Event()

    def swapping() -> None:
        while not stop.is_set():
            x.data = torch.ones(1 << 16, dtype=torch.float64)
            x.data = torch.ones(2, dtype=torch.float64)

    other = threading.Thread(target=swapping)
    other.start()
    found = {function(x).item() for _ in range(300)}
    stop.set()
    other.join()
    assert found <= {2.0 * (1 << 16), 4.0}


def test_the_number_of_threads_is_set_by_many_at_first() -> None:
    body = (
        "import sys, threading\nimport tautograd as torch\n"
        "sys.setswitchinterval(1e-6)\nimport tautograd._compile.native.llvm.thread_pool as t\n"
        "begin = threading.Barrier(32)\nfound = set()\n"
        "def work(i):\n    begin.wait(); torch.set_num_threads(1 + i % 3); found.add(id(t._runtime()))\n"
        "ts = [threading.Thread(target=work, args=(i,)) for i in range(32)]\n"
        "[x.start() for x in ts]; [x.join() for x in ts]\n"
        "torch.set_num_threads(2)\nprint(len(found), t._runtime().wanted() == min(2, t.processors()))\n"
    )
    found = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    assert found.stdout == "1 True\n"


# --- the same thread, in between ---------------------------------------------------------------------------


def test_a_call_in_the_middle_of_a_call() -> None:
    """As by a signal's handler or a finaliser: the program's memory is in use, so it runs as it is written."""
    function = torch.compile(lambda x, c: (x * c).sum())
    plain = torch.compile(lambda x: (x * 2).sum())
    x = torch.ones(8, dtype=torch.float64, requires_grad=True)
    for c in (1.0, 2.0, 3.0, 4.0):
        function(x, c)
        plain(x)
    for compiled, args in ((function, (x, 5.0)), (plain, (x,))):
        entry = compiled._last
        assert entry is not None
        waiting = compiled(*args)
        before = entry.calls
        with entry.alone() as alone:
            assert alone
            expected = 8.0 * (args[1] if len(args) > 1 else 2.0)
            found = compiled(*args)
            assert (found.item(), entry.calls) == (expected, before)
            x.grad = None
            waiting.backward()  # which was in the program's memory
            assert x.grad is not None
            assert x.grad.tolist() == [expected / 8] * 8
        assert compiled(*args).item() == expected
        assert entry.calls == before + 1


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
    with TorchFunctionMode(): pass
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
        "from tautograd.overrides import TorchFunctionMode\nbegun = threading.Event()\n"
        + HELD[what]
        + "thread = threading.Thread(target=other)\nthread.start()\nbegun.wait()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(20)\n"
        "    torch.manual_seed(3)\n"
        "    torch.rand(4)\n"
        "    with TorchFunctionMode(): pass\n"
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
