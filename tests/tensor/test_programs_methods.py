"""Functions that a program puts on `Tensor` itself stay the program's, whatever subclasses come later."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import run

PROGRAM = """
import {engine} as torch
Tensor = torch.Tensor

calls = []

def as_subclass(self, cls):
    calls.append(("as_subclass", type(self).__name__, cls.__name__))
    return whole(self, cls)

def tag(self, value):
    calls.append(("tag", type(self).__name__))
    return value

whole = Tensor.as_subclass
Tensor.first_as_subclass, Tensor.as_subclass = whole, as_subclass
Tensor.tag = tag
Tensor.size_of = property(lambda self: calls.append(("size_of", type(self).__name__)))


class Watched(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        calls.append(func.__name__)
        result = super().__torch_function__(func, types, args, kwargs or {{}})
        if isinstance(result, cls):
            result.tag(0)
        return result

    def clone(self, *, memory_format=None):
        return self.as_subclass(Tensor).clone().as_subclass(type(self))


x = torch.ones(2).as_subclass(Watched)
x.tag(1)
x.size_of
print(type(x.first_as_subclass(Tensor)).__name__, whole.__name__)
print(type(x.clone()).__name__, type(x + 1).__name__, type(x.as_subclass(Tensor)).__name__)
print(calls)
"""


def test_they_are_not_asked_about(tmp_path: Path) -> None:
    found, expected = (
        run(["-c", PROGRAM.format(engine=name)], cwd=tmp_path, env=os.environ)
        for name in ("tautograd", "torch")
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected.stdout
