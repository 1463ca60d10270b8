"""Lists and dictionaries that refuse to change: what a node's arguments are kept in, so that `users` stays true."""

from __future__ import annotations

from typing import Any, NoReturn

from ..utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the "
        "kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to "
        "the node:\n\n    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list[Any]):  # noqa: N801 (PyTorch's name)
    """A list that cannot be changed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = (
        remove
    ) = _refuse
    reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):  # noqa: N801 (PyTorch's name)
    """A dictionary that cannot be changed."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


def kept(value: Any) -> Any:
    """The same nested containers with their lists and dictionaries made immutable."""
    if isinstance(value, tuple):
        items = [kept(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return immutable_list([kept(v) for v in value])
    if isinstance(value, dict):
        return immutable_dict({k: kept(v) for k, v in value.items()})
    if isinstance(value, slice):
        return slice(*(kept(v) for v in (value.start, value.stop, value.step)))
    return value


pytree.register_pytree_node(
    immutable_list,
    lambda items: (list(items), None),
    lambda items, _: immutable_list(items),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)
pytree.register_pytree_node(
    immutable_dict,
    lambda pairs: (list(pairs.values()), list(pairs)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)
