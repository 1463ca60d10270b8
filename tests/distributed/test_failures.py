"""A rank that dies, is late or does something else: an error that names rank, collective and line; never a hang."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest

from tautograd.distributed import _launcher
from tautograd.distributed._board import is_running
from tests.distributed.ranks import HERE, on_ranks

PROGRAM = (HERE / "programs" / "failures.py").read_text().splitlines()


def line_of(text):
    return next(i for i, line in enumerate(PROGRAM, 1) if text in line)


def test_what_is_said():
    ranks = on_ranks("tautograd", 3, "failures")
    assert ranks[2] is None  # the one that was killed
    first, second, _ = ranks

    place = f"failures.py:{line_of('dist.all_reduce(torch.ones(3), group=group)')}"
    theirs = f"failures.py:{line_of('dist.broadcast(torch.ones(3)')}"
    for said in (first["mismatch"], second["mismatch"]):
        assert "DistBackendError" in said
        assert "mismatched collectives" in said
        assert place in said
        assert theirs in said
    assert "rank 1 calls broadcast(float32[3], src=0)" in first["mismatch"]
    assert first["mismatch: seconds"] < 1
    assert "cannot be used any more" in first["again"]

    assert "rank 1 calls all_reduce(SUM, float32[4])" in first["sizes"]
    assert "Timed out waiting 500ms" in first["late"]
    assert "rank 1 is running outside of any collective" in first["late"]
    assert re.search("rank 2 (waits|gave up waiting) in the same call", first["late"])
    assert "recv(float32[3], src=1, tag=0)" in first["never sent"]
    assert "Timed out" in first["never sent"]
    assert "rank 1 sent 8 bytes" in first["too short"]
    assert "rank 1 sent more than the 12 bytes" in first["too long"]
    assert f"failures.py:{line_of('def too_long') + 2}" in first["too long"]
    assert re.search(r"rank [12] calls all_reduce\(SUM, float64\[3\]\)", first["dtypes"])
    assert re.search(r"rank [02] calls broadcast\(float32\[3\], src=[02]\)", second["roots"])
    assert "rank 2 sends 2 elements to this one, which expects 1" in first["parts"]
    assert f"failures.py:{line_of('dist.all_to_all_single(')}" in first["parts"]
    assert second["parts"] is None  # what it has to do with the others fits
    assert "leaf Variable" in second["own fault"]
    assert [one["own fault: afterwards"] for one in (first, second)] == [3.0, 3.0]

    monitored = f"failures.py:{line_of('dist.monitored_barrier(')}"
    assert "Rank 1 failed to pass monitoredBarrier in 500 ms" in first["monitored"]
    assert monitored in first["monitored"]
    assert "rank 1 is running outside of any collective" in first["monitored"]

    for said in (first, second):
        assert "rank 2 has ended" in said["killed"]
        assert f"failures.py:{line_of('dist.all_reduce(torch.ones(3))')}" in said["killed"]
        assert "the last one it entered: barrier()" in said["killed"]
        assert said["killed: seconds"] < 5


def test_what_comes_too_late_is_written_nowhere():
    """Not to memory that is another tensor's by now."""
    (said, changed), _ = on_ranks("tautograd", 2, "given_up")
    assert "Timed out waiting 200ms" in said
    assert changed == 0


ENDS = """
import os, signal, sys
import tautograd.distributed as dist
from datetime import timedelta
from tautograd.distributed import _groups, _meeting

def ends(*_):
    os.kill(os.getpid(), signal.SIGKILL)

last = os.environ["RANK"] == "2"
if last and sys.argv[1] == "while MPI begins":
    _meeting._initialise = ends
if last and sys.argv[1] == "before its board":
    _groups.Board = ends
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if last and sys.argv[1] == "while a group is made":
    _groups.Board = ends
dist.new_group([0, 2])
"""


@pytest.mark.parametrize(
    ("when", "call"),
    [
        ("while MPI begins", "init_process_group() at"),
        ("before its board", "init_process_group() at"),
        ("while a group is made", "new_group(ranks=[0, 2]) #1 at"),
    ],
)
def test_a_rank_that_ends_while_others_join_it(tmp_path, when, call):
    """What MPI has only in a kind that waits does not wait for ever, whoever started the ranks."""
    script = tmp_path / "train.py"
    script.write_text(ENDS)
    told = {
        "WORLD_SIZE": "3",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_launcher.free_port()),
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), when], stderr=subprocess.PIPE, text=True,
            env={**os.environ, **told, "RANK": str(rank)},
        )
        for rank in range(3)
    ]  # fmt: skip
    said = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert ranks[2].returncode == -signal.SIGKILL
    for rank in [0] if "group" in when else [0, 1]:
        line = next(line for line in said[rank].splitlines() if "DistBackendError: " in line)
        assert f"[rank {rank}] {call}" in line
        assert f"train.py:{ENDS[: ENDS.index('dist.' + call[:9])].count(chr(10)) + 1}" in line
        assert f"rank 2 has ended (process {ranks[2].pid} is gone)" in line


TRAIN = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(50, 50))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
os.write(1, f"pid {dist.get_rank()} {os.getpid()}\\n".encode())  # in one piece
for step in range(100000):
    model(torch.randn(8, 50)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def launched(tmp_path, *options, text=TRAIN, env=None):
    script = tmp_path / "train.py"
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "tautograd", "launch", *options, "--as-torch", str(script)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env,
    )  # fmt: skip


@pytest.mark.slow
def test_random_kills(tmp_path):
    """A rank is killed at a random moment of training, 20 times: the job ends, and says which rank it was."""
    chance = random.Random(1)
    for _ in range(20):
        job = launched(tmp_path, "-n", "3")
        processes = {}
        while len(processes) < 3:
            _, rank, number = job.stdout.readline().split()
            processes[int(rank)] = int(number)
        time.sleep(chance.uniform(0, 1))
        victim = chance.randrange(3)
        os.kill(processes[victim], 9)
        _, said = job.communicate(timeout=60)
        assert job.returncode == 137
        assert f"rank {victim} (process {processes[victim]}) was killed by SIGKILL" in said
        assert f"rank {victim} has ended" in said


ENDED = """
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3))
for batch in range(4):
    if dist.get_rank() == 1 and batch == 2:
        {how}
    model(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.parametrize("how", ["raise ValueError('a bad batch')", "sys.exit(0)"])
def test_a_rank_that_ends_before_the_others(tmp_path, how):
    """With an error or without: the others say which rank it was, what they miss, and where."""
    job = launched(tmp_path, "-n", "2", text=ENDED.format(how=how))
    _, said = job.communicate(timeout=60)
    assert job.returncode == 1
    assert re.search(
        r"\[rank 0\] all_reduce\(SUM, float32\[12\]\) #\d+ at \S*train.py:8: it cannot be completed: rank 1 has "
        r"ended .*; the last one it entered: all_reduce\(SUM, float32\[12\]\) #\d+ at \S*train.py:8",
        said,
    )
    assert ("a bad batch" in said) == ("bad batch" in how)


RESTARTED = """
import os, torch.distributed as dist
dist.init_process_group("gloo")
count = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
if count == 0 and dist.get_rank() == 1:
    raise SystemExit(3)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, start {count}", flush=True)
dist.destroy_process_group()
"""


def test_launch(tmp_path):
    """Restarts, logs for each rank, and the exit status."""
    job = launched(tmp_path, "-n", "2", "--max-restarts", "1", "--log-dir", "logs", text=RESTARTED)
    _, said = job.communicate(timeout=120)
    assert job.returncode == 0, said
    assert "rank 1 (process" in said
    assert "ended with status 3" in said
    assert "restart 1 of 1 with 2 ranks" in said
    for rank in range(2):
        log = tmp_path / "logs" / "attempt_1" / str(rank) / "stdout.log"
        assert log.read_text() == f"rank {rank} of 2, start 1\n"


class SignalledWhileStarting(subprocess.Popen):
    """A process whose start is interrupted by a request to end."""

    started: ClassVar[list[subprocess.Popen]] = []

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.started.append(self)
        if len(self.started) == 2:  # the second rank of two, of the first start
            os.kill(os.getpid(), signal.SIGTERM)


def test_no_rank_is_left_behind(monkeypatch):
    """A request to end that comes while ranks are started reaches all of them."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(_launcher.subprocess, "Popen", SignalledWhileStarting)
    SignalledWhileStarting.started.clear()
    with pytest.raises(SystemExit) as ended:
        _launcher.launch(_launcher.Options(command, 2))
    assert ended.value.code == 128 + signal.SIGTERM
    assert [one.poll() for one in SignalledWhileStarting.started] == [-signal.SIGTERM] * 2


def test_a_terminal_that_is_closed_ends_the_ranks(tmp_path):
    text = """
import os, time
os.write(1, f"pid {os.environ['RANK']} {os.getpid()}\\n".encode())
time.sleep(60)
"""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    job = launched(tmp_path, "-n", "2", text=text)
    signal.signal(signal.SIGHUP, before)
    processes = [int(job.stdout.readline().split()[2]) for _ in range(2)]
    job.send_signal(signal.SIGHUP)
    job.communicate(timeout=30)
    assert job.returncode == 128 + signal.SIGHUP
    assert not any(is_running(process) for process in processes)


def test_a_rank_that_is_killed_by_any_signal():
    failures = [_launcher.Failure(1, 7, -number).text for number in (9, signal.SIGRTMIN + 1)]
    assert failures[0].endswith("was killed by SIGKILL")
    assert failures[1].endswith(f"was killed by signal {signal.SIGRTMIN + 1}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "0", __file__], "not a whole number"),
        (["-n", "2"], "which script?"),
        (["-n", "2", "missing.py"], "there is no script"),
        (["--nnodes", "2", __file__], "--hostfile"),
        (["--nnodes", "0", __file__], "1 or more machines"),
        (["--nnodes", "2:1", __file__], "MIN not above MAX"),
        (["--master-port", "99999", __file__], "not between 0 and 65535"),
        (["-n", "2", "--min-ranks", "3", __file__], "--min-ranks"),
        (["-n", "2", "--hostfile", "missing", __file__], "--hostfile: there is no file"),
        (["-n", "2", "--hostfile", os.path.dirname(__file__), __file__], "there is no file"),
    ],
)
def test_refused(arguments, words, capsys):
    from tautograd._cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["launch", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_hostfile(tmp_path):
    """MPI's own launcher starts the ranks of each machine, also where it is on nobody's path."""
    hosts, script = tmp_path / "hosts", tmp_path / "script.py"
    hosts.write_text("localhost\n")
    script.write_text("import os\nos.write(1, f\"rank {os.environ['PMI_RANK']}\\n\".encode())\n")
    command = [sys.executable, "-m", "tautograd", "launch", "-n", "2", "--hostfile", str(hosts)]
    done = subprocess.run(
        [*command, str(script)], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert sorted(done.stdout.split("\n")) == ["", "rank 0", "rank 1"], done.stderr
    assert done.returncode == 0


NEVER_COMES = """
import os, datetime, torch.distributed as dist
if os.environ["RANK"] != "1":
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=2))
"""


def test_a_rank_that_never_joins(tmp_path):
    """Who waits for it says which one it is, and where."""
    job = launched(tmp_path, "-n", "2", text=NEVER_COMES)
    _, said = job.communicate(timeout=60)
    assert job.returncode == 1
    assert "[rank 0] init_process_group() at" in said
    assert "train.py:4: Timed out after 2 seconds" in said
    assert "1/2 clients joined. Not here: rank 1." in said
