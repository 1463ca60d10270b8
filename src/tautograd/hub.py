"""`torch.hub`: models that a folder's `hubconf.py` makes. Only folders on this machine: nothing is fetched.

To run a `hubconf.py` is to run its code, with all that the caller may do.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import re
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._ops.declare.python_surface import speak

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir",
]  # fmt: skip

HASH_REGEX = re.compile(r"-([0-9a-f]*)\.")
"""Where a file's name carries the beginning of its hash: `resnet18-f37072fd.pth`."""
urlparse = urllib.parse.urlparse  # which libraries import from here
_CONF = "hubconf.py"
_hub_dir: str | None = None


def get_dir() -> str:
    """The folder for what is kept between runs."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def _get_torch_home() -> str:
    """The folder above it, which libraries ask for by this name."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", f"{cache}/torch"))


def set_dir(d: Any) -> None:
    """Set that folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _conf(folder: str) -> Any:
    """The module that a folder's `hubconf.py` is."""
    spec = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, _CONF))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module: Any, model: Any) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(module, "dependencies", None) or ()
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _local(repo: Any, source: str = "github") -> str:
    """The folder that is meant; a repository's name stands for one that is kept in `get_dir()`."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return str(os.fspath(repo))
    owner_and_name, _, ref = str(repo).partition(":")
    kept = owner_and_name.replace("/", "_")
    for name in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), f"{kept}_{name.replace('/', '_')}")
        if os.path.isfile(os.path.join(folder, _CONF)):
            return folder
    raise RuntimeError(
        "It looks like there is no internet connection and the repo could not be found in the cache "
        f"({get_dir()}). tautograd fetches nothing: clone {owner_and_name} and use source='local'."
    )


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """What a `hubconf.py` offers."""
    folder = _local(github)
    with _on_path(folder):
        module = _conf(folder)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:
    """What it says of one of them."""
    folder = _local(github)
    with _on_path(folder):
        module = _conf(folder)
    doc: str | None = _entry(module, model).__doc__
    return doc


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """A model from a folder with a `hubconf.py`."""
    folder = _local(repo_or_dir, source)
    with _on_path(folder):
        return _entry(_conf(folder), model)(*args, **kwargs)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Weights that were fetched before, from the folder in which they are kept."""
    from urllib.parse import urlparse

    from .serialization import load as load_file

    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), name)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is not there, and tautograd fetches nothing: download {url} to it yourself"
        )
    found: dict[str, Any] = load_file(path, map_location=map_location)
    return found


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """A file of this machine (`file:…`) copied to another place, its hash compared; nothing is fetched."""
    import hashlib
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    from ._files.atomic import replacing

    parts = urlparse(url)
    if parts.scheme != "file":
        raise RuntimeError(
            f"tautograd fetches nothing: download {url} to {dst} yourself, or give a file:// address"
        )
    with open(url2pathname(parts.path), "rb") as file:
        data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    if hash_prefix is not None and not digest.startswith(hash_prefix):
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    with replacing(Path(dst).expanduser()) as target:
        target.write(data)


class _NoBar:
    """What stands for a progress bar where tqdm is not installed: it shows nothing."""

    def __init__(self, iterable: Any = (), *args: Any, **options: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def update(self, n: float = 1) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing was shown."""


def progress_bar() -> Any:
    """tqdm, which libraries ask this module for, or what stands for it."""
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return _NoBar


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return progress_bar()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


speak(globals(), __all__)
