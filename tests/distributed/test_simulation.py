"""The simulator: its parts against arithmetic by hand, its predictions against ranks here and tables of others."""

from __future__ import annotations

import json
import math
import random
import statistics
from dataclasses import replace

import pytest

from tautograd._cli.main import main
from tautograd.distributed._simulation.failures import Failures, best_interval, lost, useful
from tautograd.distributed._simulation.measure import STEPS
from tautograd.distributed._simulation.network import PRESETS, Network, network_of
from tautograd.distributed._simulation.replay import Stragglers, predict
from tautograd.distributed._simulation.shared_cores import least_squares, network_from
from tautograd.distributed._simulation.steps import (
    WARM_UP,
    CannotSimulate,
    Exchange,
    Linear,
    Step,
    step_of,
)

ALL = Linear(0.0, 1.0)


def step(compute, buckets, *, waits_at_once=False):
    """A third of the time forward; then buckets, each after its share of backward."""
    program, exchanges, waits = [("compute", compute / 3)], [], []
    for i, (size, share) in enumerate(buckets):
        program += [("compute", compute * 2 / 3 * share), ("start", i)]
        exchanges.append(Exchange("all_reduce", Linear(size), ALL, True))
        (program if waits_at_once else waits).append(("wait", i))
    return Step(tuple(program + waits), tuple(exchanges), 2, compute, "wall")


def test_what_collectives_cost():
    network = Network(bandwidth=1.0, latency=10)
    large, n = 1e9, 16
    assert network.seconds("all_reduce", large, n, n) == pytest.approx(2 * 15 / 16 + 8 * 10e-6)
    assert network.seconds("all_reduce", 8, n, n) == pytest.approx(4 * (10e-6 + 8e-9))
    assert network.seconds("all_reduce", 4096, n, n) == pytest.approx(80e-6 + 2 * 15 / 16 * 4096e-9)
    assert network.seconds("all_gather", large, n, n) == pytest.approx(15 / 16 + 4 * 10e-6)
    assert network.seconds("barrier", 0, n, n) == pytest.approx(40e-6)
    assert network.seconds("all_reduce", large, 1, 1) == 0


def test_links_inside_and_between_machines():
    network = Network(bandwidth=10, latency=5, node=8, inner_bandwidth=100, inner_latency=1)
    assert network.link(8, 64, True) == pytest.approx((1e-6, 100e9))  # a machine's own ranks
    assert network.link(64, 64, True) == pytest.approx(
        (5e-6, 10e9)
    )  # a ring crosses the machine's link once
    assert network.link(8, 64, False) == pytest.approx((5e-6, 10e9 / 8))  # eight groups share it


def test_overlap_hides_what_fits():
    network = Network(bandwidth=1.0, latency=0)
    half = 0.25e9  # 2 (n - 1) / n of it at 1 GB/s: 0.25 s on two ranks
    hidden = step(3.0, [(half, 0.5), (half, 0.5)])
    assert predict(hidden, network, 2).seconds == pytest.approx(3.25)  # all but the last
    assert predict(hidden, network, 2).exposed == pytest.approx(0.25)
    serial = step(3.0, [(half, 0.5), (half, 0.5)], waits_at_once=True)
    assert predict(serial, network, 2).seconds == pytest.approx(3.5)
    crowded = Network(bandwidth=1.0, latency=0, cores=1)
    assert predict(hidden, crowded, 2).seconds == pytest.approx(2 * 3.5)  # the core does both


def test_all_wait_for_the_slowest():
    work = step(1.0, [(8, 1.0)])
    network = Network(bandwidth=1e3, latency=0)
    slow = predict(work, network, 64, Stragglers(slow=0.01, slowdown=2.0))
    assert slow.seconds == pytest.approx(2.0, rel=1e-6)
    times = [predict(work, network, n, Stragglers(jitter=0.05)).seconds for n in (2, 64, 4096)]
    assert times == sorted(times)
    # The largest of n normal deviates is about sqrt(2 ln n) of them: 3.6 for 4096 (with its second term).
    assert 1 + 0.05 * 3.2 < times[-1] < 1 + 0.05 * 4.3


def test_the_slowest_of_chips_that_differ_sets_the_pace():
    """The largest of two normal deviates is 1/sqrt(pi) on average, of 100 about 2.51 (tables of order statistics)."""
    work, network = step(1.0, [(8, 1.0)]), Network(bandwidth=1e3, latency=0)
    for ranks, largest in ((1, 0.0), (2, 0.5642), (10, 1.5388), (100, 2.5076)):
        found = predict(work, network, ranks, Stragglers(spread=0.02)).seconds
        assert found == pytest.approx(1 + 0.02 * largest, abs=1e-3)


def test_strong_scaling_shares_the_work():
    work = step(1.0, [(8, 1.0)])
    at = predict(work, Network(bandwidth=1e3, latency=0), 8, strong=True)
    assert at.seconds == pytest.approx(0.25, rel=1e-6)
    assert at.efficiency == pytest.approx(1.0, rel=1e-6)


# --- failures -------------------------------------------------------------------------------------


def test_lost_work_is_what_chance_gives():
    """The closed form against a job that is played out, failure by failure."""
    mean, restart, checkpoint, every = 1000.0, 60.0, 20.0, 200.0
    chance, time, done = random.Random(0), 0.0, 0
    fails = chance.expovariate(1 / mean)
    while done < 20_000:
        if fails >= every + checkpoint:
            done, time, fails = done + 1, time + every + checkpoint, fails - every - checkpoint
            continue
        time += fails
        fails = chance.expovariate(1 / mean)
        while fails < restart:  # it may fail while it restarts
            time += fails
            fails = chance.expovariate(1 / mean)
        time, fails = time + restart, fails - restart
    # The standard error of 20,000 segments' mean: below 1 %.
    assert done * every / time == pytest.approx(useful(mean, restart, checkpoint, every), rel=0.02)


@pytest.mark.parametrize(("mean", "checkpoint"), [(1e4, 30), (3e3, 100), (100, 90), (1e6, 1)])
def test_the_interval_that_loses_least(mean, checkpoint):
    best = best_interval(mean, checkpoint)
    at = useful(mean, 0, checkpoint, best)
    assert all(
        useful(mean, 0, checkpoint, best * factor) <= at for factor in (0.8, 0.95, 1.05, 1.2)
    )
    if checkpoint < 0.01 * mean:
        assert best == pytest.approx(math.sqrt(2 * checkpoint * mean), rel=0.1)  # Young's rule


def test_no_failures():
    assert lost(Failures(0.0), 8).useful == 1.0
    assert lost(Failures(0.0, checkpoint=10, every=90), 8).useful == pytest.approx(0.9)
    assert lost(Failures(1e6), 10_000).useful == 0.0


# --- recordings -----------------------------------------------------------------------------------


def recorded(ranks, *calls, seconds=1.0, steps=4):
    events = [["compute", seconds, 2 * seconds]]
    for i, (kind, size, group) in enumerate(calls):
        events += [["start", i, kind, size, group], ["compute", 0.1, 0.2]]
    events += [["wait", i] for i in range(len(calls))]
    return [[{"seconds": 3.0, "cpu": 1.5, "events": events}] * steps for _ in range(ranks)]


def test_how_sizes_grow_is_read_off_two_recordings():
    def calls(n, tp=2):
        data, tensor = list(range(0, n, tp)), list(range(tp))
        return [
            ("all_reduce", 1000, list(range(n))),  # a gradient
            ("all_gather", 40 * n, list(range(n))),  # one number of each rank
            ("reduce_scatter_tensor", 1200 // n, list(range(n))),  # a shard
            ("all_reduce", 64, tensor),  # tensor parallel: always two
            ("all_reduce", 500, data),  # data parallel: the rest
        ]

    made = step_of([recorded(4, *calls(4)), recorded(8, *calls(8))], "cpu")
    grown = [(e.group.at(64), e.bytes.at(int(e.group.at(64)))) for e in made.exchanges]
    assert grown == [(64, 1000), (64, 40 * 64), (64, 1200), (2, 64), (32, 500)]
    assert [e.neighbours for e in made.exchanges] == [True, True, True, True, False]
    assert made.computing == pytest.approx(1.5)
    assert step_of([recorded(4, *calls(4))], "wall").computing == pytest.approx(3.0)
    predict(made, PRESETS["ethernet-100"], 64)
    with pytest.raises(CannotSimulate, match="63 ranks cannot be divided"):
        predict(made, PRESETS["ethernet-100"], 63)


def test_what_cannot_be_simulated():
    world = [0, 1]
    with pytest.raises(CannotSimulate, match="pipeline"):
        step_of([recorded(2, ("send", 8, world))], "cpu")
    with pytest.raises(CannotSimulate, match="let the script run longer"):
        step_of([recorded(2, ("all_reduce", 8, world), steps=2)], "cpu")
    different = [recorded(2, ("all_reduce", 8, world)), recorded(4, ("broadcast", 8, world))]
    with pytest.raises(CannotSimulate, match="different calls"):
        step_of(different, "cpu")
    lonely = recorded(2, ("all_reduce", 8, world))
    lonely[1] = recorded(1, ("broadcast", 8, world))[0]
    with pytest.raises(CannotSimulate, match=r"rank [01] makes other calls"):
        step_of([lonely], "cpu")


ROUNDS = {
    "all_reduce": 2,
    "all_gather_into_tensor": 1,
    "reduce_scatter_tensor": 1,
}  # times log2(ranks)


def test_what_each_part_of_an_exchange_costs_is_read_off_the_times():
    """Times made up of known parts, on two ranks and on eight of four per core."""
    calling, handing, hop, looking, returning = 3e-5, 5e-5, 4e-5, 6e-4, 1e-4

    def exchanging(block, computing, ranks):
        rounds = ROUNDS[block.kind] * math.log2(ranks)
        copied = ROUNDS[block.kind] * (1 - 1 / ranks) * block.exchanged / 5e9
        waits = 1 if block.overlaps else block.parts
        polling = looking * (1 - 2 / ranks) * math.log(1 + 0.03 * computing / waits / 5e-5)
        own = calling + handing * block.background + hop * rounds + copied
        return block.parts * own + waits * polling

    few = [1e-3 + 1e-4 * i for i in range(len(STEPS))]
    many = [
        1.1 * t + returning * block.parts + block.memory / 4e9
        for t, block in zip(few, STEPS, strict=True)
    ]
    assert all(size > 2048 for size in (block.exchanged for block in STEPS))
    network = network_from(
        {
            "blocks": [list(block) for block in STEPS],
            "few": {"computing": few, "exchanging": list(map(exchanging, STEPS, few, [2] * 99))},
            "many": {"computing": many, "exchanging": list(map(exchanging, STEPS, few, [8] * 99))},
        },
        2,
    )
    given = {
        "latency": 40, "bandwidth": 5, "calling": 30, "handing": 50, "looking": 600,
        "returning": 100, "slower": 0.1, "refill": 4, "crowd": 4, "cores": 2,
    }  # fmt: skip
    assert {name: getattr(network, name) for name in given} == pytest.approx(given, rel=1e-6)
    assert least_squares([[1, 2], [2, 1]], [-1, -2], [1, 1]) == [0, 0]


def test_what_sharing_cores_costs():
    plain = Network(bandwidth=1.0, latency=0, cores=2, crowd=4.0)
    work = step(1.0, [(8, 0.5), (8, 0.5)])

    def more(ranks, work=work, **options):
        other = replace(plain, **options)
        return predict(work, other, ranks).seconds - predict(work, plain, ranks).seconds

    at_once = step(1.0, [(8, 0.5), (8, 0.5)], waits_at_once=True)
    handed = replace(
        at_once, exchanges=tuple(replace(e, background=True) for e in at_once.exchanges)
    )
    assert at_once.stretches == pytest.approx([2 / 3, 1 / 3])
    assert work.stretches == pytest.approx([1, 0])
    e_folds = math.log1p(2 / 3 * 0.03 / 5e-5) + math.log1p(1 / 3 * 0.03 / 5e-5)
    for ranks, waiting, displaced in ((2, 0, 0), (4, 1 / 2, 2 / 3), (8, 3 / 4, 1)):
        assert more(ranks, at_once, calling=40) == pytest.approx(2 * 40e-6 * ranks / 2)
        assert more(ranks, at_once, handing=30) == pytest.approx(0)
        assert more(ranks, handed, handing=30) == pytest.approx(2 * 30e-6 * ranks / 2)
        found = more(ranks, at_once, looking=500)
        assert found == pytest.approx(waiting * 500e-6 * e_folds * ranks / 2)
        # Between the two exchanges, and after the last: the next step begins there.
        assert more(ranks, returning=100) == pytest.approx(displaced * 2 * 100e-6 * ranks / 2)
        found = more(ranks, slower=0.3)
        assert found == pytest.approx(displaced * 0.3 * ranks / 2)  # of a second of computing
        large = replace(work, memory=1e9)  # a fifth of a second, for ranks that take turns
        assert more(ranks, large, refill=5) == pytest.approx(displaced * 0.2 * ranks / 2)
    # Nothing takes more than twice as long because caches are cold.
    short = step(3e-6, [(8, 1.0)])
    assert more(8, short, returning=100) == pytest.approx(1e-6 * 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ehternet", "there is no network 'ehternet'"),
        ("latency=5", "which bandwidth?"),
        ("bandwidth=0", "makes no network"),
        ("bandwidth=x", "'x' is no number"),
        ("bandwidth=1,speed=3", "a network has bandwidth"),
        ("bandwidth=1,node=1.5", "makes no network"),
    ],
)
def test_networks_that_are_none(text, words):
    with pytest.raises(ValueError, match=words):
        network_of(text)


def test_a_network_by_name_and_what_differs():
    assert network_of("ethernet-25,node=4").node == 4
    assert network_of("ethernet-25,node=4").bandwidth == PRESETS["ethernet-25"].bandwidth


# --- the command ----------------------------------------------------------------------------------

TRAIN = """
import sys
import tautograd as torch, tautograd.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
wide, layers, steps = map(int, sys.argv[1:])
model = torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(wide, wide), torch.nn.ReLU())])
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(128, wide)
for _ in range(steps):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return str(path)


def test_command(train, tmp_path, capfd):
    """Buckets as DDP sends them, in their order; the same again from the recording."""
    kept = str(tmp_path / "kept.json")
    asked = ["--json", "--network", "ethernet-25", "--ranks", "8,10000", "--failures", "2e-5"]
    assert main(["simulate", "-n", "2", *asked, "--save", kept, train, "512", "4", "5"]) == 0
    found = json.loads(capfd.readouterr().out)
    sizes = [(e["kind"], e["bytes"], e["ranks"]) for e in found["recorded"]["exchanges"]]
    layer = (512 * 512 + 512) * 4
    assert sizes == [("all_reduce", layer, 2), ("all_reduce", 3 * layer, 2)]
    small, large = found["predicted"]
    assert small["seconds"] < large["seconds"]
    assert 0 < large["efficiency"] < small["efficiency"] < 1
    assert large["failures"]["between_failures"] == pytest.approx(5)
    assert main(["simulate", *asked, "--recording", kept]) == 0
    assert json.loads(capfd.readouterr().out)["predicted"] == found["predicted"]
    assert main(["simulate", "--recording", kept, "--jitter", "0.1"]) == 0
    assert "10000" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which script?"),
        (["-n", "1", __file__], "one rank sends nothing"),
        (["-n", "2,2", __file__], "two that differ"),
        (["--ranks", "0", __file__], "whole numbers above 0"),
        (["--network", "lan", __file__], "there is no network 'lan'"),
        (["--recording", __file__], "was not written by taut simulate --save"),
        (["--recording", "missing.json"], "missing.json"),
        (["--save", "kept.txt", __file__], "--save"),
    ],
)
def test_refused(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_within_15_percent_of_ranks_here(train, tmp_path, capfd):
    """Two ranks recorded, four and eight predicted, then run.

    Ranks here share few cores, and with whatever else runs. What they take of the cores hardly depends on that: a
    step's processor time of all ranks, over the cores, is what a machine of their own would show on the wall. What
    does depend on it (caches that others have filled) can only add, so the quarter of the steps with the least is
    taken, of those recorded and of those compared with, as of those that the machine is measured by.
    """
    from tautograd.distributed._simulation.shared_cores import cores

    def of(ranks, *options):
        kept = tmp_path / f"{ranks}.json"
        assert main(["simulate", "-n", str(ranks), "--save", str(kept), train, *options]) == 0
        capfd.readouterr()
        return kept, undisturbed(json.loads(kept.read_text()))

    sizes = ("512", "4", "40")
    kept, found = of(2, *sizes)
    kept.write_text(json.dumps(found))
    asked = ["simulate", "--network", "here", "--ranks", "4,8", "--json", "--recording", str(kept)]
    assert main(asked) == 0
    predicted = json.loads(capfd.readouterr().out)["predicted"]
    for row, ranks in zip(predicted, (4, 8), strict=True):
        _, found = of(ranks, *sizes)
        steps = list(zip(*found["recordings"][0], strict=True))[WARM_UP:]
        spent = statistics.median(sum(one["cpu"] for one in step) for step in steps)
        measured = spent / min(cores(), ranks)
        assert row["seconds"] == pytest.approx(measured, rel=0.15), (
            ranks,
            row["seconds"],
            measured,
        )


def undisturbed(found):
    """A recording's quarter of steps with the least processor time, after as many as are left out as warm-up."""
    (own,) = found["recordings"]
    numbers = sorted(range(3, len(own[0])), key=lambda i: sum(steps[i]["cpu"] for steps in own))
    chosen = sorted(numbers[: len(numbers) // 4])
    kept = [[*steps[:WARM_UP], *(steps[i] for i in chosen)] for steps in own]
    return {**found, "recordings": [kept]}
