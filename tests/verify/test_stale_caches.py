"""`verify` of values that an earlier call kept: found where later calls should follow, left alone where not."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import pytest

from tautograd import verify


def _doubles(torch, values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def _kept_by(torch, where):
    """x / |x|, with the norm of the first call kept in one place or another."""

    class Norm(torch.nn.Module):
        kept = None

        @functools.lru_cache  # noqa: B019
        def memo(self):
            return self.norm

        def forward(self, x):
            if where == "class":
                if Norm.kept is None:
                    Norm.kept = x.detach().norm()
                return x / Norm.kept
            if where == "attribute":
                if self.kept is None:
                    self.kept = x.detach().norm()
                return x / self.kept
            self.norm = x.detach().norm()
            return x / self.memo()

    if where in ("class", "attribute", "lru_cache"):
        return Norm()
    kept = {}
    cell = None

    def of_container(x):
        if 0 not in kept:
            kept[0] = x.detach().norm()
        return x / kept[0]

    def of_cell(x):
        nonlocal cell
        if cell is None:
            cell = x.detach().norm()
        return x / cell

    def of_function(x):
        if not hasattr(of_function, "kept"):
            of_function.kept = x.detach().norm()
        return x / of_function.kept

    return {"dictionary": of_container, "variable": of_cell, "function": of_function}[where]


PLACES = ["class", "attribute", "lru_cache", "dictionary", "variable", "function"]


@pytest.mark.parametrize("where", PLACES)
def test_a_value_of_the_first_call_that_later_ones_use(torch, where):
    report = verify(_kept_by(torch, where), _doubles(torch, [3.0, 4.0]), confirm=False)
    assert (report.verdict, report.cuts[0].how) == ("cut", "detach()")


@pytest.mark.parametrize("where", ["attribute", "dictionary", "variable"])
def test_a_cache_that_was_filled_before_with_what_would_be_computed_now(torch, where):
    function, x = _kept_by(torch, where), _doubles(torch, [3.0, 4.0])
    function(x)
    report = verify(function, x, confirm=False)
    assert (report.verdict, report.cuts[0].how) == ("cut", "detach()")
    assert any("which is what it would compute now" in note for note in report.notes)
    assert function(2 * x.detach()).norm() > 1.5  # the cache is left as it was found


@pytest.mark.parametrize("where", ["attribute", "dictionary", "variable"])
def test_a_value_fitted_to_other_inputs_is_a_constant(torch, where):
    function = _kept_by(torch, where)
    function(_doubles(torch, [1.0, 1.0]))
    report = verify(function, _doubles(torch, [3.0, 4.0]), confirm=False)
    assert report.verdict == "correct"


def test_what_a_batched_run_keeps_does_not_escape(torch):
    start = [torch.ones(3, dtype=torch.float64)]

    def warm(x):
        y = start[0]
        for _ in range(60):
            y = y - (y + y**3 - x) / (1 + 3 * y**2)
        start[0] = y.detach()
        return y

    first = start[0]
    report = verify(warm, _doubles(torch, [0.5, -1.0, 2.0]), confirm=False)
    assert report.verdict == "correct"
    assert start[0] is first


def test_a_gradient_taken_without_its_graph_is_a_cut(torch):
    def penalty(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, retain_graph=True)
        return (x**2).sum() + (g**2).sum()

    report = verify(penalty, _doubles(torch, [1.0, 2.0]), confirm=False)
    assert (report.verdict, report.cuts[0].how) == ("cut", "grad() without create_graph")


def test_a_part_computed_in_another_thread_accuses_nobody(torch):
    def split(x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(x.sin).result() * x

    assert verify(split, _doubles(torch, [1.0, 2.0]), confirm=False).verdict == "correct"
