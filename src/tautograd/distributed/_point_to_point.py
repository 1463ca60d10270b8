"""Messages between two ranks: `send`, `recv`, their asynchronous forms, and several at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from .._user_code.stack import user_site
from ._buffers import Buffer, check_tensor, described, group_of, transport_of
from ._errors import DistBackendError
from ._groups import get_rank, member, root_in
from ._process_group import ProcessGroup
from ._transport.base import Transport
from ._work import GAVE_UP, Work

_ANSWER = 1 << 20  # tags above the users'
_ARRIVED = _ANSWER + 1


def _check_tag(tag: int) -> None:
    if tag < 0:
        raise RuntimeError(f"Tag must be nonnegative, got {tag}")
    if tag >= _ANSWER:
        raise ValueError(f"tag must be from 0 to {_ANSWER - 1}, got {tag}")


def _other(found: ProcessGroup, kind: str, given: int | None, in_group: int | None) -> int:
    peer = root_in(
        found, f"ProcessGroupGloo::{'send' if kind == 'destination' else 'recv'}", given, in_group
    )
    if peer == found.rank():
        raise ValueError(
            f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process."
        )
    return peer


def isend(
    tensor: Any,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to a rank."""
    check_tensor(tensor, "tensor")
    if (found := group_of(group, "isend")) is None:
        return None
    peer = _other(found, "destination", dst, group_dst)
    _check_tag(tag)
    buffer = Buffer(tensor, found)
    return found.start(
        f"send({described(tensor)}, dst={found.ranks[peer]}, tag={tag})",
        lambda: transport_of(found, tensor).send(buffer.array, peer, tag),
        result=[tensor], async_op=True, peer=peer, collective=False,
    )  # fmt: skip


def irecv(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive a tensor from a rank, or from whichever sends first."""
    check_tensor(tensor, "tensor")
    if (found := group_of(group, "irecv")) is None:
        return None
    anybody = src is None and group_src is None
    peer = None if anybody else _other(found, "source", src, group_src)
    _check_tag(tag)
    buffer = Buffer(tensor, found)
    source = "anybody" if peer is None else found.ranks[peer]

    def finish(work: Work) -> None:
        received = work._request.received()
        if received is not None and received[1] != buffer.array.nbytes:
            raise DistBackendError(
                f"[rank {found.ranks[found.rank()]}] {work.label}: rank {found.ranks[received[0]]} sent "
                f"{received[1]} bytes, and the tensor to receive them has {buffer.array.nbytes}"
            )
        buffer.put_back()

    return found.start(
        f"recv({described(tensor)}, src={source}, tag={tag})",
        lambda: transport_of(found, tensor).recv(buffer.array, peer, tag),
        result=[tensor], finish=finish, async_op=True, peer=peer, collective=False,
    )  # fmt: skip


def send(
    tensor: Any,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from a rank, or from whichever sends first; returns the sender."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is None and group_src is None:
        return work.source_rank()
    return src if src is not None else member(group).ranks[group_src]  # type: ignore[union-attr,index]


class P2POp:
    """A message for `batch_isend_irecv`: `isend` or `irecv`, a tensor, and the other rank."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        found = member(group)
        assert found is not None
        self.group_peer = root_in(found, "P2POp", peer, group_peer)
        self.peer = found.ranks[self.group_peer]

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Start several messages; returns their works, in order."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if len({id(op.group) for op in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    started = [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]
    return [work for work in started if work is not None]


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """A barrier at which rank 0 reports who has not arrived."""
    if (found := group_of(group, "monitored_barrier")) is None:
        return
    if isinstance(timeout, (int, float)):
        timeout = timedelta(seconds=timeout)
    limit = (found.timeout if timeout is None else timeout).total_seconds()
    transport = found.transport_for("cpu")
    token = np.zeros(1, np.int8)

    def message(what: str, begin: Any, peer: int, left: float) -> Work:
        work = found.start(
            what, begin, timeout=timedelta(seconds=max(left, 1e-3)),
            async_op=True, peer=peer, collective=False,
        )  # fmt: skip
        assert work is not None
        return work

    if found.rank():
        message("monitored_barrier()", lambda: transport.send(token, 0, _ARRIVED), 0, limit).wait()
        message("monitored_barrier()", lambda: transport.recv(token, 0, _ANSWER), 0, limit).wait()
        return
    site = user_site(1)
    label = "monitored_barrier()" + (f" at {site.place}" if site is not None else "")
    found.waits(label)
    late = _late(found, transport, limit, wait_all_ranks)
    found.waits(f"{GAVE_UP}{label}" if late else "")
    if late:
        names, verb = ", ".join(str(found.ranks[one]) for one in late), "Ranks"
        raise found.failed(
            f"[Rank {get_rank()}]: {verb if wait_all_ranks else verb[:-1]} {names} failed to pass monitoredBarrier in "
            f"{limit * 1000:.0f} ms, {label}" + "".join(f"\n  {found.doing(one)}" for one in late)
        )
    for peer in range(1, found.size()):
        answer = lambda peer=peer: transport.send(token, peer, _ANSWER)  # noqa: E731
        message("monitored_barrier()", answer, peer, limit).wait()


def _late(
    found: ProcessGroup, transport: Transport, limit: float, wait_all_ranks: bool
) -> list[int]:
    """Who has not arrived in time, or has exited: the first of them, or all."""
    arrivals = {
        peer: transport.recv(np.zeros(1, np.int8), peer, _ARRIVED)
        for peer in range(1, found.size())
    }
    end = time.monotonic() + limit
    while missing := {peer for peer, arrival in arrivals.items() if not arrival.test()}:
        gone = {peer for peer in missing if found.board.has_ended(peer)}
        if time.monotonic() > end or gone:
            return sorted(missing) if wait_all_ranks else [min(gone or missing)]
        time.sleep(1e-3)
    return []
