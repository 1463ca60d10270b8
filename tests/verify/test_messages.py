"""What a report says in words: an incoming gradient that is ignored, and a Function that is given by itself."""

from __future__ import annotations

import os
import sysconfig

import pytest

from tautograd import verify
from tautograd._user_code.owners import Owner, owners
from tests import processes
from tests.both import ENGINES

IGNORED = "the incoming gradient is ignored"
FILE = """\
import {engine} as torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * g
"""


def product(torch, first, second):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return first(g, b), second(g, a)

    return Product.apply


def times(g, x):
    return g * x


def alone(g, x):
    return x * 1


@pytest.mark.parametrize("rules", [(alone, alone), (times, alone), (alone, times)])
@pytest.mark.parametrize("factor", [1, 3])
def test_a_backward_that_forgets_what_arrives_is_told_so(torch, rules, factor):
    x = torch.tensor([0.3, 1.7], dtype=torch.float64)
    report = verify(lambda x: (product(torch, *rules)(x, x.sin()) * factor).sum(), x, confirm=False)
    (suspect,) = report.suspects
    assert suspect.operation == "Product"
    assert suspect.note.startswith(IGNORED)
    assert all(entry.expected == 0 for entry in suspect.entries)  # for zeros


def test_a_rule_that_is_wrong_for_ones_alone_is_told_as_that(torch):
    def odd(g, x):
        return g * x * (2 if bool((g == 1).all()) else 1)

    x = torch.tensor([0.3, 1.7], dtype=torch.float64)
    report = verify(lambda x: product(torch, times, odd)(x, x.sin()).sum(), x, confirm=False)
    assert report.verdict == "wrong"
    assert IGNORED not in str(report)
    assert "all ones" in report.suspects[0].note


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_that_the_command_is_given_is_located_in_its_file(tmp_path, engine):
    (tmp_path / "square.py").write_text(FILE.format(engine=engine))
    command = ["-m", "tautograd", "verify", "square.py:Square", "--inputs", "3", "--engine", engine]
    got = processes.run(command, cwd=tmp_path, env=dict(os.environ))
    assert got.returncode == 1, got.stderr
    where = got.stdout.partition("where it goes wrong\n")[2].splitlines()
    assert where[0] == "  Square (SquareBackward)"
    assert where[1].endswith("square.py:11 in Square.backward: def backward(ctx, g):")


def test_the_installed_command_is_nobody_s_program():
    assert owners[os.path.join(sysconfig.get_path("scripts"), "taut")] is Owner.KIT
