"""What all translated functions share: reference counts, attributes, truth; in LLVM's language.

An attribute with a fixed place (a slot) is found as the interpreter finds it once it has specialised: each place that
asks keeps the version of the type it met and how far into the object the value lies. A type's version is never given
to another type, and a type that is changed gets a new one.
"""

from __future__ import annotations

import sys

from .layout import (
    DESCRIPTOR_MEMBER,
    DESCRIPTOR_OWNER,
    MEMBER_KIND,
    MEMBER_OFFSET,
    OBJECT_MEMBER,
    REFERENCES,
    TYPE,
    TYPE_GETATTRO,
    TYPE_SETATTRO,
    VERSION,
)

CACHE = 16  # bytes that each place that asks for an attribute has: two of (version, offset)
UNKNOWN = 0xFFFFFFFF  # a version that no type has

USED = {
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_SetAttr": "i32 (ptr, ptr, ptr)",
    "_PyType_Lookup": "ptr (ptr, ptr)",
    "PyType_IsSubtype": "i32 (ptr, ptr)",
    "PyObject_GenericGetAttr": "ptr (ptr, ptr)",
    "PyObject_GenericSetAttr": "i32 (ptr, ptr, ptr)",
    "_Py_Dealloc": "void (ptr)",
    "PyObject_IsTrue": "i32 (ptr)",
    "PyObject_IsInstance": "i32 (ptr, ptr)",
    "PyObject_RichCompare": "ptr (ptr, ptr, i32)",
    "PySequence_Contains": "i32 (ptr, ptr)",
    "PyObject_GetItem": "ptr (ptr, ptr)",
    "PyObject_SetItem": "i32 (ptr, ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_VectorcallMethod": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_Call": "ptr (ptr, ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyList_New": "ptr (i64)",
    "PyList_Append": "i32 (ptr, ptr)",
    "PyList_AsTuple": "ptr (ptr)",
    "PySequence_Tuple": "ptr (ptr)",
    "PySequence_List": "ptr (ptr)",
    "PyDict_New": "ptr ()",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyDict_Update": "i32 (ptr, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyNumber_Add": "ptr (ptr, ptr)",
    "PyNumber_Subtract": "ptr (ptr, ptr)",
    "PyNumber_Multiply": "ptr (ptr, ptr)",
    "PyImport_ImportModuleLevelObject": "ptr (ptr, ptr, ptr, ptr, i32)",
    "PyNumber_InPlaceAdd": "ptr (ptr, ptr)",
    "PyNumber_InPlaceSubtract": "ptr (ptr, ptr)",
    "PyNumber_Negative": "ptr (ptr)",
    "PyLong_FromSsize_t": "ptr (i64)",
    "PyErr_Clear": "void ()",
    "PyErr_Fetch": "void (ptr, ptr, ptr)",
    "PyErr_Restore": "void (ptr, ptr, ptr)",
    "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
    "PyErr_ExceptionMatches": "i32 (ptr)",
    "PyErr_SetObject": "void (ptr, ptr)",
    "PyEval_GetFrame": "ptr ()",
    "PyFrame_GetCode": "ptr (ptr)",
    "PyFrame_GetLasti": "i32 (ptr)",
    "PyIter_Next": "ptr (ptr)",
    "PyObject_GetIter": "ptr (ptr)",
    "PyErr_Occurred": "ptr ()",
    "PyErr_GetHandledException": "ptr ()",
    "PyErr_SetHandledException": "void (ptr)",
    "PyException_SetCause": "void (ptr, ptr)",
    "PyException_SetTraceback": "i32 (ptr, ptr)",
    "PyErr_GivenExceptionMatches": "i32 (ptr, ptr)",
    "PyObject_Format": "ptr (ptr, ptr)",
    "PyObject_Repr": "ptr (ptr)",
    "PyObject_Str": "ptr (ptr)",
    "PyUnicode_Join": "ptr (ptr, ptr)",
    "PySlice_New": "ptr (ptr, ptr, ptr)",
    "PyObject_DelItem": "i32 (ptr, ptr)",
    "PyNumber_TrueDivide": "ptr (ptr, ptr)",
    "PyNumber_FloorDivide": "ptr (ptr, ptr)",
    "PyNumber_Remainder": "ptr (ptr, ptr)",
    "PyNumber_MatrixMultiply": "ptr (ptr, ptr)",
    "PyNumber_And": "ptr (ptr, ptr)",
    "PyNumber_Or": "ptr (ptr, ptr)",
    "PyNumber_Xor": "ptr (ptr, ptr)",
    "PyNumber_Lshift": "ptr (ptr, ptr)",
    "PyNumber_Rshift": "ptr (ptr, ptr)",
    "PyNumber_Power": "ptr (ptr, ptr, ptr)",
    "PyNumber_InPlaceMultiply": "ptr (ptr, ptr)",
    "PyNumber_InPlaceTrueDivide": "ptr (ptr, ptr)",
    "PyNumber_Invert": "ptr (ptr)",
    "PyNumber_Positive": "ptr (ptr)",
}
"""CPython's functions, with their types."""

_COUNT = """
define internal void @incref(ptr %o) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %o, i64 {references}
{more}
}}
define internal void @decref(ptr %o) alwaysinline {{
  %at = getelementptr i8, ptr %o, i64 {references}
{less}
end:
  %left = icmp eq i64 %new, 0
  br i1 %left, label %free, label %done
free:
  call void @_Py_Dealloc(ptr %o)
  br label %done
done:
  ret void
}}
"""

_PLAIN_MORE = """
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  ret void
"""
_PLAIN_LESS = """
  %old = load i64, ptr %at
  %new = sub i64 %old, 1
  store i64 %new, ptr %at
  br label %end
"""
# From Python 3.12 on, some objects live for ever, and say so in the lower half of their count.
_MORE = """
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  %forever = icmp eq i32 %new, 0
  br i1 %forever, label %kept, label %counted
counted:
  store i32 %new, ptr %at
  ret void
kept:
  ret void
"""
_LESS = """
  %half = load i32, ptr %at
  %forever = icmp slt i32 %half, 0
  br i1 %forever, label %done, label %counted
counted:
  %old = load i64, ptr %at
  %new = sub i64 %old, 1
  store i64 %new, ptr %at
  br label %end
"""

_TEXT = f"""
define internal void @xdecref(ptr %o) alwaysinline {{
  %none = icmp eq ptr %o, null
  br i1 %none, label %done, label %some
some:
  call void @decref(ptr %o)
  br label %done
done:
  ret void
}}

; where it is rarely called, and so better short
define internal void @drop(ptr %o) noinline cold {{
  call void @xdecref(ptr %o)
  ret void
}}

define internal i64 @place(ptr %o, ptr %cache) alwaysinline nounwind {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %version.at = getelementptr i8, ptr %type, i64 {VERSION}
  %version = load i32, ptr %version.at
  %known = load i32, ptr %cache
  %first = icmp eq i32 %version, %known
  br i1 %first, label %one, label %look
one:
  %offset.at = getelementptr i8, ptr %cache, i64 4
  %offset = load i32, ptr %offset.at
  %wide = zext i32 %offset to i64
  ret i64 %wide
look:
  %known2.at = getelementptr i8, ptr %cache, i64 8
  %known2 = load i32, ptr %known2.at
  %second = icmp eq i32 %version, %known2
  br i1 %second, label %two, label %none
two:
  %offset2.at = getelementptr i8, ptr %cache, i64 12
  %offset2 = load i32, ptr %offset2.at
  %wide2 = zext i32 %offset2 to i64
  ret i64 %wide2
none:
  ret i64 -1
}}

define internal void @learn(ptr %o, ptr %cache, ptr %name) noinline {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %found = call ptr @_PyType_Lookup(ptr %type, ptr %name)
  %version.at = getelementptr i8, ptr %type, i64 {VERSION}
  %version = load i32, ptr %version.at
  %has = icmp ne i32 %version, 0
  br i1 %has, label %known, label %end
known:
  %none = icmp eq ptr %found, null
  br i1 %none, label %note, label %some
some:
  %kind.at = getelementptr i8, ptr %found, i64 {TYPE}
  %kind = load ptr, ptr %kind.at
  %is.member = icmp eq ptr %kind, @PyMemberDescr_Type
  br i1 %is.member, label %owned, label %note
owned:
  ; of another class's slot, which somebody put here, Python says that it does not apply
  %owner.at = getelementptr i8, ptr %found, i64 {DESCRIPTOR_OWNER}
  %owner = load ptr, ptr %owner.at
  %applies = call i32 @PyType_IsSubtype(ptr %type, ptr %owner)
  %does.apply = icmp ne i32 %applies, 0
  br i1 %does.apply, label %member, label %note
member:
  %member.at = getelementptr i8, ptr %found, i64 {DESCRIPTOR_MEMBER}
  %member.def = load ptr, ptr %member.at
  %code.at = getelementptr i8, ptr %member.def, i64 {MEMBER_KIND}
  %code = load i32, ptr %code.at
  %is.object = icmp eq i32 %code, {OBJECT_MEMBER}
  br i1 %is.object, label %slot, label %note
slot:
  %getter.at = getelementptr i8, ptr %type, i64 {TYPE_GETATTRO}
  %getter = load ptr, ptr %getter.at
  %plain = icmp eq ptr %getter, @PyObject_GenericGetAttr
  br i1 %plain, label %settable, label %note
settable:
  %setter.at = getelementptr i8, ptr %type, i64 {TYPE_SETATTRO}
  %setter = load ptr, ptr %setter.at
  %plain.too = icmp eq ptr %setter, @PyObject_GenericSetAttr
  br i1 %plain.too, label %place, label %note
place:
  %offset.at = getelementptr i8, ptr %member.def, i64 {MEMBER_OFFSET}
  %offset = load i64, ptr %offset.at
  %short = trunc i64 %offset to i32
  br label %note
note:
  %to.note = phi i32 [ 0, %known ], [ 0, %some ], [ 0, %owned ], [ 0, %member ], [ 0, %slot ],
    [ 0, %settable ], [ %short, %place ]
  %first = load i64, ptr %cache
  %second.at = getelementptr i8, ptr %cache, i64 8
  store i64 %first, ptr %second.at
  store i32 %version, ptr %cache
  %to = getelementptr i8, ptr %cache, i64 4
  store i32 %to.note, ptr %to
  br label %end
end:
  ret void
}}

define internal ptr @attribute(ptr %o, ptr %cache, ptr %name) {{
  %at = call i64 @place(ptr %o, ptr %cache)
  %known = icmp sgt i64 %at, 0
  br i1 %known, label %fast, label %other
other:
  %unknown = icmp slt i64 %at, 0
  br i1 %unknown, label %slow, label %ask
fast:
  %slot = getelementptr i8, ptr %o, i64 %at
  %value = load ptr, ptr %slot
  %unset = icmp eq ptr %value, null
  br i1 %unset, label %ask, label %give
give:
  call void @incref(ptr %value)
  ret ptr %value
slow:
  call void @learn(ptr %o, ptr %cache, ptr %name)
  br label %ask
ask:
  %found = call ptr @PyObject_GetAttr(ptr %o, ptr %name)
  ret ptr %found
}}

define internal i32 @set_attribute(ptr %o, ptr %cache, ptr %name, ptr %value) {{
  %at = call i64 @place(ptr %o, ptr %cache)
  %known = icmp sgt i64 %at, 0
  br i1 %known, label %fast, label %other
other:
  %unknown = icmp slt i64 %at, 0
  br i1 %unknown, label %slow, label %ask
fast:
  %slot = getelementptr i8, ptr %o, i64 %at
  %old = load ptr, ptr %slot
  call void @incref(ptr %value)
  store ptr %value, ptr %slot
  call void @xdecref(ptr %old)
  ret i32 0
slow:
  call void @learn(ptr %o, ptr %cache, ptr %name)
  br label %ask
ask:
  %status = call i32 @PyObject_SetAttr(ptr %o, ptr %name, ptr %value)
  ret i32 %status
}}

define internal i32 @truth(ptr %o) {{
  %yes = icmp eq ptr %o, @_Py_TrueStruct
  br i1 %yes, label %one, label %more
one:
  ret i32 1
more:
  %no = icmp eq ptr %o, @_Py_FalseStruct
  br i1 %no, label %zero, label %else
zero:
  ret i32 0
else:
  %none = icmp eq ptr %o, @_Py_NoneStruct
  br i1 %none, label %zero, label %ask
ask:
  %found = call i32 @PyObject_IsTrue(ptr %o)
  ret i32 %found
}}

define internal i32 @is_instance(ptr %o, ptr %class) {{
  %type.at = getelementptr i8, ptr %o, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %same = icmp eq ptr %type, %class
  br i1 %same, label %yes, label %ask
yes:
  ret i32 1
ask:
  %found = call i32 @PyObject_IsInstance(ptr %o, ptr %class)
  ret i32 %found
}}
"""

OBJECTS = (
    "PyList_Type",
    "PyLong_Type",
    "PyTuple_Type",
    "_Py_NoneStruct",
    "_Py_TrueStruct",
    "_Py_FalseStruct",
    "PyMemberDescr_Type",
    "PyFrame_Type",
)


def text() -> str:
    """What precedes every translated function."""
    declared = []
    for name, kind in USED.items():
        result, _, given = kind.partition(" ")
        declared.append(f"declare {result} @{name}{given}")
    declared += [f"@{name} = external global i8" for name in OBJECTS]
    declared.append("declare ptr @as_python(ptr, ptr, i64, ptr)")
    declared += ["@table = external global i8", "@caches = external global i8"]
    forever = sys.version_info >= (3, 12)
    more, less = (_MORE, _LESS) if forever else (_PLAIN_MORE, _PLAIN_LESS)
    count = _COUNT.format(references=REFERENCES, more=more.strip("\n"), less=less.strip("\n"))
    weights = (
        '!0 = !{!"branch_weights", i32 1, i32 1000}\n!1 = !{!"branch_weights", i32 1000, i32 1}'
    )
    return "\n".join([*declared, weights, count, _TEXT])
