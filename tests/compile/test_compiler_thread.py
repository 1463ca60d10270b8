"""The thread that compiles: everything is made once, no error is kept, and nobody waits for what is not wanted."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import threading
import time
import weakref

import pytest

from tautograd._arrays.once import once
from tautograd._compile.native.llvm import c_functions, jit, llvm_thread
from tests.compile.threaded import in_threads

pytestmark = pytest.mark.usefixtures("often")


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


def test_code_that_is_dropped_leaves_nothing_to_collect() -> None:
    code = jit.assemble("define i64 @dropped() {\n ret i64 0\n}\n")
    for _ in range(2):  # the second time, what is made once is there
        gc.collect()
        loaded = jit.Loaded(code, {})
        del loaded
        llvm_thread.by_llvm(int)  # which comes after it
        found = gc.collect()
    assert found == 0


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
    assert time.monotonic() - start < 10
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
