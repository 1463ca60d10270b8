"""Ctrl-C ends every command within a second, whatever it is at; the doctor still says what it saw."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tautograd._cli.main import main; sys.exit(main())"
)
TRAIN = """
import sys
import tautograd as torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(64, 64)
for step in range(1_000_000):
    model(x).sum().backward()
    optimizer.step()
    if step == 20:
        print("ready", file=sys.stderr, flush=True)
"""
WAIT = """
import sys, threading, time
print("ready", file=sys.stderr, flush=True)
{how}
"""
SLOW = """
import sys, time
import tautograd as torch
first = True
def slow(x):
    global first
    if not first:
        time.sleep(0.05)
        print("ready", file=sys.stderr, flush=True)
    first = False
    return (x * x).sum()
def quick(x):
    return (x * x).sum()
"""
CASES = {
    "run, a loop": ("run", "train.py"),
    "run, waiting": ("run", "sleep.py"),
    "doctor, a loop": ("doctor", "train.py"),
    "doctor, JSON": ("doctor", "--json", "train.py"),
    "doctor, waiting for a thread": ("doctor", "join.py"),
    "view, a run": ("view", "--run", "train.py"),
    "view, waiting": ("view", "sleep.py"),
    "verify": ("verify", "slow.py:slow", "--inputs", "500"),
    "verify, JSON": ("verify", "--json", "slow.py:slow", "--inputs", "500"),
    "verify, probes": (
        "verify",
        "--mode",
        "fast",
        "--probes",
        "100000",
        "slow.py:slow",
        "--inputs",
        "50",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_an_interrupt_is_heard_within_a_second(what, workshop):
    workshop.write("train.py", TRAIN)
    workshop.write("slow.py", SLOW)
    workshop.write("sleep.py", WAIT.format(how="time.sleep(600)"))
    thread = (
        "t = threading.Thread(target=time.sleep, args=(600,), daemon=True); t.start(); t.join()"
    )
    workshop.write("join.py", WAIT.format(how=thread))
    status, took, out, err = interrupted(workshop, *CASES[what])
    assert took < 1, f"{took:.1f} s"
    assert status in (-signal.SIGINT, 130), err
    if what == "doctor, a loop":
        assert "TG101" in err
        assert "; interrupted." in err
    if what == "doctor, JSON":
        assert '"ending": "interrupted"' in out
    if what == "view, a run":
        assert "TG101" in (workshop.folder / "train.run.html").read_text(encoding="utf-8")


def interrupted(workshop, *arguments: str) -> tuple[int, float, str, str]:
    """How a command ends that is interrupted once it says that it is ready.

    The time is the processor's: on a busy machine a clock says little.
    """
    out, err = workshop.folder / "out", workshop.folder / "err"
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=stderr, cwd=workshop.folder, env={**workshop._environment, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while b"ready" not in err.read_bytes():
            assert process.poll() is None, err.read_text()
            assert time.monotonic() < end, "it never began"
            time.sleep(0.02)
        time.sleep(0.2)
        before = cpu_seconds(process.pid)
        os.kill(process.pid, signal.SIGINT)
        _, code, used = os.wait4(process.pid, 0) if waited(process) else (0, 0, None)
        status = process.returncode = os.waitstatus_to_exitcode(code)
        took = used.ru_utime + used.ru_stime - before
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return status, took, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")


def waited(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended, within ten seconds of a clock that other processes share."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.01)
    pytest.fail("the interrupt was not heard")


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processor."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_interrupt_among_several_targets_shows_those_that_are_done(workshop):
    workshop.write("slow.py", SLOW)
    status, took, out, _ = interrupted(
        workshop, "verify", "slow.py:quick", "slow.py:slow", "--inputs", "300"
    )
    assert (status, took < 1) == (130, True)
    assert "slow.py:quick" in out
    assert "1 correct" in out


def test_an_interrupted_replay(workshop):
    workshop.write(
        "slow.py",
        SLOW.replace("time.sleep(0.05)", "time.sleep(DELAY)").replace(
            "first = True", "import os; DELAY = float(os.environ.get('DELAY', '0')); first = True"
        ),
    )
    made = workshop.taut("verify", "slow.py:slow", "--inputs", "40", "--evidence", "e.json")
    assert made.returncode == 0, made.stderr
    workshop._environment["DELAY"] = "0.1"
    status, took, _, _ = interrupted(workshop, "replay", "e.json")
    assert (status, took < 1) == (130, True)
