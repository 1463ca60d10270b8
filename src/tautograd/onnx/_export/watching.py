"""Watching one run of a model: which operations it applied, to which values.

A function mode sees operations where they are applied; wrappers that a mode installs on `Tensor` see writes and
what leaves the engine; `modes.exporter` sees draws and results written in place. A tensor that
was never seen is a weight, a view of a known one, or a constant; whether it really is constant shows when
another run is compared with this one (`merging`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._autograd import function_modes
from ..._autograd.function_modes import Recorded
from ..._autograd.modes import change, modes
from ..._ops.indexing.getitem import _split
from ..._ops.indexing.index_put import index_put_op
from ..._ops.indexing.indices import COVERED, Indices, prepare
from ..._tensor.tensor import Tensor, make
from ..._user_code.stack import user_site
from .errors import at_line, refused
from .memory import Entry, Storage, gone, replaced
from .recording import Index, Run, Step, Use, Value

_LEAVES = {
    "__array__": "a NumPy array",
    "numpy": "a NumPy array",
    "tolist": "a list",
    "item": "a Python number",
    "__bool__": "a Python boolean",
    "is_nonzero": "a Python boolean",
    "__int__": "a Python integer",
    "__index__": "a Python index",
    "__float__": "a Python float",
    "__complex__": "a Python complex number",
    "__contains__": "a Python boolean",
}
_TURNED = {  # in-place, these change a tensor's view, not its contents
    *("squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_"),
}
_PASSED_ON = {
    *("requires_grad_", "retain_grad", "register_hook", "__repr__", "__format__", "new_tensor"),
    *("detach_", "backward", "share_memory_"),
}
_DRAWS = {
    *("uniform_", "normal_", "bernoulli_", "random_", "exponential_", "log_normal_", "cauchy_"),
    "geometric_",
}
_SMALL = 1 << 20  # bytes: constants up to this are computed while exporting


class Watch:
    """The mode that watches."""

    sees_writes = True

    def __init__(
        self,
        weights: dict[int, tuple[str, Tensor]],
        leaves: Callable[[str, str, Any], None],
        custom: dict[Any, Any],
    ) -> None:
        self.run = Run()
        self.weights = weights
        self.leaves = leaves
        self.custom = custom
        self.entries: dict[int, Entry] = {}
        self.memory: dict[Any, Entry] = {}
        self.draws: dict[int, tuple[Any, str, Any, Any]] = {}
        self.paths: list[str] = []
        self.kept: list[Any] = []
        self.busy = False  # our own operations are running

    # ---- tensors and values ------------------------------------------------------------------------

    def value(self, kind: str, array: Any, depends: bool, key: Any = None, data: Any = None) -> int:
        shape = tuple(int(n) for n in array.shape)
        site = None if kind in ("input", "weight") else self.site()
        self.run.values.append(Value(kind, shape, array.dtype, depends, key, data, site))
        return len(self.run.values) - 1

    def bind(self, tensor: Tensor, storage: Storage, way: Any, number: int) -> Entry:
        entry = Entry(tensor, storage, way, number)
        self.entries[id(tensor)] = entry
        key = _where(tensor._data)
        if key is not None:
            self.kept.append(tensor._data)
            self.memory[key] = entry
        return entry

    def made(self, tensor: Tensor, number: int) -> Entry:
        """Register a tensor with its own memory."""
        return self.bind(tensor, Storage(tensor), (), number)

    def given(self, tensor: Tensor, key: Any) -> None:
        self.made(tensor, self.value("input", tensor._data, True, key))

    def entry_of(self, tensor: Tensor) -> Entry:
        entry = self.entries.get(id(tensor))
        return self._adopted(tensor) if entry is None else entry

    def _adopted(self, tensor: Tensor) -> Entry:
        data = tensor._data
        if type(data) is not np.ndarray:
            raise refused(
                f"a tensor on the device '{tensor.device}' or of the layout {tensor.layout} cannot be "
                "exported; move the model and its inputs to the CPU, as ordinary tensors",
                self.site(),
            )
        weight = self.weights.get(id(tensor))
        if weight is not None:
            same = self.memory.get(_where(data))
            if same is not None:  # another parameter in the same memory
                return self.bind(tensor, same.storage, same.way, same.number)
            return self.made(tensor, self.value("weight", data, False, weight[0]))
        base = tensor._base
        if base is not None and (id(base) in self.entries or id(base) in self.weights):
            whole = self.entry_of(base)
            entry = self.bind(tensor, whole.storage, (*whole.way, *tensor._view), -1)
            entry.generation = -1
            return entry
        alias = self.memory.get(_where(data))
        if alias is not None:
            return self.bind(tensor, alias.storage, alias.way, self.use(alias.tensor))
        drawn = self.draws.get(id(data))
        if drawn is not None:
            return self.made(tensor, self.value("random", data, True, drawn[1:]))
        for array, *key in self.draws.values():  # or a copy of what was drawn, with another layout
            if array.size == data.size > 1 and np.array_equal(np.ravel(array), np.ravel(data)):
                return self.made(tensor, self.value("random", data, True, tuple(key)))
        return self.made(tensor, self.value("constant", data, False, data=np.array(data)))

    def use(self, tensor: Tensor) -> int:
        """The value that a tensor stands for now."""
        entry = self.entry_of(tensor)
        storage = entry.storage
        if storage.box is tensor._version_box and storage.is_behind():
            raise refused(
                "a tensor was changed in place by something that cannot be followed "
                "(an operation that writes its own way, or NumPy)",
                self.site(),
            )
        if entry.generation != storage.generation:
            with self.watched():
                found = gone(storage.shadow, entry.way)
            entry.number = self.entries[id(found)].number
            entry.generation = storage.generation
        return entry.number

    def depends(self, tensor: Tensor) -> bool:
        return self.run.values[self.use(tensor)].depends

    # ---- what the engine reports ---------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(func, Recorded):
            return self._operation(func, args, kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":  # `.data`
            return self._same_memory(args[0], func(*args, **kwargs))
        if name == "detach":
            return self._same_memory(args[0], func(*args, **kwargs))
        if name in _LEAVES:
            if isinstance(args[0], Tensor) and self.depends(args[0]):
                self.leaves(name, _LEAVES[name], self.site())
            return func(*args, **kwargs)
        if name in _PASSED_ON:
            return func(*args, **kwargs)
        if isinstance(kwargs.get("out"), Tensor):
            return self._into_out(func, args, dict(kwargs))
        if name in ("__setitem__", "setitem"):
            return self._set_item(func, *args)
        if name in _TURNED:
            return self._turned(func, name, args, kwargs)
        if name in _DRAWS:
            return self._drawn_into(func, args, kwargs)
        if name.endswith(("_", "_inplace")) or name == "__set__":
            return self._written(func, name, args, kwargs)
        return func(*args, **kwargs)

    def _operation(self, func: Recorded, inputs: Any, parameters: Any) -> Any:
        op, compute = func.op, func.compute
        if op.name == "view_scatter":
            raise refused("a write through a view of a view cannot be exported", self.site())
        compute = None if compute is None else np.dtype(compute)
        ways: dict[str, Any] = {}
        if op.is_view or op.name == "alias":
            entry = self.entry_of(inputs[0])
            ways = {"storage": entry.storage, "way": entry.way}
        uses = tuple(self._argument(x, compute) for x in inputs)
        out = func(*inputs, **parameters)
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        depends = any(self.run.values[u.number].depends for u in _uses(uses))
        weighs = any(self.run.values[u.number].kind == "weight" for u in _uses(uses)) or any(
            self.run.values[u.number].data is None for u in _uses(uses)
        )
        numbers = []
        for i, tensor in enumerate(outs):
            number = self.value("step", tensor._data, depends)
            if not depends and not weighs and tensor._data.nbytes <= _SMALL:
                self.run.values[number].data = np.array(tensor._data)
            numbers.append(number)
            if ways:
                index = i if op.outputs != 1 else None
                way = (*ways["way"], (op, dict(parameters), index))
                self.bind(tensor, ways["storage"], way, number)
            else:
                self.made(tensor, number)
        step = Step(op, uses, dict(parameters), tuple(numbers), self.site(), self.path())
        self.run.steps.append(step)
        return out

    def _argument(self, x: Any, compute: Any) -> Any:
        if isinstance(x, Tensor):
            number = self.use(x)
            kind = self.run.values[number].dtype
            if compute is None or kind == compute:
                return Use(number)
            wanted = from_numpy_dtype(compute)
            with self.watched():
                cast = x.to(wanted)
            return Use(self.use(cast))
        if isinstance(x, (list, tuple)):
            return [self._argument(y, compute) for y in x]
        if isinstance(x, Indices):
            return Index(
                tuple(
                    None if a is None else Use(self._of_array(a))
                    for a in x.arrays
                    if a is not COVERED
                )
            )
        if isinstance(x, np.generic) and compute is not None:
            return x.astype(compute)
        return x

    def _of_array(self, array: Any) -> int:
        """The value of an index array: a tensor's memory, or a constant."""
        entry = self.memory.get(_where(array))
        if entry is not None and entry.generation == entry.storage.generation:
            return entry.number
        return self.use(make(array))

    # ---- writes ----------------------------------------------------------------------------------------

    def _written(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """An in-place write: its out-of-place twin's result is stored in the memory."""
        target = args[0]
        if not isinstance(target, Tensor):
            return func(*args, **kwargs)
        new = self._twin(name, args, kwargs)
        self._put(target, new)
        result = func(*args, **kwargs)
        self._settle(target)
        return result

    def _twin(self, name: str, args: Any, kwargs: Any) -> Tensor:
        target, *rest = args
        kwargs = {k: v for k, v in kwargs.items() if k != "non_blocking"}
        with self.watched():
            if name == "copy_":
                source = rest[0] if rest else kwargs["src"]
                source = source if isinstance(source, Tensor) else make(np.asarray(source))
                return source.expand(target.shape)
            if name in ("fill_", "zero_"):
                value = (rest or [*kwargs.values(), 0])[0]
                if isinstance(value, Tensor):
                    return value.expand(target.shape)
                return make(np.full(target._data.shape, value, target._data.dtype))
            plain = {"index_put_inplace": "index_put"}.get(name, name.removesuffix("_"))
            method = getattr(Tensor, plain, None)
            if plain in ("set", "resize", "data") or method is None:
                raise refused(f"`{name}` cannot be exported", self.site())
            return method(target, *rest, **kwargs)  # type: ignore[no-any-return]

    def _put(self, target: Tensor, new: Tensor) -> None:
        """Store `new` in the memory that `target` views."""
        entry = self.entry_of(target)
        storage = entry.storage
        with self.watched():
            if new._data.dtype != target._data.dtype:
                new = new.to(target.dtype)
            if tuple(new.shape) != tuple(target.shape):
                new = new.expand(target.shape)
            self.use(storage.shadow)
            self.use(new)
            if entry.way:
                new = replaced(storage.shadow, entry.way, new, self.site())
        number = self.use(new)
        shadow = make(np.array(new._data))
        self.made(shadow, number)
        self._note_change(storage)
        storage.shadow = shadow
        storage.generation += 1

    def _settle(self, target: Tensor) -> None:
        """Mark what was written as known."""
        self.entry_of(target).storage.settle()

    def _note_change(self, storage: Storage) -> None:
        entry = self.entries.get(id(storage.shadow))
        if entry is not None and self.run.values[entry.number].kind == "weight":
            self.run.written[self.run.values[entry.number].key] = self.site()

    def written(self, target: Tensor, result: Tensor) -> None:
        """`write_into` reports that a result is stored in a tensor's memory."""
        if self.busy or not modes.function_modes or modes.function_modes[-1] is not self:
            return
        if result is not target:
            self._put(target, result)
        self.entry_of(target).storage.settle(1)  # as it is about to be

    def _set_item(self, func: Any, target: Tensor, key: Any, value: Any) -> None:
        with self.watched():
            if isinstance(key, (bool, np.bool_)) and not key:
                return
            view, given = _split(target, key)
            if not isinstance(value, Tensor):
                new = make(np.asarray(value, target._data.dtype))
            else:
                new = value
            if given:
                new = _put_at(view, given, new)
            else:
                while new.ndim > view.ndim and new.shape[0] == 1:
                    new = new.squeeze(0)
                new = new.expand(view.shape)
            if view is not target:
                self.use(view)
            self._put(view, new)
        func(target, key, value)
        self._settle(target)

    def _into_out(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        out = kwargs.pop("out")
        with self.watched():
            new = func(*args, **kwargs)
        result = func(*args, **kwargs, out=out)
        if tuple(new.shape) == tuple(self.entry_of(out).storage.shadow.shape):
            self._put(out, new)
            self._settle(out)
        else:
            self.made(out, self.use(new))
        return result

    def _turned(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        target = args[0]
        with self.watched():
            new = getattr(Tensor, name.removesuffix("_"))(*args, **kwargs)
        found = self.entries[id(new)]
        result = func(*args, **kwargs)
        entry = self.bind(target, found.storage, found.way, found.number)
        entry.generation = found.generation
        self._settle(target)
        return result

    def _same_memory(self, source: Tensor, result: Tensor) -> Tensor:
        entry = self.entry_of(source)
        self.use(source)
        copy = self.bind(result, entry.storage, entry.way, entry.number)
        copy.generation = entry.generation
        return result

    # ---- random numbers -----------------------------------------------------------------------------

    def drawn(self, array: Any, sampler: Any, args: Any, kwargs: Any) -> None:
        """`sampled` reports that numbers were drawn."""
        self.kept.append(array)
        name = getattr(sampler, "__name__", "")
        self.draws[id(array)] = (array, name, args, {**getattr(sampler, "options", {}), **kwargs})

    def _drawn_into(self, func: Any, args: Any, kwargs: Any) -> Any:
        before = set(self.draws)
        self.busy = True
        try:
            result = func(*args, **kwargs)
        finally:
            self.busy = False
        found = [self.draws[k] for k in self.draws if k not in before]
        target = args[0]
        fresh = make(np.array(target._data))
        key = found[-1][1:] if found else ("", (), {})
        self.made(fresh, self.value("random", fresh._data, True, key))
        self._put(target, fresh)
        self._settle(target)
        return result

    # ---- where we are ----------------------------------------------------------------------------------

    def site(self) -> Any:
        return user_site()

    def path(self) -> str:
        return self.paths[-1] if self.paths else ""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """A context whose operations are watched as well."""
        before = modes.function_modes
        if before and before[-1] is self:
            yield
            return
        change(function_modes=(*before, self))
        try:
            yield
        finally:
            change(function_modes=before)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """A context for the run."""
        function_modes.enter(self)
        modes.exporter = self
        try:
            yield
        finally:
            modes.exporter = None
            function_modes.leave()


def _uses(arguments: Any) -> Iterator[Use]:
    for x in arguments:
        if isinstance(x, Use):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _uses(x)
        elif isinstance(x, Index):
            yield from (u for u in x.places if u is not None)


def _where(array: Any) -> Any:
    """An array's memory address and form, unique as long as the array is alive."""
    if type(array) is not np.ndarray or not array.size:
        return None
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _put_at(view: Tensor, given: list[Any], new: Tensor) -> Any:
    """The tensor with other elements at some indices; `given` has an index or None for each dimension."""
    indexed = [(d, t) for d, t in enumerate(given) if t is not None]
    if len(indexed) == 1 and new.ndim == 0 and indexed[0][1]._data.dtype == np.bool_:
        dim, mask = indexed[0]
        for _ in range(dim):  # the mask is for later dimensions
            mask = mask.unsqueeze(0)
        return Tensor.masked_fill(view, _widened(mask, view), new.to(view.dtype))
    values = new.to(view.dtype)
    return index_put_op.apply((view, prepare(view, given), values), {"accumulate": False}, None)


def _widened(mask: Tensor, view: Tensor) -> Tensor:
    for _ in range(view.ndim - mask.ndim):
        mask = mask.unsqueeze(-1)
    return mask


def warn_leaving(name: str, what: str, site: Any) -> None:
    """Warn as PyTorch's tracer does."""
    from ...jit import TracerWarning

    warnings.warn(
        f"Converting a tensor to {what} might cause the trace to be incorrect. We can't record the "
        "data flow of Python values, so this value will be treated as a constant in the future. This "
        f"means that the trace might not generalize to other inputs!{at_line(site)}",
        TracerWarning,
        stacklevel=2,
    )


def refuse_leaving(name: str, what: str, site: Any) -> None:
    """Refuse a value that a graph does not have: what is computed from it would be fixed for ever."""
    raise refused(
        f"a tensor that depends on the inputs is converted to {what} (`{name}`), on which the model's "
        "Python then depends: a data-dependent branch or size, which ONNX's graph would not have. Use "
        "torch.where and the like, or `dynamo=False`, which keeps what the example gave and warns",
        site,
    )
