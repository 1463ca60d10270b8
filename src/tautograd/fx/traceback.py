"""Where the nodes of a transformed graph come from: metadata of the node that runs, handed on to those it makes."""

from __future__ import annotations

import contextlib
import copy
import threading
import traceback
from collections.abc import Iterator
from typing import Any

from .node import Node

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]


class _State(threading.local):
    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserves = False


_state = _State()


def __getattr__(name: str) -> Any:
    if name == "current_meta":
        return _state.meta
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A context in which new nodes get the metadata of the node that is being run."""
    before = _state.preserves, _state.meta
    _state.preserves, _state.meta = enable, dict(_state.meta)
    try:
        yield
    finally:
        _state.preserves, _state.meta = before


@contextlib.contextmanager
def annotate(annotation_dict: dict[Any, Any]) -> Iterator[None]:
    """A context in which new nodes carry these entries in `meta["custom"]`."""
    before = _state.meta
    custom = {**before.get("custom", {}), **annotation_dict}
    _state.meta = {**before, "custom": custom}
    try:
        yield
    finally:
        _state.meta = before


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """A context in which a node is the one that is being run."""
    if not (_state.preserves and node.meta):
        yield
        return
    before = _state.meta
    _state.meta = copy.copy(node.meta)
    try:
        yield
    finally:
        _state.meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Set the lines that new nodes are said to come from."""
    if _state.preserves and stack:
        _state.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of the node that is being run, or those of the caller."""
    if _state.preserves:
        return [_state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta() -> bool:
    """Whether new nodes get the metadata of the node that is being run."""
    return _state.preserves


def get_current_meta() -> dict[str, Any]:
    """The metadata of the node that is being run."""
    return _state.meta
