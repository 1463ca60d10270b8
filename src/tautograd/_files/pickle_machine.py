"""Our own pickle interpreter, which can do nothing but build plain data.

Python's own unpickler runs whatever a pickle names, sets attributes of anything it reaches and trusts
each number in it. This one knows the data opcodes of pickle protocols 2 to 5; any
other is refused by name. Only lists, dicts and sets that this pickle has created are ever
changed; a `Vocabulary` decides what a name means, and what may be called or given a state.
"""

from __future__ import annotations

import pickle
import pickletools
import struct
from collections import Counter, OrderedDict, defaultdict
from typing import Any, Protocol

from . import allowance as costs
from .allowance import Allowance
from .refusals import DamagedFile, UnsafeFile

NESTING = 1000
"""How deep containers may be nested: what Python's own functions can traverse."""
_HALF = 0x65  # the letter "e": about as many frequent opcodes precede it as follow it
_MARKS = 4 * NESTING  # marks that are still open
_NAME = 200  # bytes of a module's or an object's name

_OPCODES = {ord(code.code): code.name for code in pickletools.opcodes}
_PLAIN_DICTS = frozenset((dict, OrderedDict, Counter, defaultdict))


def _op(name: str) -> int:
    code: bytes = getattr(pickle, name)
    return code[0]


# The opcodes as numbers, those for text first: they are the most frequent.
BINUNICODE, SHORT_BINUNICODE = _op("BINUNICODE"), _op("SHORT_BINUNICODE")
BINUNICODE8 = _op("BINUNICODE8")
BINPUT, LONG_BINPUT, MEMOIZE = _op("BINPUT"), _op("LONG_BINPUT"), _op("MEMOIZE")
BINGET, LONG_BINGET = _op("BINGET"), _op("LONG_BINGET")
BININT, BININT1, BININT2, BINFLOAT = _op("BININT"), _op("BININT1"), _op("BININT2"), _op("BINFLOAT")
LONG1, LONG4 = _op("LONG1"), _op("LONG4")
NONE, NEWTRUE, NEWFALSE = _op("NONE"), _op("NEWTRUE"), _op("NEWFALSE")
MARK, POP, POP_MARK, STOP = _op("MARK"), _op("POP"), _op("POP_MARK"), _op("STOP")
EMPTY_TUPLE, TUPLE = _op("EMPTY_TUPLE"), _op("TUPLE")
TUPLE1, TUPLE2, TUPLE3 = _op("TUPLE1"), _op("TUPLE2"), _op("TUPLE3")
EMPTY_LIST, APPEND, APPENDS = _op("EMPTY_LIST"), _op("APPEND"), _op("APPENDS")
EMPTY_DICT, SETITEM, SETITEMS = _op("EMPTY_DICT"), _op("SETITEM"), _op("SETITEMS")
EMPTY_SET, ADDITEMS, FROZENSET = _op("EMPTY_SET"), _op("ADDITEMS"), _op("FROZENSET")
BINSTRING, SHORT_BINSTRING = _op("BINSTRING"), _op("SHORT_BINSTRING")
BINBYTES, SHORT_BINBYTES = _op("BINBYTES"), _op("SHORT_BINBYTES")
BINBYTES8, BYTEARRAY8 = _op("BINBYTES8"), _op("BYTEARRAY8")
GLOBAL, STACK_GLOBAL = _op("GLOBAL"), _op("STACK_GLOBAL")
REDUCE, NEWOBJ, BUILD, BINPERSID = _op("REDUCE"), _op("NEWOBJ"), _op("BUILD"), _op("BINPERSID")
PROTO, FRAME = _op("PROTO"), _op("FRAME")

_U16, _I32, _U32 = struct.Struct("<H"), struct.Struct("<i"), struct.Struct("<I")
_U64, _F64 = struct.Struct("<Q"), struct.Struct(">d")

# The width of the length field, for text and for bytes.
_TEXT = {BINUNICODE8: _U64, BINSTRING: _I32}
_BYTES = {BINBYTES: _U32, BINBYTES8: _U64, BYTEARRAY8: _U64}


class Vocabulary(Protocol):
    """The meaning of a pickle's names, calls, states and references."""

    def find(self, module: str, name: str) -> Any:
        """The meaning of a name."""

    def call(self, function: Any, args: Any) -> Any:
        """The result of a call."""

    def build(self, target: Any, state: Any) -> None:
        """Restore an object's state."""

    def refer(self, reference: Any) -> Any:
        """Resolve a reference to something outside of the pickle."""


class _Missing:
    """Marks unset entries of the memo."""


_MISSING = _Missing()


class PickleMachine:
    """One pickle, read once."""

    def __init__(self, data: bytes, vocabulary: Vocabulary, allowance: Allowance) -> None:
        self._data = data
        self._vocabulary = vocabulary
        self._allowance = allowance
        self._stack: list[Any] = []
        self._marks: list[int] = []  # the stack height at each
        self._memo: list[Any] = []
        self._at = 0

    def run(self) -> Any:
        """The object that the pickle contains."""
        data, stack, marks, memo = self._data, self._stack, self._marks, self._memo
        push, take = stack.append, self._allowance.take
        u16, i32, u32, f64 = (kind.unpack_from for kind in (_U16, _I32, _U32, _F64))
        size, at = len(data), 2
        if size < 2 or data[0] != PROTO or not 2 <= data[1] <= 5:
            raise UnsafeFile("the file's pickle is not of protocol 2, 3, 4 or 5")
        # All frequent opcodes are in one function, since each small object of a file passes through
        # here. Splitting the alphabet in two halves keeps the comparisons few.
        while True:
            op = data[at]
            at += 1
            if op > _HALF:
                if op == MEMOIZE:
                    memo.append(stack[-1])
                elif op in (BINPUT, LONG_BINPUT):
                    if op == BINPUT:
                        index = data[at]
                        at += 1
                    else:
                        (index,) = u32(data, at)
                        at += 4
                    if index == len(memo):
                        memo.append(stack[-1])
                    else:
                        self._put(index)
                elif op in (BINGET, LONG_BINGET):
                    if op == BINGET:
                        index = data[at]
                        at += 1
                    else:
                        (index,) = u32(data, at)
                        at += 4
                    found = memo[index]
                    if found is _MISSING:
                        raise DamagedFile("its pickle gets from the memo what was not put there")
                    push(found)
                elif op == SHORT_BINUNICODE:
                    end = at + 1 + data[at]
                    if end > size:
                        raise _cut_off()
                    push(data[at + 1 : end].decode("utf-8", "surrogatepass"))
                    at = end
                elif op == TUPLE2:
                    take(costs.TUPLE + 16)
                    last = stack.pop()
                    stack[-1] = (stack[-1], last)
                elif op == TUPLE1:
                    take(costs.TUPLE + 8)
                    stack[-1] = (stack[-1],)
                elif op == TUPLE:
                    start = marks.pop()
                    if start > len(stack):
                        raise _below_mark()
                    take(costs.TUPLE + 8 * (len(stack) - start))
                    stack[start:] = [tuple(stack[start:])]
                elif op == SETITEMS:
                    start = marks.pop()
                    if start > len(stack):
                        raise _below_mark()
                    keys, values = stack[start::2], stack[start + 1 :: 2]
                    del stack[start:]
                    self._allowance.put(self._table(), keys, values)
                elif op == EMPTY_DICT:
                    take(costs.DICT)
                    push({})
                elif op == NEWFALSE:
                    push(False)
                elif op == NEWTRUE:
                    push(True)
                elif op == SETITEM:
                    value, key = stack.pop(), stack.pop()
                    self._allowance.put(self._table(), (key,), (value,))
                elif op == LONG1:
                    end = at + 1 + data[at]
                    if end > size:
                        raise _cut_off()
                    push(int.from_bytes(data[at + 1 : end], "little", signed=True))
                    at = end
                elif op == TUPLE3:
                    take(costs.TUPLE + 24)
                    last, middle = stack.pop(), stack.pop()
                    stack[-1] = (stack[-1], middle, last)
                else:
                    at = self._rarely(op, at)
            elif op == BINUNICODE:
                end = at + 4 + u32(data, at)[0]
                if end > size:
                    raise _cut_off()
                push(data[at + 4 : end].decode("utf-8", "surrogatepass"))
                at = end
            elif op == BININT1:
                push(data[at])
                at += 1
            elif op == BININT:
                push(i32(data, at)[0])
                at += 4
            elif op == BININT2:
                push(u16(data, at)[0])
                at += 2
            elif op == BINFLOAT:
                push(f64(data, at)[0])
                at += 8
            elif op == MARK:
                marks.append(len(stack))
                if len(marks) > _MARKS:
                    raise too_deep()
            elif op == NONE:
                push(None)
            elif op == EMPTY_TUPLE:
                push(())
            elif op == REDUCE:
                args = stack.pop()
                stack[-1] = self._vocabulary.call(stack[-1], args)
            elif op == BINPERSID:
                stack[-1] = self._vocabulary.refer(stack[-1])
            elif op == EMPTY_LIST:
                take(costs.LIST)
                push([])
            elif op == APPEND:
                value = stack.pop()
                self._list().append(value)
            elif op == APPENDS:
                items = self._popped()
                self._list().extend(items)
            elif op == STOP:
                return stack[-1]
            else:
                at = self._rarely(op, at)

    def _rarely(self, op: int, at: int) -> int:
        """Execute one of the other opcodes; returns the position of the next one."""
        rare = _RARE.get(op)
        if rare is None:
            raise _refused(op)
        self._at = at
        rare(self, op)
        return self._at

    # ---- the stack and the memo ------------------------------------------------------------------

    def _popped(self) -> list[Any]:
        """Pop everything above the last mark."""
        start = self._marks.pop()
        if start > len(self._stack):
            raise _below_mark()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _put(self, index: int) -> None:
        memo = self._memo
        if index > len(self._data):
            raise UnsafeFile(
                f"the pickle puts an object at {index} of its memo, but is too short for it"
            )
        if index >= len(memo):
            memo.extend([_MISSING] * (index + 1 - len(memo)))
        memo[index] = self._stack[-1]

    def _list(self) -> list[Any]:
        target = self._stack[-1]
        if type(target) is not list:
            raise UnsafeFile(f"the pickle appends to a {type(target).__name__}")
        return target

    def _table(self) -> dict[Any, Any]:
        target = self._stack[-1]
        if type(target) not in _PLAIN_DICTS:
            raise UnsafeFile(f"the pickle sets items of a {type(target).__name__}")
        found: dict[Any, Any] = target
        return found

    def _read(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise _cut_off()
        found = self._data[self._at : end]
        self._at = end
        return found

    def _number(self, kind: struct.Struct) -> int:
        found: int = kind.unpack_from(self._data, self._at)[0]
        self._at += kind.size
        return found

    # ---- less frequent opcodes ---------------------------------------------------------------------

    def _pop(self, op: int) -> None:
        if op == POP_MARK:
            self._popped()
        elif self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._stack.pop()

    def _long(self, op: int) -> None:
        length = self._number(_I32)
        self._stack.append(int.from_bytes(self._read(length), "little", signed=True))

    def _text(self, op: int) -> None:
        if op == SHORT_BINSTRING:
            length = self._read(1)[0]
        else:
            length = self._number(_TEXT[op])
        errors = "surrogatepass" if op == BINUNICODE8 else "strict"
        self._stack.append(self._read(length).decode("utf-8", errors))

    def _bytes(self, op: int) -> None:
        length = self._read(1)[0] if op == SHORT_BINBYTES else self._number(_BYTES[op])
        data = self._read(length)
        if op == BYTEARRAY8:
            self._allowance.take(costs.LIST)
        self._stack.append(bytearray(data) if op == BYTEARRAY8 else data)

    def _set(self, op: int) -> None:
        self._allowance.take(costs.SET)
        if op == EMPTY_SET:
            self._stack.append(set())
            return
        made: set[Any] = set()
        self._allowance.add(made, self._popped())
        self._stack.append(frozenset(made))

    def _add(self, op: int) -> None:
        items = self._popped()
        target = self._stack[-1]
        if type(target) is not set:
            raise UnsafeFile(f"the pickle adds elements to a {type(target).__name__}")
        self._allowance.add(target, items)

    def _global(self, op: int) -> None:
        if op == STACK_GLOBAL:
            name, module = self._stack.pop(), self._stack.pop()
            if type(name) is not str or type(module) is not str:
                raise DamagedFile("the pickle has a name that is no text")
        else:
            module, name = self._line(), self._line()
        self._stack.append(self._vocabulary.find(module, name))

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at, self._at + _NAME)
        if end < 0:
            raise DamagedFile("the pickle has a name without an end")
        line = self._read(end - self._at)
        self._at += 1
        return line.decode("utf-8")

    def _new(self, op: int) -> None:
        args = self._stack.pop()
        function = self._stack[-1]
        if not isinstance(function, type):
            raise UnsafeFile("the pickle makes an object of what is no class")
        self._stack[-1] = self._vocabulary.call(function, args)

    def _build(self, op: int) -> None:
        state = self._stack.pop()
        self._vocabulary.build(self._stack[-1], state)

    def _frame(self, op: int) -> None:
        if self._number(_U64) > len(self._data) - self._at:
            raise _cut_off()


_RARE = {
    **dict.fromkeys((POP, POP_MARK), PickleMachine._pop),
    LONG4: PickleMachine._long,
    **dict.fromkeys((BINUNICODE8, BINSTRING, SHORT_BINSTRING), PickleMachine._text),
    **dict.fromkeys((BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8), PickleMachine._bytes),
    **dict.fromkeys((EMPTY_SET, FROZENSET), PickleMachine._set),
    **dict.fromkeys((GLOBAL, STACK_GLOBAL), PickleMachine._global),
    ADDITEMS: PickleMachine._add,
    NEWOBJ: PickleMachine._new,
    BUILD: PickleMachine._build,
    FRAME: PickleMachine._frame,
}


def _below_mark() -> DamagedFile:
    return DamagedFile("its pickle takes what lies below a mark")


def _cut_off() -> DamagedFile:
    return DamagedFile("its pickle ends in the middle of a value")


def too_deep() -> UnsafeFile:
    """The error for containers that are nested too deep."""
    return UnsafeFile(f"the file holds containers that lie more than {NESTING} deep in each other")


def _refused(op: int) -> Exception:
    name = _OPCODES.get(op)
    if name is None:
        return DamagedFile(f"its pickle has a byte {op:#04x} where an opcode belongs")
    return UnsafeFile(
        f"Weights only load failed: the file's pickle has the opcode {name}, which tensors and "
        "plain data do not need. Nothing was run"
    )
