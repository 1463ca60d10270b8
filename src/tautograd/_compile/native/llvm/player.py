"""What runs a program: one function of machine code for all of them, which goes through a program's calls in order.

A program is a list of numbers, its score. For each call of a kernel it says where that is, how many units it has,
whether it sets the status and whether its units are shared out, then how many pointers and how many numbers it
takes; then, for each pointer, which address of the table it starts from (-1: the program's own memory) and how far
from there it lies; then room for the pointers, and the numbers. A kernel is given the address of that room, so numbers
stay where they are, and only pointers are written before each call: where arguments lie is another place each time.

The program's own memory begins with the status word, which kernels are to run (for audits, which run them one by
one), where the score is and what else is to be done around it. So many programs share this function, and recording
another one takes no machine code beyond kernels that were never seen before.
"""

from __future__ import annotations

from ...._arrays.once import once
from ..disk_cache import store
from ..products import blas
from . import jit, thread_pool
from .c_functions import ONE_ARGUMENT, Method, symbols_of
from .thread_pool_ir import ALONE, PARALLEL, TOGETHER

START = 64  # bytes: the status word has a line of its own, with what is said of the run
FIRST, LAST = 8, 16  # from this kernel on, up to that one (0: all)
SCORE, COUNT, AROUND = 24, 32, 40  # where the calls are, how many, and what to do around them
RELEASES, QUIETS_BLAS = (
    1,
    2,
)  # around: other Python threads go on meanwhile; BLAS uses this thread alone
CHECKS, SHARED = 1, 2  # of a call: it may set the status; its units are shared out among threads
HEAD = 5  # words of a call before its pointers
OWN = -1

_USED = {
    "PyLong_AsVoidPtr": "ptr (ptr)",
    "PyLong_FromLong": "ptr (i64)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
}

_TEXT = f"""
define internal i32 @play(ptr %table, ptr %own) nounwind {{
entry:
  store i32 0, ptr %own
  %first.at = getelementptr i8, ptr %own, i64 {FIRST}
  %first = load i64, ptr %first.at
  %last.at = getelementptr i8, ptr %own, i64 {LAST}
  %last = load i64, ptr %last.at
  %score.at = getelementptr i8, ptr %own, i64 {SCORE}
  %score = load ptr, ptr %score.at
  %count.at = getelementptr i8, ptr %own, i64 {COUNT}
  %count = load i64, ptr %count.at
  br label %calls
calls:
  %number = phi i64 [ 0, %entry ], [ %after, %next ]
  %at = phi ptr [ %score, %entry ], [ %following, %next ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %one, label %done
one:
  %function = load ptr, ptr %at
  %units.at = getelementptr i64, ptr %at, i64 1
  %units = load i64, ptr %units.at
  %flags.at = getelementptr i64, ptr %at, i64 2
  %flags = load i64, ptr %flags.at
  %pointers.at = getelementptr i64, ptr %at, i64 3
  %pointers = load i64, ptr %pointers.at
  %numbers.at = getelementptr i64, ptr %at, i64 4
  %numbers = load i64, ptr %numbers.at
  %pairs = getelementptr i64, ptr %at, i64 {HEAD}
  %words = mul i64 %pointers, 2
  %args = getelementptr i64, ptr %pairs, i64 %words
  %filled = add i64 %pointers, %numbers
  %following = getelementptr i64, ptr %args, i64 %filled
  %after = add i64 %number, 1
  %wanted = icmp uge i64 %number, %first
  br i1 %wanted, label %fill, label %next
fill:
  %place = phi i64 [ 0, %one ], [ %place.next, %put ]
  %left = icmp ult i64 %place, %pointers
  br i1 %left, label %pointer, label %run
pointer:
  %pair = mul i64 %place, 2
  %base.at = getelementptr i64, ptr %pairs, i64 %pair
  %base = load i64, ptr %base.at
  %far.at = getelementptr i64, ptr %base.at, i64 1
  %far = load i64, ptr %far.at
  %mine = icmp slt i64 %base, 0
  br i1 %mine, label %put, label %look
look:
  %entry.at = getelementptr ptr, ptr %table, i64 %base
  %outside = load ptr, ptr %entry.at
  br label %put
put:
  %from = phi ptr [ %own, %pointer ], [ %outside, %look ]
  %to = getelementptr i8, ptr %from, i64 %far
  %slot = getelementptr ptr, ptr %args, i64 %place
  store ptr %to, ptr %slot
  %place.next = add i64 %place, 1
  br label %fill
run:
RUN
ran:
  %checked = and i64 %flags, {CHECKS}
  %checks = icmp ne i64 %checked, 0
  br i1 %checks, label %look.back, label %end
look.back:
  %status = load i32, ptr %own
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %end, label %stop
stop:
  ret i32 %status
end:
  %last.one = icmp eq i64 %after, %last
  br i1 %last.one, label %done, label %next
next:
  br label %calls
done:
  ret i32 0
}}

define i32 @run_program(ptr %table, ptr %own) nounwind {{
  %around.at = getelementptr i8, ptr %own, i64 {AROUND}
  %around = load i64, ptr %around.at
  %quieting = and i64 %around, {QUIETS_BLAS}
  %quiets = icmp ne i64 %quieting, 0
  br i1 %quiets, label %quietly, label %plainly
quietly:
QUIETLY
plainly:
  %status = call i32 @play(ptr %table, ptr %own)
  ret i32 %status
}}

define ptr @call_program(ptr %self, ptr %argument) {{
  %own = call ptr @PyLong_AsVoidPtr(ptr %self)
  %table = call ptr @PyLong_AsVoidPtr(ptr %argument)
  %around.at = getelementptr i8, ptr %own, i64 {AROUND}
  %around = load i64, ptr %around.at
  %releasing = and i64 %around, {RELEASES}
  %releases = icmp ne i64 %releasing, 0
  br i1 %releases, label %long, label %short
long:
  %thread = call ptr @PyEval_SaveThread()
  %late = call i32 @run_program(ptr %table, ptr %own)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %give
short:
  %soon = call i32 @run_program(ptr %table, ptr %own)
  br label %give
give:
  %status = phi i32 [ %late, %long ], [ %soon, %short ]
  %wide = sext i32 %status to i64
  %result = call ptr @PyLong_FromLong(i64 %wide)
  ret ptr %result
}}
"""
_ALONE = "  call void %function(ptr %args, i64 0, i64 %units)\n  br label %ran"
_SHARING = f"""
  %sharing = and i64 %flags, {SHARED}
  %shares = icmp ne i64 %sharing, 0
  br i1 %shares, label %together, label %alone
together:
  call void @{PARALLEL}(ptr %function, ptr %args, i64 %units)
  br label %ran
alone:
{_ALONE}"""
_QUIETLY = f"""
  call void @{ALONE}(ptr @taut.get_threads, ptr @taut.set_threads)
  %quiet.status = call i32 @play(ptr %table, ptr %own)
  call void @{TOGETHER}(ptr @taut.set_threads)
  ret i32 %quiet.status"""


class Player:
    """The function as C and as Python have it; it stays until the process ends."""

    def __init__(self) -> None:
        symbols = symbols_of(_USED)
        declared = []
        for name, kind in _USED.items():
            result, _, given = kind.partition(" ")
            declared.append(f"declare {result} @{name}{given}")
        run, quietly = _ALONE, "  br label %plainly"
        if thread_pool.available():
            run = _SHARING
            symbols |= thread_pool.symbols()
            declared.append(f"declare void @{PARALLEL}(ptr, ptr, i64)")
            found = blas()
            if found is not None and found.obeys:
                quietly = _QUIETLY
                declared += [
                    "declare i32 @taut.get_threads()",
                    "declare void @taut.set_threads(i32)",
                    f"declare void @{ALONE}(ptr, ptr)",
                    f"declare void @{TOGETHER}(ptr)",
                ]
                symbols |= {f"taut.{n}": found.addresses[n] for n in ("get_threads", "set_threads")}
        text = _TEXT.replace("RUN\n", f"{run}\n").replace("QUIETLY\n", f"{quietly}\n")
        code, _ = store.compiled("\n".join([*declared, text]))
        loaded = jit.Loaded(code, symbols)
        self.address = loaded.address("run_program")
        self.method = Method(b"run_program", loaded.address("call_program"), ONE_ARGUMENT, None)
        loaded.keep()


@once
def player() -> Player:
    return Player()
