"""Streams and events: work in order on the GPU, and marks in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from ._backend import index_of, needed

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "stream",
]


class Event:
    """A mark in a stream, to wait for or to measure time by."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self._event = needed().cupy.cuda.Event(blocking, not enable_timing, interprocess)

    def record(self, stream: Any = None) -> None:
        """Put the mark into a stream, the current one unless given."""
        self._event.record(None if stream is None else stream._stream)

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for the mark."""
        (current_stream() if stream is None else stream)._stream.wait_event(self._event)

    def query(self) -> bool:
        """Whether all before the mark is done."""
        return bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until all before the mark is done."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another."""
        return float(needed().cupy.cuda.get_elapsed_time(self._event, end_event._event))


class Stream:
    """Work that is done in order, beside that of other streams."""

    def __init__(self, device: Any = None, priority: int = 0, *, raw: Any = None) -> None:
        self.device_index = index_of(device)
        self._stream = needed().cupy.cuda.Stream(non_blocking=True) if raw is None else raw

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle of the stream."""
        return int(self._stream.ptr)

    def wait_event(self, event: Event) -> None:
        """Do what comes next after a mark in another stream."""
        self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Do what comes next after all that another stream was given so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark here."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def query(self) -> bool:
        """Whether all is done."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait until all is done."""
        self._stream.synchronize()

    def __enter__(self) -> Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stream.__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"
        )


class ExternalStream(Stream):
    """A stream that another library made, by CUDA's handle of it."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, raw=needed().cupy.cuda.ExternalStream(stream_ptr))


def current_stream(device: Any = None) -> Stream:
    """The stream that work goes to."""
    return Stream(device, raw=needed().cupy.cuda.get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to unless another one is chosen."""
    return Stream(device, raw=needed().cupy.cuda.Stream.null)


def set_stream(stream: Stream) -> None:
    """Let work go to a stream from now on."""
    stream._stream.use()


@contextmanager
def stream(stream: Stream | None) -> Any:
    """Let work inside the block go to a stream; None changes nothing."""
    if stream is None:
        yield None
        return
    with stream:
        yield stream


StreamContext = stream
