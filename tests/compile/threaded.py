"""The same work in many threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work(i)` gives in as many threads at once; errors are raised here."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    begin = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            begin.wait(60)
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results
