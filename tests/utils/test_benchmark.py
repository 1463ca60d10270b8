"""`utils.benchmark`: measurements, their statistics and tables as PyTorch prints them."""

from __future__ import annotations

import importlib

import pytest

from tests.both import same

TIMES = [
    ([1e-4, 1.1e-4, 1.05e-4], "one", "small", 1),
    ([2e-3, 2.2e-3], "two", "small", 1),
    ([1e-4] * 4, "one", "big", 1),
    ([3e-5], "two", "big", 2),
    ([5e-4, 6e-4, 9e-4, 7e-4, 6.5e-4], "three", "big", 2),
    ([2e-4, 2.1e-4, 2.4e-4, 2.2e-4], "three", "small", 2),
]


def _measured(torch):
    b = importlib.import_module(f"{torch.__name__}.utils.benchmark")
    return b, [
        b.Measurement(
            10,
            times,
            b.TaskSpec(
                "stmt", "setup", label="lab", sub_label=row, description=column, num_threads=n
            ),
        )
        for times, column, row, n in TIMES
    ]


@same
def test_statistics(torch):
    b, found = _measured(torch)
    seen = []
    for m in found:
        seen.append([m.mean, m.median, m.iqr, m.significant_figures, m.times, m.has_warnings])
        seen.append([m.title, m.as_row_name, m.num_threads, repr(m).split("\n")[1:]])
    units = [b.select_unit(t) for t in (2e-9, 2e-4, 0.3, 20.0)]
    return [seen, units, b.unit_to_english("us"), b.trim_sigfig(12345.678, 3)]


@same
def test_merged(torch):
    b, found = _measured(torch)
    more = b.Measurement(1, [5e-5], found[0].task_spec)
    return [[m.times, m.title, m.number_per_run] for m in b.Measurement.merge([*found, more])]


@pytest.mark.parametrize("trimmed", [False, True])
@same
def test_tables(torch, trimmed):
    b, found = _measured(torch)
    table = b.Compare(found[:4])
    if trimmed:
        table.trim_significant_figures()
    table.extend_results([])
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([3])
    return str(table)


@same
def test_timing(torch):
    b = importlib.import_module(f"{torch.__name__}.utils.benchmark")
    threads = torch.get_num_threads()
    timer = b.Timer(
        "x += 1; seen.append(x)", "x = 1", globals={"seen": []}, label="L", sub_label="s"
    )
    once = timer.timeit(20)
    blocks = timer.blocked_autorange(min_run_time=0.002)
    settled = b.Timer("pass").adaptive_autorange(threshold=10.0)
    assert once.median > 0
    assert blocks.median < 1e-3
    assert sum(blocks.raw_times) >= 0.002
    assert settled.median < 1e-3
    assert torch.get_num_threads() == threads
    said = []
    for call in (lambda: b.Timer(3), lambda: b.Timer(global_setup="int x;"), timer.autorange):
        with pytest.raises((ValueError, NotImplementedError)) as error:
            call()
        said.append(str(error.value))
    return [
        said,
        once.number_per_run,
        len(once.times),
        once.title,
        b.Timer("torch.ones(2)").timeit(2).stmt,
    ]


def test_an_error_in_the_statement_comes_out():
    import tautograd

    threads = tautograd.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        tautograd.utils.benchmark.Timer("1 / 0", num_threads=2).timeit(3)
    assert tautograd.get_num_threads() == threads
