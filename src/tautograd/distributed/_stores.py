"""Stores: a few keys and values that processes share while they find each other.

There is no transport of our own: `TCPStore` is Python's XML-RPC (values are data, and nothing that arrives is
executed), `FileStore` an SQLite file, with SQLite's locking; `HashStore` is for the threads of one process.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ._errors import DistNetworkError, DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_PAUSE = 0.01
_DEFAULT = timedelta(seconds=300)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"a store keeps text or bytes, not {type(value).__name__}")


def _number(value: bytes | None) -> int:
    try:
        return int(value or b"0")
    except ValueError:
        raise DistStoreError(f"add: the key holds {value!r}, which is no number") from None


class Store:
    """What every store can do; each kind of store implements how one key is read and changed."""

    __module__ = "torch.distributed"

    def __init__(self) -> None:
        self._timeout = _DEFAULT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self._timeout = timeout

    def _read(self, key: str) -> bytes | None:
        raise NotImplementedError(f"{type(self).__name__} says how a key is read")

    def _change(self, key: str, how: str, value: bytes, expected: bytes = b"") -> bytes:
        """Change a key atomically (`set`, `add`, `append`, `compare_set`); return its new value."""
        raise NotImplementedError(f"{type(self).__name__} says how a key is changed")

    def _drop(self, key: str) -> bool:
        raise NotImplementedError(f"{type(self).__name__} says how a key is removed")

    def num_keys(self) -> int:
        """The number of keys."""
        raise NotImplementedError(f"{type(self).__name__} says how many keys it has")

    def set(self, key: str, value: Any) -> None:
        """Set a key's value."""
        self._change(key, "set", _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key; waits until the key exists."""
        self.wait([key])
        return self._read(key) or b""

    def add(self, key: str, amount: int) -> int:
        """Add to a key's number (0 if the key is new); return the sum."""
        return int(self._change(key, "add", str(int(amount)).encode()))

    def append(self, key: str, value: Any) -> None:
        """Append something to a key's value."""
        self._change(key, "append", _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a key's value if it holds the expected one (or is new and nothing is expected)."""
        return self._change(key, "compare_set", _bytes(desired_value), _bytes(expected_value))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys exist."""
        return all(self._read(key) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys exist."""
        limit = (timeout or self._timeout).total_seconds()
        end = time.monotonic() + limit
        missing = list(keys)
        while missing := [key for key in missing if self._read(key) is None]:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"wait timeout after {limit * 1000:.0f}ms, keys: /{', /'.join(missing)}"
                )
            time.sleep(_PAUSE)

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it existed."""
        return self._drop(key)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[Any]) -> None:
        """Set the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    def clone(self) -> Store:
        """A store that another thread may use."""
        return self


def changed(present: bytes | None, how: str, value: bytes, expected: bytes) -> bytes:
    """A key's value after a change."""
    if how == "set":
        return value
    if how == "add":
        return str(_number(present) + int(value)).encode()
    if how == "append":
        return (present or b"") + value
    if present is None:
        return expected or value
    return value if present == expected else present


class HashStore(Store):
    """Keys and values of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def _read(self, key: str) -> bytes | None:
        return self._values.get(key)

    def _change(self, key: str, how: str, value: bytes, expected: bytes = b"") -> bytes:
        with self._lock:
            present = self._values.get(key)
            result = changed(present, how, value, expected)
            if how != "compare_set" or present is not None or not expected:
                self._values[key] = result
            return result

    def _drop(self, key: str) -> bool:
        with self._lock:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """The number of keys."""
        return len(self._values)


class FileStore(Store):
    """Keys and values in a file that every process can open."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._db = sqlite3.connect(
            file_name, timeout=60, isolation_level=None, check_same_thread=False
        )
        self._lock = threading.Lock()
        try:
            self._db.execute("create table if not exists store (key text primary key, value blob)")
        except sqlite3.DatabaseError as error:
            raise DistStoreError(
                f"FileStore: {file_name} is not a store's file: {error}"
            ) from error

    def _read(self, key: str) -> bytes | None:
        with self._lock:
            row = self._db.execute("select value from store where key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def _change(self, key: str, how: str, value: bytes, expected: bytes = b"") -> bytes:
        with self._lock:
            self._db.execute("begin immediate")
            try:
                row = self._db.execute("select value from store where key = ?", (key,)).fetchone()
                present = None if row is None else bytes(row[0])
                result = changed(present, how, value, expected)
                if how != "compare_set" or present is not None or not expected:
                    self._db.execute("insert or replace into store values (?, ?)", (key, result))
            finally:
                self._db.execute("commit")
        return result

    def _drop(self, key: str) -> bool:
        with self._lock:
            return self._db.execute("delete from store where key = ?", (key,)).rowcount > 0

    def num_keys(self) -> int:
        """The number of keys."""
        with self._lock:
            return int(self._db.execute("select count(*) from store").fetchone()[0])


class TCPStore(Store):
    """Keys and values in the process with `is_master=True`, which serves the others on a port."""

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _DEFAULT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self.host, self.port = host_name, port
        self._table = HashStore() if is_master else None
        self._server: Any = None
        if is_master:
            self._serve()
        self._local = threading.local()
        self._connect()
        if wait_for_workers and world_size and world_size > 0:
            self._wait_for(world_size)

    def _serve(self) -> None:
        from socketserver import ThreadingMixIn
        from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer

        class Handler(SimpleXMLRPCRequestHandler):
            protocol_version = "HTTP/1.1"  # keeps connections open
            disable_nagle_algorithm = True
            rpc_paths = ("/RPC2",)

        class Server(ThreadingMixIn, SimpleXMLRPCServer):
            daemon_threads = True
            request_queue_size = 1024

        assert self._table is not None
        table = self._table
        here = "127.0.0.1" if self.host in ("localhost", "127.0.0.1") else ""
        try:
            server = Server(
                (here, self.port),
                Handler,
                logRequests=False,
                allow_none=True,
                use_builtin_types=True,
            )
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on any local network address. port: {self.port}, "
                f"{error.strerror or error}"
            ) from error
        self.port = server.server_address[1]
        served: dict[str, Any] = {
            "read": table._read,
            "change": table._change,
            "drop": table._drop,
            "num_keys": table.num_keys,
        }
        for name, function in served.items():
            server.register_function(function, name)
        self._server = server
        threading.Thread(target=server.serve_forever, name="tautograd-store", daemon=True).start()

    def _proxy(self) -> Any:
        import xmlrpc.client

        proxy = getattr(self._local, "proxy", None)
        if proxy is None:
            address = f"http://{self.host}:{self.port}/RPC2"
            proxy = xmlrpc.client.ServerProxy(address, allow_none=True, use_builtin_types=True)
            self._local.proxy = proxy
        return proxy

    def _connect(self) -> None:
        limit = self._timeout.total_seconds()
        end = time.monotonic() + limit
        while self._table is None:
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), 5):
                return
            if time.monotonic() > end:
                raise DistNetworkError(
                    f"The client socket has timed out after {limit * 1000:.0f}ms while trying to connect "
                    f"to ({self.host}, {self.port}). Nobody holds the store there: rank 0 has not come, or has ended."
                )
            time.sleep(0.05)

    def _ask(self, how: Callable[[Any], Any]) -> Any:
        from xmlrpc.client import Error

        try:
            return how(self._proxy())
        except (OSError, Error) as error:
            self._local.proxy = None
            raise DistNetworkError(
                f"the store at ({self.host}, {self.port}) does not answer ({error}): who held it, rank 0 as a rule, "
                "has ended"
            ) from None

    def _wait_for(self, world_size: int) -> None:
        self.add("tautograd/here", 1)
        self.set(f"tautograd/here/{os.environ.get('RANK', '')}", "")
        end = time.monotonic() + self._timeout.total_seconds()
        while (here := self.add("tautograd/here", 0)) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting for clients. "
                    f"{here}/{world_size} clients joined.{self._absent(here, world_size)}"
                )
            time.sleep(_PAUSE)

    def _absent(self, here: int, world_size: int) -> str:
        """Which ranks have not come, if the others have announced theirs."""
        away = [i for i in range(world_size) if self._read(f"tautograd/here/{i}") is None]
        if len(away) != world_size - here:
            return ""
        return f" Not here: rank{'s' if len(away) > 1 else ''} {', '.join(map(str, away))}."

    def _read(self, key: str) -> bytes | None:
        if self._table is not None:
            return self._table._read(key)
        found: bytes | None = self._ask(lambda proxy: proxy.read(key))
        return found

    def _change(self, key: str, how: str, value: bytes, expected: bytes = b"") -> bytes:
        if self._table is not None:
            return self._table._change(key, how, value, expected)
        return bytes(self._ask(lambda proxy: proxy.change(key, how, value, expected)))

    def _drop(self, key: str) -> bool:
        if self._table is not None:
            return self._table._drop(key)
        return bool(self._ask(lambda proxy: proxy.drop(key)))

    def num_keys(self) -> int:
        """The number of keys."""
        if self._table is not None:
            return self._table.num_keys()
        return int(self._ask(lambda proxy: proxy.num_keys()))

    def __del__(self) -> None:
        server = getattr(self, "_server", None)
        if server is not None:
            server.server_close()


class PrefixStore(Store):
    """A part of another store: its keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix, store
        self._timeout = store.timeout

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _read(self, key: str) -> bytes | None:
        return self.underlying_store._read(self._key(key))

    def _change(self, key: str, how: str, value: bytes, expected: bytes = b"") -> bytes:
        return self.underlying_store._change(self._key(key), how, value, expected)

    def _drop(self, key: str) -> bool:
        return self.underlying_store._drop(self._key(key))

    def num_keys(self) -> int:
        """The number of keys in the store, other prefixes included."""
        return self.underlying_store.num_keys()
