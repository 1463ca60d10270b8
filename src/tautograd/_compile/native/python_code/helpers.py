"""Steps that are too long to be written out each time: items, comparisons, new objects; in LLVM's language."""

from __future__ import annotations

from .layout import (
    CELL_CONTENT,
    CLOSURE,
    ITEMS,
    LIST_ITEMS,
    NAMES_VERSION,
    REFERENCES,
    TYPE,
    TYPE_INIT,
    TYPE_NEW,
    VECTORCALL_OFFSET,
)

HELPERS = f"""
define internal ptr @item_at(ptr %o, i64 %place) {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.list = icmp eq ptr %type, @PyList_Type
  %is.tuple = icmp eq ptr %type, @PyTuple_Type
  %known = or i1 %is.list, %is.tuple
  br i1 %known, label %in.order, label %ask
in.order:
  %size = call i64 @size(ptr %o)
  %inside = icmp ult i64 %place, %size
  br i1 %inside, label %take, label %ask
take:
  %item = call ptr @sequence_item(ptr %o, i64 %place)
  call void @incref(ptr %item)
  ret ptr %item
ask:
  %index = call ptr @PyLong_FromSsize_t(i64 %place)
  %none = icmp eq ptr %index, null
  br i1 %none, label %failed, label %look
look:
  %found = call ptr @PyObject_GetItem(ptr %o, ptr %index)
  call void @decref(ptr %index)
  ret ptr %found
failed:
  ret ptr null
}}
define internal i32 @set_item_at(ptr %o, i64 %place, ptr %value) {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %in.order, label %ask
in.order:
  %size = call i64 @size(ptr %o)
  %inside = icmp ult i64 %place, %size
  br i1 %inside, label %put, label %ask
put:
  %items.at = getelementptr i8, ptr %o, i64 {LIST_ITEMS}
  %items = load ptr, ptr %items.at
  %at = getelementptr ptr, ptr %items, i64 %place
  %old = load ptr, ptr %at
  call void @incref(ptr %value)
  store ptr %value, ptr %at
  call void @xdecref(ptr %old)
  ret i32 0
ask:
  %index = call ptr @PyLong_FromSsize_t(i64 %place)
  %none = icmp eq ptr %index, null
  br i1 %none, label %failed, label %set
set:
  %status = call i32 @PyObject_SetItem(ptr %o, ptr %index, ptr %value)
  call void @decref(ptr %index)
  ret i32 %status
failed:
  ret i32 -1
}}
define internal ptr @compared(ptr %a, ptr %b, i32 %order) {{
  %same = icmp eq ptr %a, %b
  br i1 %same, label %alike, label %ask
alike:
  %type.at = getelementptr i8, ptr %a, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.int = icmp eq ptr %type, @PyLong_Type
  br i1 %is.int, label %equal, label %ask
equal:
  %asks.equal = icmp eq i32 %order, 2
  %asks.different = icmp eq i32 %order, 3
  %known = or i1 %asks.equal, %asks.different
  br i1 %known, label %say, label %ask
say:
  %answer = select i1 %asks.equal, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @incref(ptr %answer)
  ret ptr %answer
ask:
  %found = call ptr @PyObject_RichCompare(ptr %a, ptr %b, i32 %order)
  ret ptr %found
}}
define internal ptr @global_name(ptr %names, ptr %name, ptr %cache) {{
  %version.at = getelementptr i8, ptr %names, i64 {NAMES_VERSION}
  %version = load i64, ptr %version.at
  %known = load i64, ptr %cache
  %same = icmp eq i64 %version, %known
  %value.at = getelementptr i8, ptr %cache, i64 8
  br i1 %same, label %seen, label %look
seen:
  %value = load ptr, ptr %value.at
  ret ptr %value
look:
  %found = call ptr @PyDict_GetItemWithError(ptr %names, ptr %name)
  %none = icmp eq ptr %found, null
  br i1 %none, label %give, label %keep
keep:
  ; (looking, it may have changed)
  %now = load i64, ptr %version.at
  store i64 %now, ptr %cache
  store ptr %found, ptr %value.at
  br label %give
give:
  ret ptr %found
}}
define internal ptr @closure_name(ptr %function, i64 %place) alwaysinline nounwind {{
  %closure.at = getelementptr i8, ptr %function, i64 {CLOSURE}
  %closure = load ptr, ptr %closure.at
  %cell = call ptr @tuple_item(ptr %closure, i64 %place)
  %content.at = getelementptr i8, ptr %cell, i64 {CELL_CONTENT}
  %content = load ptr, ptr %content.at
  ret ptr %content
}}
define internal void @keep_trace(ptr %value, ptr %trace) noinline cold {{
  %none = icmp eq ptr %trace, null
  br i1 %none, label %done, label %keep
keep:
  %status = call i32 @PyException_SetTraceback(ptr %value, ptr %trace)
  br label %done
done:
  ret void
}}
; The arguments of a call, some of them by name, where their parameters want them; 0 where they do not fit.
define internal i32 @bind(ptr %given, i64 %count, ptr %names, ptr %parameters, ptr %bound, i64 %most) {{
start:
  %too.many = icmp ugt i64 %count, %most
  br i1 %too.many, label %no, label %clear
clear:
  %i = phi i64 [ 0, %start ], [ %i.next, %cleared ]
  %more = icmp ult i64 %i, %most
  br i1 %more, label %place, label %named
place:
  %is.given = icmp ult i64 %i, %count
  %to = getelementptr ptr, ptr %bound, i64 %i
  br i1 %is.given, label %take, label %leave
take:
  %from = getelementptr ptr, ptr %given, i64 %i
  %value = load ptr, ptr %from
  store ptr %value, ptr %to
  br label %cleared
leave:
  store ptr null, ptr %to
  br label %cleared
cleared:
  %i.next = add i64 %i, 1
  br label %clear
named:
  %number = call i64 @size(ptr %names)
  br label %each
each:
  %j = phi i64 [ 0, %named ], [ %j.next, %set ]
  %left = icmp ult i64 %j, %number
  br i1 %left, label %find, label %yes
find:
  %name = call ptr @tuple_item(ptr %names, i64 %j)
  br label %look
look:
  %k = phi i64 [ 0, %find ], [ %k.next, %other ]
  %inside = icmp ult i64 %k, %most
  br i1 %inside, label %compare, label %no
compare:
  %parameter = call ptr @tuple_item(ptr %parameters, i64 %k)
  %is = icmp eq ptr %parameter, %name
  br i1 %is, label %found, label %other
other:
  %k.next = add i64 %k, 1
  br label %look
found:
  %place.at = getelementptr ptr, ptr %bound, i64 %k
  %present = load ptr, ptr %place.at
  %twice = icmp ne ptr %present, null
  br i1 %twice, label %no, label %set
set:
  %at.all = add i64 %count, %j
  %source = getelementptr ptr, ptr %given, i64 %at.all
  %by.name = load ptr, ptr %source
  store ptr %by.name, ptr %place.at
  %j.next = add i64 %j, 1
  br label %each
yes:
  ret i32 1
no:
  ret i32 0
}}
; The arguments from one on, as a tuple.
define internal ptr @rest(ptr %given, i64 %first, i64 %count) {{
start:
  %number = sub i64 %count, %first
  %made = call ptr @PyTuple_New(i64 %number)
  %none = icmp eq ptr %made, null
  br i1 %none, label %failed, label %each
each:
  %i = phi i64 [ 0, %start ], [ %next, %put ]
  %more = icmp ult i64 %i, %number
  br i1 %more, label %put, label %done
put:
  %at = add i64 %first, %i
  %from = getelementptr ptr, ptr %given, i64 %at
  %value = load ptr, ptr %from
  call void @incref(ptr %value)
  %items = getelementptr i8, ptr %made, i64 {ITEMS}
  %to = getelementptr ptr, ptr %items, i64 %i
  store ptr %value, ptr %to
  %next = add i64 %i, 1
  br label %each
done:
  ret ptr %made
failed:
  ret ptr null
}}
define internal ptr @from_table(i64 %number) alwaysinline nounwind {{
  %at = getelementptr ptr, ptr @table, i64 %number
  %found = load ptr, ptr %at
  ret ptr %found
}}
define internal i64 @size(ptr %o) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %o, i64 16
  %found = load i64, ptr %at
  ret i64 %found
}}
define internal ptr @tuple_item(ptr %o, i64 %place) alwaysinline nounwind {{
  %items = getelementptr i8, ptr %o, i64 {ITEMS}
  %at = getelementptr ptr, ptr %items, i64 %place
  %found = load ptr, ptr %at
  ret ptr %found
}}
define internal ptr @sequence_item(ptr %o, i64 %place) nounwind {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %list, label %tuple
list:
  %list.at = getelementptr i8, ptr %o, i64 {LIST_ITEMS}
  %list.items = load ptr, ptr %list.at
  %item.at = getelementptr ptr, ptr %list.items, i64 %place
  %item = load ptr, ptr %item.at
  ret ptr %item
tuple:
  %found = call ptr @tuple_item(ptr %o, i64 %place)
  ret ptr %found
}}
define internal ptr @as_tuple(ptr %o) {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is.tuple, label %same, label %other
same:
  call void @incref(ptr %o)
  ret ptr %o
other:
  %made = call ptr @PySequence_Tuple(ptr %o)
  ret ptr %made
}}
define internal ptr @as_sequence(ptr %o) {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %same, label %other
same:
  call void @incref(ptr %o)
  ret ptr %o
other:
  %found = call ptr @as_tuple(ptr %o)
  ret ptr %found
}}
define internal i32 @extend(ptr %list, ptr %more) {{
  %same = call ptr @PyNumber_InPlaceAdd(ptr %list, ptr %more)
  %failed = icmp eq ptr %same, null
  br i1 %failed, label %bad, label %good
bad:
  ret i32 -1
good:
  call void @decref(ptr %same)
  ret i32 0
}}
define internal i64 @references(ptr %o) alwaysinline nounwind {{
  ; what sys.getrefcount says: its argument counts, too
  %at = getelementptr i8, ptr %o, i64 {REFERENCES}
  %count = load i32, ptr %at
  %wide = zext i32 %count to i64
  %more = add i64 %wide, 1
  ret i64 %more
}}
define internal ptr @last_instruction(ptr %frame) {{
  %at = call i32 @PyFrame_GetLasti(ptr %frame)
  %wide = sext i32 %at to i64
  %found = call ptr @PyLong_FromSsize_t(i64 %wide)
  ret ptr %found
}}
define internal ptr @instance(ptr %kind, ptr %object, ptr %nothing) {{
  %new.at = getelementptr i8, ptr %object, i64 {TYPE_NEW}
  %new = load ptr, ptr %new.at
  %found = call ptr %new(ptr %kind, ptr %nothing, ptr null)
  ret ptr %found
}}
; a call of a class that has, as long as nobody gives it another, the `__new__` and `__init__` of `object`
define internal ptr @plain_instance(ptr %kind, ptr %object, ptr %nothing) {{
  %new.at = getelementptr i8, ptr %object, i64 {TYPE_NEW}
  %new = load ptr, ptr %new.at
  %own.new.at = getelementptr i8, ptr %kind, i64 {TYPE_NEW}
  %own.new = load ptr, ptr %own.new.at
  %made.alike = icmp eq ptr %new, %own.new
  %init.at = getelementptr i8, ptr %object, i64 {TYPE_INIT}
  %init = load ptr, ptr %init.at
  %own.init.at = getelementptr i8, ptr %kind, i64 {TYPE_INIT}
  %own.init = load ptr, ptr %own.init.at
  %filled.alike = icmp eq ptr %init, %own.init
  %plain = and i1 %made.alike, %filled.alike
  br i1 %plain, label %make, label %call
make:
  %made = call ptr %new(ptr %kind, ptr %nothing, ptr null)
  ret ptr %made
call:
  %called = call ptr @PyObject_Vectorcall(ptr %kind, ptr null, i64 0, ptr null)
  ret ptr %called
}}
; An entry of a traceback: `trace(traceback, number)` gives the traceback with one more.
define internal void @traced(ptr %trace, i32 %number, ptr %usual) noinline cold {{
  %is.there = icmp slt i32 %number, 0
  br i1 %is.there, label %leave.it, label %look
leave.it:
  ret void
look:
  %type = alloca ptr
  %value = alloca ptr
  %after = alloca ptr
  %given = alloca [3 x ptr]
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %after)
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %after)
  %old = load ptr, ptr %after
  %none = icmp eq ptr %old, null
  %first = select i1 %none, ptr @_Py_NoneStruct, ptr %old
  %wide = sext i32 %number to i64
  %place = call ptr @PyLong_FromSsize_t(i64 %wide)
  %no.place = icmp eq ptr %place, null
  br i1 %no.place, label %failed, label %ask
ask:
  %arguments = getelementptr i8, ptr %given, i64 8
  store ptr %first, ptr %arguments
  %second = getelementptr i8, ptr %given, i64 16
  store ptr %place, ptr %second
  %more = call ptr @PyObject_Vectorcall(ptr %trace, ptr %arguments, i64 {VECTORCALL_OFFSET + 2}, ptr null)
  call void @decref(ptr %place)
  %no.entry = icmp eq ptr %more, null
  br i1 %no.entry, label %failed, label %found
found:
  call void @xdecref(ptr %old)
  store ptr %more, ptr %after
  br label %restore
failed:
  ; without memory it is left out; but Ctrl-C, now, comes in the place of the error
  %is.usual = call i32 @PyErr_ExceptionMatches(ptr %usual)
  %leave.out = icmp ne i32 %is.usual, 0
  br i1 %leave.out, label %forget, label %give.way
forget:
  call void @PyErr_Clear()
  br label %restore
restore:
  %the.type = load ptr, ptr %type
  %the.value = load ptr, ptr %value
  %the.trace = load ptr, ptr %after
  call void @PyErr_Restore(ptr %the.type, ptr %the.value, ptr %the.trace)
  ret void
give.way:
  %a = load ptr, ptr %type
  call void @xdecref(ptr %a)
  %b = load ptr, ptr %value
  call void @xdecref(ptr %b)
  call void @xdecref(ptr %old)
  ret void
}}
"""
