"""What an exchange costs: rounds of messages, each with a latency, and bytes through the narrowest link.

The costs are those of the usual algorithms (Thakur, Rabenseifner and Gropp, "Optimization of Collective
Communication Operations in MPICH", 2005; NCCL's rings and trees have the same two terms). For n ranks, S bytes in
total, a latency of A and a bandwidth of B, for example:

    all_reduce   ring   2 (n - 1) A + 2 (n - 1) / n S / B
                 tree   2 log2(n) A + 2 (n - 1) / n S / B
                 short      log2(n) (A + S / B), up to 2 kB

A library takes the fastest, and so does the model. Ranks of a machine use its inner links; each machine has one
link to the others. A ring over all ranks crosses that link once; groups that span machines
share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from .._work import PAUSE_SHARE

GIGA, MICRO = 1e9, 1e-6
_SHORT = 2048  # bytes
_TIMER = 5e-5  # seconds: Linux's default slack of timers, by which each pause is longer


@dataclass(frozen=True)
class Network:
    """The links between ranks, and the cores that they share."""

    bandwidth: float
    """Bandwidth of a machine's link to the others, in GB/s, as messages get it (not the line rate)."""
    latency: float = 5.0
    """Latency of a message between machines, in microseconds."""
    node: int = 1
    """Ranks per machine."""
    inner_bandwidth: float = math.inf
    """Bandwidth between ranks of a machine, in GB/s."""
    inner_latency: float = 1.0
    """Latency between ranks of a machine, in microseconds."""
    cores: int = 0
    """Cores that all ranks share and that also copy the bytes (within a machine's memory); 0: each rank has its own."""
    crowd: float = 2.0
    """Ranks per core in the measurements that the following come from; all of them are processor time of a rank."""
    calling: float = 0.0
    """Microseconds per exchange besides its messages."""
    handing: float = 0.0
    """Microseconds more for one that the background thread looks after."""
    looking: float = 0.0
    """Microseconds of polling for others that are off their core, for each e-fold of a wait (see `patience`)."""
    returning: float = 0.0
    """Microseconds by which computing after an exchange takes longer, because others have used the caches."""
    slower: float = 0.0
    """By what share computing slows down: the longer a rank computes, the more often it is
    interrupted, and each time it finds its caches evicted."""
    refill: float = math.inf
    """GB/s at which a step's memory (parameters, gradients, states) is read back into the caches."""

    def link(self, members: int, ranks: int, neighbours: bool) -> tuple[float, float]:
        """Latency and bandwidth of the narrowest link that a group uses."""
        inside = self.inner_latency * MICRO, self.inner_bandwidth * GIGA
        if members <= self.node and (neighbours or ranks <= self.node):
            return inside
        outside = self.bandwidth * GIGA
        if members < ranks and not neighbours:  # every rank of the machine is in a different group
            outside /= min(self.node, ranks)
        return self.latency * MICRO, min(outside, inside[1])

    def seconds(
        self,
        kind: str,
        size: float,
        members: int,
        ranks: int,
        neighbours: bool = True,
        *,
        background: bool = False,
        stretch: float = 0.0,
    ) -> float:
        """What a collective of `members` of all `ranks` takes, which they wait for after computing for `stretch`."""
        if members == 1:
            return 0.0
        latency, bandwidth = self.link(members, ranks, neighbours)
        least = min(
            self._hops(rounds, members, ranks, latency, tree) + volume * size / bandwidth
            for rounds, volume, tree in ways(kind, members, size)
        )
        if not self.cores:
            return least
        polling = self.looking * share_that_waits(ranks, self.cores) * patience(stretch)
        return (
            least + (self.calling + self.handing * background + polling) * MICRO
        ) * self.crowding(ranks)

    def _hops(self, rounds: float, members: int, ranks: int, latency: float, tree: bool) -> float:
        """The latencies on the critical path. A tree combines ranks within machines before it crosses between them."""
        if tree and 1 < self.node < members == ranks:
            inner = rounds * math.log2(self.node) / math.log2(members)
            return inner * self.inner_latency * MICRO + (rounds - inner) * latency
        return rounds * latency

    def crowding(self, ranks: int) -> float:
        """How many ranks a core has: by so much everything takes longer."""
        return ranks / self.cores if 0 < self.cores < ranks else 1.0

    def refilling(
        self, ranks: int, computing: float, memory: float, returns: Sequence[float] = ()
    ) -> float:
        """The extra time of a step that computes so long, touches so many bytes and comes back from exchanges to
        compute so long each time, because other ranks have used the caches in between.

        The memory counts once, however often the step waits: between two waits it needs only part of it. And what is
        computed next needs only part of what has been evicted: it takes twice as long at most.
        """
        back = sum(min(self.returning * MICRO, following) for following in returns)
        seconds = back + self.slower * computing + memory / (self.refill * GIGA)
        return seconds * self._displaced(ranks) * self.crowding(ranks)

    def _displaced(self, ranks: int) -> float:
        """How often another rank had the core before, relative to `crowd` ranks per core: one is enough."""
        if not 0 < self.cores < ranks or self.crowd <= 1:
            return 0.0
        return share_that_waits(ranks, self.cores) / (1.0 - 1.0 / self.crowd)

    def stolen(self, ranks: int) -> float:
        """The share of an exchange's time in which its ranks cannot compute."""
        return 1.0 - min(1.0, max(0.0, self.cores / ranks - 1.0)) if self.cores else 0.0


def share_that_waits(ranks: int, cores: int) -> float:
    """The share of ranks that another one on their core keeps waiting: all but the last of each core."""
    return max(0.0, 1.0 - cores / ranks)


def patience(seconds: float) -> float:
    """How a wait's polling grows with its length: pauses are a share of the time waited (`_work`), plus the timer's
    own slack, so that their number grows as a logarithm."""
    return math.log1p(seconds * PAUSE_SHARE / _TIMER)


def ways(kind: str, n: int, size: float) -> list[tuple[float, float, bool]]:
    """Algorithms for a collective: rounds, the shares of the bytes that cross a link, and whether it is a tree.

    The last one is what MPI takes among ranks in one memory.
    """
    rounds, others = math.ceil(math.log2(n)), (n - 1) / n
    if kind.startswith("all_reduce"):
        whole = (2 * (n - 1), 2 * others, False), (2 * rounds, 2 * others, True)
        # MPICH's limit (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE): longer messages are split first.
        return [*whole, (rounds, rounds, True)] if size <= _SHORT else [*whole]
    if kind in ("broadcast", "reduce"):
        return [(rounds, rounds, True), (2 * rounds, 2 * others, True), (rounds + n - 1, 1, False)]
    if kind == "barrier":
        return [(rounds, 0, True)]
    if kind.startswith("all_to_all"):
        return [(n - 1, others, False), (rounds, rounds / 2, True)]
    # all_gather, gather, scatter, reduce_scatter and their variants
    return [(n - 1, others, False), (rounds, others, True)]


# As messages see them: four fifths of the line rate, which large all_reduces reach.
PRESETS = {
    "ethernet-10": Network(1.0, 30),
    "ethernet-25": Network(2.5, 20),
    "ethernet-100": Network(10.0, 10, 8, 100, 5),
    "infiniband-hdr": Network(20.0, 5, 8, 100, 5),
    "infiniband-ndr-8": Network(320.0, 5, 8, 360, 5),
}


def network_of(text: str) -> Network:
    """A network from a command line: a name, `bandwidth=12.5,latency=5,node=8`, or a name with changes."""
    first, *rest = text.split(",")
    if "=" in first:
        base, rest = None, [first, *rest]
    elif first in PRESETS:
        base = PRESETS[first]
    else:
        raise ValueError(f"there is no network '{first}' (there is: here, {', '.join(PRESETS)})")
    names = [one.name for one in fields(Network)]
    given: dict[str, float] = {}
    for part in rest:
        name, _, value = part.partition("=")
        if name not in names:
            raise ValueError(f"'{part}': a network has {', '.join(names)}")
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"'{part}': '{value}' is no number") from None
        whole = name in ("node", "cores")
        if not number >= 0 or (number == 0 and "latency" not in name) or (whole and number % 1):
            raise ValueError(f"'{part}': {value} makes no network")
        given[name] = int(number) if whole else number
    if base is not None:
        return replace(base, **given)  # type: ignore[arg-type]
    if "bandwidth" not in given:
        raise ValueError(f"'{text}': which bandwidth?")
    return Network(**given)  # type: ignore[arg-type]
