"""The pool of threads in LLVM's assembly language: its state in memory, helpers that wait, and the caller's part."""

from __future__ import annotations

import platform
import sys

PARALLEL = "taut_parallel"
ALONE, TOGETHER = "taut_blas_alone", "taut_blas_together"
STATE = "taut_state"
BYTES = 1024
_X86 = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()")
_ARM = ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)")
_PAUSE = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}


# Places in the state, each group on a line of its own.
WANTED, _STARTED, _GENERATION, _GATE, _NEXT = 0, 8, 64, 128, 192
_FUNCTION, _ARGUMENTS, _TOTAL, _CHUNK = 256, 264, 272, 280
_SLEEPING, _BUSY, _MUTEX, _CONDITION = 320, 328, 384, 640
_LOCK, INSIDE, BEFORE = 896, 904, 912  # of BLAS's own threads
_CALLER = 288  # the processor that the caller runs on
_OPEN = 1 << 32
_SPINS = 1500  # of a caller that waits for helpers, before it gives way
# Eager operations follow each other some 50 microseconds apart, and a thread that sleeps takes as long to wake.
_PATIENCE = 4000  # of a helper, before it sleeps
_MASK = 128  # bytes of a set of processors
_CHUNKS = 4  # for each thread

# A helper that was woken may be given the core of its caller, where it can only be in the way, and the system leaves
# it there while others keep the rest busy. So a caller says where it runs, and a helper that finds itself there
# moves to another core; then it may run anywhere again.
_NOTE = """
  %cpu = call i32 @sched_getcpu()
  %cpu.wide = sext i32 %cpu to i64
  store i64 %cpu.wide, ptr {caller}
"""
_LEAVE = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal void @leave() nounwind noinline {{
entry:
  %allowed = alloca [{mask} x i8], align 8
  %others = alloca [{mask} x i8], align 8
  %here = call i32 @sched_getcpu()
  %wide = sext i32 %here to i64
  %caller = load i64, ptr {caller}
  %same = icmp eq i64 %wide, %caller
  %known = icmp ult i64 %wide, {processors}
  %both = and i1 %same, %known
  br i1 %both, label %ask, label %done
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 {mask}, ptr %allowed)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %move, label %done
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %allowed, i64 {mask}, i1 false)
  %byte = lshr i64 %wide, 3
  %bit = and i64 %wide, 7
  %bit8 = trunc i64 %bit to i8
  %one = shl i8 1, %bit8
  %rest = xor i8 %one, -1
  %place = getelementptr i8, ptr %others, i64 %byte
  %had = load i8, ptr %place
  %has = and i8 %had, %rest
  store i8 %has, ptr %place
  call i32 @sched_setaffinity(i32 0, i64 {mask}, ptr %others)
  call i32 @sched_setaffinity(i32 0, i64 {mask}, ptr %allowed)
  br label %done
done:
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def text() -> str:
    def at(place: int) -> str:
        return f"getelementptr (i8, ptr @{STATE}, i64 {place})"

    declared, pause = _PAUSE.get(platform.machine(), ("", ""))
    moves = sys.platform == "linux"
    leave = "call void @leave()" if moves else ""
    note = _NOTE.format(caller=at(_CALLER)) if moves else ""
    return f"""
{declared}
{_LEAVE.format(caller=at(_CALLER), mask=_MASK, processors=8 * _MASK) if moves else ""}
@{STATE} = global [{BYTES} x i8] zeroinitializer, align 64
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()

define internal void @work() nounwind {{
  %fn = load ptr, ptr {at(_FUNCTION)}
  %args = load ptr, ptr {at(_ARGUMENTS)}
  %total = load i64, ptr {at(_TOTAL)}
  %chunk = load i64, ptr {at(_CHUNK)}
  br label %take
take:
  %begin = atomicrmw add ptr {at(_NEXT)}, i64 %chunk seq_cst
  %left = icmp ult i64 %begin, %total
  br i1 %left, label %go, label %done
go:
  %most = add i64 %begin, %chunk
  %over = icmp ugt i64 %most, %total
  %end = select i1 %over, i64 %total, i64 %most
  call void %fn(ptr %args, i64 %begin, i64 %end)
  br label %take
done:
  ret void
}}

define internal ptr @helper(ptr %name) nounwind {{
entry:
  %id = ptrtoint ptr %name to i64
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %found, %closed ], [ %found, %worked ]
  br label %spin
spin:
  %count = phi i64 [ 0, %idle ], [ %count.next, %again ]
  %now = load atomic i64, ptr {at(_GENERATION)} seq_cst, align 8
  %new = icmp ne i64 %now, %seen
  br i1 %new, label %join, label %again
again:
  {pause}
  %count.next = add i64 %count, 1
  %patient = icmp ult i64 %count.next, {_PATIENCE}
  br i1 %patient, label %spin, label %sleep
sleep:
  call i32 @pthread_mutex_lock(ptr {at(_MUTEX)})
  atomicrmw add ptr {at(_SLEEPING)}, i64 1 seq_cst
  br label %look
look:
  %later = load atomic i64, ptr {at(_GENERATION)} seq_cst, align 8
  %woken = icmp ne i64 %later, %seen
  br i1 %woken, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr {at(_CONDITION)}, ptr {at(_MUTEX)})
  br label %look
awake:
  atomicrmw sub ptr {at(_SLEEPING)}, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr {at(_MUTEX)})
  br label %join
join:
  %found = phi i64 [ %now, %spin ], [ %later, %awake ]
  {leave}
  br label %try
try:
  %wanted = load atomic i64, ptr {at(WANTED)} seq_cst, align 8
  %mine = add i64 %id, 1
  %needed = icmp ult i64 %mine, %wanted
  %gate = load atomic i64, ptr {at(_GATE)} seq_cst, align 8
  %bit = and i64 %gate, {_OPEN}
  %open = icmp ne i64 %bit, 0
  %both = and i1 %open, %needed
  br i1 %both, label %enter, label %closed
closed:
  br label %idle
enter:
  %more = add i64 %gate, 1
  %pair = cmpxchg ptr {at(_GATE)}, i64 %gate, i64 %more seq_cst seq_cst
  %inside = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %inside, label %worked, label %try
worked:
  call void @work()
  atomicrmw sub ptr {at(_GATE)}, i64 1 seq_cst
  br label %idle
}}

define internal void @start(i64 %wanted) nounwind {{
entry:
  %thread = alloca ptr
  %had = load i64, ptr {at(_STARTED)}
  %first = icmp eq i64 %had, 0
  br i1 %first, label %prepare, label %check
prepare:
  call i32 @pthread_mutex_init(ptr {at(_MUTEX)}, ptr null)
  call i32 @pthread_cond_init(ptr {at(_CONDITION)}, ptr null)
  br label %check
check:
  %there = load i64, ptr {at(_STARTED)}
  %next = add i64 %there, 1
  %missing = icmp ult i64 %next, %wanted
  br i1 %missing, label %create, label %done
create:
  %name = inttoptr i64 %there to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @helper, ptr %name)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %created, label %done
created:
  %id = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %id)
  store i64 %next, ptr {at(_STARTED)}
  br label %check
done:
  ret void
}}

define internal void @lock() nounwind {{
entry:
  br label %try
try:
  %pair = cmpxchg ptr {at(_LOCK)}, i64 0, i64 1 seq_cst seq_cst
  %ours = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %ours, label %done, label %wait
wait:
  {pause}
  br label %try
done:
  ret void
}}

define void @{ALONE}(ptr %get, ptr %set) nounwind {{
entry:
  call void @lock()
  %inside = load i64, ptr {at(INSIDE)}
  %more = add i64 %inside, 1
  store i64 %more, ptr {at(INSIDE)}
  %first = icmp eq i64 %inside, 0
  br i1 %first, label %tell, label %done
tell:
  %before = call i32 %get()
  store i32 %before, ptr {at(BEFORE)}
  call void %set(i32 1)
  br label %done
done:
  store atomic i64 0, ptr {at(_LOCK)} seq_cst, align 8
  ret void
}}

define void @{TOGETHER}(ptr %set) nounwind {{
entry:
  call void @lock()
  %inside = load i64, ptr {at(INSIDE)}
  %less = sub i64 %inside, 1
  store i64 %less, ptr {at(INSIDE)}
  %last = icmp eq i64 %less, 0
  br i1 %last, label %tell, label %done
tell:
  %before = load i32, ptr {at(BEFORE)}
  call void %set(i32 %before)
  br label %done
done:
  store atomic i64 0, ptr {at(_LOCK)} seq_cst, align 8
  ret void
}}

define void @{PARALLEL}(ptr %fn, ptr %args, i64 %total) nounwind {{
entry:
  %wanted = load atomic i64, ptr {at(WANTED)} seq_cst, align 8
  %several = icmp ugt i64 %wanted, 1
  br i1 %several, label %claim, label %alone
alone:
  call void %fn(ptr %args, i64 0, i64 %total)
  ret void
claim:
  %pair = cmpxchg ptr {at(_BUSY)}, i64 0, i64 1 seq_cst seq_cst
  %ours = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %ours, label %prepare, label %alone
prepare:
  %started = load i64, ptr {at(_STARTED)}
  %have = add i64 %started, 1
  %short = icmp ult i64 %have, %wanted
  br i1 %short, label %more, label %publish
more:
  call void @start(i64 %wanted)
  br label %publish
publish:
  %parts = mul i64 %wanted, {_CHUNKS}
  %round = add i64 %total, %parts
  %round1 = sub i64 %round, 1
  %chunk = udiv i64 %round1, %parts
  store ptr %fn, ptr {at(_FUNCTION)}
  store ptr %args, ptr {at(_ARGUMENTS)}
  store i64 %total, ptr {at(_TOTAL)}
  store i64 %chunk, ptr {at(_CHUNK)}
  {note}
  store atomic i64 0, ptr {at(_NEXT)} seq_cst, align 8
  store atomic i64 {_OPEN}, ptr {at(_GATE)} seq_cst, align 8
  atomicrmw add ptr {at(_GENERATION)}, i64 1 seq_cst
  %asleep = load atomic i64, ptr {at(_SLEEPING)} seq_cst, align 8
  %any = icmp ne i64 %asleep, 0
  br i1 %any, label %wake, label %run
wake:
  call i32 @pthread_mutex_lock(ptr {at(_MUTEX)})
  call i32 @pthread_cond_broadcast(ptr {at(_CONDITION)})
  call i32 @pthread_mutex_unlock(ptr {at(_MUTEX)})
  br label %run
run:
  call void @work()
  atomicrmw and ptr {at(_GATE)}, i64 {~_OPEN} seq_cst
  br label %join
join:
  %count = phi i64 [ 0, %run ], [ %count.next, %still ], [ 0, %yield ]
  %gate = load atomic i64, ptr {at(_GATE)} seq_cst, align 8
  %closed = icmp eq i64 %gate, 0
  br i1 %closed, label %done, label %wait
wait:
  {pause}
  %count.next = add i64 %count, 1
  %patient = icmp ult i64 %count.next, {_SPINS}
  br i1 %patient, label %still, label %yield
still:
  br label %join
yield:
  call i32 @sched_yield()
  br label %join
done:
  store atomic i64 0, ptr {at(_BUSY)} seq_cst, align 8
  ret void
}}
"""
