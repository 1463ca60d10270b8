"""Ranks killed at random moments, two hundred times: no hang, no damaged checkpoint, the run that nobody disturbed.

A rank notes in a file which part of a step it is in, so that a kill can be aimed (a tenth at the start, where ranks
still meet, the rest at a part of a step or at none) and told where it struck. To see the counts:

python -m tests.distributed.test_kills 200
"""

from __future__ import annotations

import collections
import mmap
import os
import queue
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tautograd.distributed._board import is_running
from tests.distributed.test_failures import launched

KILLS, RANKS = 200, 2
LIMIT = 60.0  # seconds from a kill to what comes next, on a machine that others use, too
PARTS = {
    b"i": "start", b"f": "forward", b"b": "backward", b"o": "optimizer", b"r": "all_reduce",
    b"s": "checkpoint",
}  # fmt: skip

TRAIN = """
import mmap, os
rank, start = int(os.environ["RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"]
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # in one piece
with open("part", "r+b") as file:
    parts = mmap.mmap(file.fileno(), 0)
def part(name):
    parts[rank : rank + 1] = name
part(b"i")
say("process", start, rank, os.getpid())
import torch, torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
torch.set_num_threads(1)
dist.init_process_group("gloo")
last = int(os.environ["LAST"])
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(40, 60), torch.nn.Dropout(0.3), torch.nn.Linear(60, 2))
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
def state(step):
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
            "random": {f"rank{rank}": torch.get_rng_state()}}
def train(step):
    part(b"f")
    optimizer.zero_grad()
    loss = model(torch.randn(4, 40)).pow(2).mean()
    part(b"b")
    loss.backward()
    part(b"o")
    optimizer.step()
kept, step = checkpoint.latest("kept"), 0
if kept is not None:
    train(-1)  # the optimizer has states to load into
    part(b"i")
    found = state(0)
    checkpoint.load(found, checkpoint_id=kept)
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    torch.set_rng_state(found["random"][f"rank{rank}"])
    step = found["step"]
say("goes", start, rank, step)
while step != last:
    train(step)
    step += 1
    part(b"r")
    enough = torch.tensor(float(os.path.exists("enough")))
    dist.all_reduce(enough)
    part(b"s")
    if step % 3 == 0 or enough.item() or step == last:
        checkpoint.save(state(step), checkpoint_id=f"kept/{step // 3 % 4}")
    if enough.item():
        break
if rank == 0:
    numbers = [p.flatten().tolist() for p in model.parameters()]
    say("end", start, rank, step, hash(str(numbers)))
"""


class Job:
    """A job whose lines are read as they come, however long they take."""

    def __init__(self, folder, last, *options):
        folder.mkdir(exist_ok=True)
        with open(folder / "part", "w+b") as file:
            file.write(bytes(RANKS))
            file.flush()
            self._parts = mmap.mmap(file.fileno(), 0)
        self.process = launched(
            folder, "-n", str(RANKS), *options, text=TRAIN,
            env={**os.environ, "PYTHONHASHSEED": "0", "LAST": str(last)},
        )  # fmt: skip
        self._lines = queue.SimpleQueue()
        self.errors, self._pumps = [], []
        for stream, take in (
            (self.process.stdout, self._lines.put),
            (self.process.stderr, self.errors.append),
        ):
            self._pumps.append(
                threading.Thread(target=self._pump, args=(stream, take), daemon=True)
            )
            self._pumps[-1].start()

    def _pump(self, stream, take):
        with stream:
            for line in stream:
                take(line)

    def end(self):
        """Its exit status; in time, or it is ended."""
        try:
            return self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.wait()
            for thread in self._pumps:
                thread.join(LIMIT)

    def fails(self, why):
        self.process.kill()
        pytest.fail(f"{why}:\n" + "".join(self.errors[-30:]))

    def said(self, what, start, count=RANKS, limit=LIMIT):
        """What the ranks of a start say under this name; lines that come late from an earlier start are passed over.
        One that does not come in time is a hang."""
        found = {}
        while len(found) < count:
            try:
                name, number, rank, *rest = self._lines.get(timeout=limit).split()
            except queue.Empty:
                self.fails(f"start {start}: '{what}' came from {sorted(found)} only")
            if int(number) == start:
                if name != what:
                    self.fails(f"start {start}: '{name}' came in place of '{what}'")
                found[int(rank)] = [int(word) for word in rest]
        return found

    def part(self, rank):
        """What a rank is in."""
        return self._parts[rank : rank + 1]

    def kill(self, process, rank, aim, delay):
        """Kill a rank in a part of its step; the part that it struck."""
        until = time.monotonic() + LIMIT
        while aim is not None and self.part(rank) != aim:
            if time.monotonic() > until:
                self.fails(f"rank {rank} never came to {PARTS[aim]}")
        time.sleep(delay)
        os.kill(process, signal.SIGKILL)
        while is_running(process):
            if time.monotonic() > until + LIMIT:
                self.fails(f"rank {rank} did not die")
        return PARTS[self.part(rank)]


def kill_and_compare(folder, count, seed=20):
    """A job whose ranks are killed `count` times, and one that nobody disturbs; where the kills struck, and the longest
    time in seconds from a kill until all ranks were there again."""
    chance, struck, reached, longest = random.Random(seed), collections.Counter(), 0, 0.0
    job = Job(folder / "killed", -1, "--max-restarts", str(count))
    killed = time.monotonic()
    for start in range(count):
        processes = {rank: one[0] for rank, one in job.said("process", start).items()}
        victim, aim, delay = chance.randrange(RANKS), None, chance.random()
        # One in ten within a second of the first line: ranks load, meet, read the checkpoint or have just begun.
        if start % 10 != 4:
            steps = {one[0] for one in job.said("goes", start).values()}
            longest = max(longest, time.monotonic() - killed)
            assert len(steps) == 1, f"ranks go on from steps {steps}"
            (step,) = steps
            assert step >= reached
            reached = step
            time.sleep(0.4 * chance.random())
            aim = chance.choice([None, b"f", b"b", b"o", b"r", b"s"])
            delay *= chance.choice([0.0, 2e-4, 2e-3])  # parts take from a tenth of a millisecond on
        struck[job.kill(processes[victim], victim, aim, delay)] += 1
        killed = time.monotonic()
    (folder / "killed" / "enough").touch()
    job.said("process", count)
    step = job.said("goes", count)[0][0]
    assert step >= reached
    last, numbers = job.said("end", count, 1)[0]
    assert job.end() == 0
    assert "".join(job.errors).count("was killed by SIGKILL") == count

    sound = Job(folder / "sound", last)
    sound.said("process", 0)
    sound.said("goes", 0)
    # All steps of all starts, in one go.
    assert sound.said("end", 0, 1, limit=LIMIT * count)[0] == [last, numbers]
    assert sound.end() == 0
    return struck, longest, last


@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    """In a collective, in backward, in a checkpoint, before the first step: whatever the moment, every start goes on
    from a whole checkpoint, no older than the last start's, and the end is that of a run without kills."""
    struck, longest, last = kill_and_compare(tmp_path, KILLS)
    assert struck.total() == KILLS
    assert min(struck[part] for part in ("start", "backward", "all_reduce", "checkpoint")) >= 5
    assert longest < LIMIT
    assert last > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        began = time.monotonic()
        where, worst, steps = kill_and_compare(Path(made), int(sys.argv[1]))
        print(
            f"{where.total()} kills in {time.monotonic() - began:.0f} s, {steps} steps; "
            f"all ranks there again after {worst:.1f} s at most; struck: {dict(where)}"
        )
