"""The first mode or subclass of a program changes every public function: in several threads at once, too."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import run

PROGRAM = """
import threading, time
import tautograd as torch
from tautograd._ops.declare import subclasses
from tautograd.overrides import TorchFunctionMode

route, begun = subclasses.route, threading.Event()

def slowly(*args, **kwargs):  # so that the second thread comes while the first is at it
    if not begun.is_set():
        begun.set()
        time.sleep(0.2)
    route(*args, **kwargs)

subclasses.route = slowly

class Mode(TorchFunctionMode):
    def __init__(self):
        self.seen = []
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))

def first():
    with Mode():
        pass

thread = threading.Thread(target=first)
thread.start()
begun.wait()
with Mode() as mode:
    x = torch.ones(2)
    torch.mean(torch.softmax(x + x, 0))
thread.join()
print(mode.seen)
"""


def test_a_mode_that_is_entered_while_another_thread_enters_its_first(tmp_path: Path) -> None:
    done = run(["-c", PROGRAM], cwd=tmp_path, env=os.environ)
    assert done.stdout == "['ones', 'add', 'softmax', 'mean']\n", done.stderr
