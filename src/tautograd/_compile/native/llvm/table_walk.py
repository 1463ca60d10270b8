"""Machine code that goes through a table of records, which is the first item of the tuple `self`, as bytes."""

from __future__ import annotations

USED = {
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyBytes_AsString": "ptr (ptr)",
    "PyBytes_Size": "i64 (ptr)",
    "PyBool_FromLong": "ptr (i64)",
}


def walk(
    name: str, argument: str, size: int, body: str, last: str, end: str, here: str = "at"
) -> str:
    """A method that does something with each record of `size` bytes.

    `body` begins with the block `%record`, where `%at` is the record's address, and comes to its end in the
    block `last`, where `here` is the address of the record that is done with; after the last record the method
    gives True. `end` holds the blocks that leave it early.
    """
    return f"""
define ptr @{name}(ptr %self, ptr %{argument}) {{
entry:
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %size = call i64 @PyBytes_Size(ptr %bytes)
  %end = getelementptr i8, ptr %table, i64 %size
  br label %loop
loop:
  %at = phi ptr [ %table, %entry ], [ %next, %{last} ]
  %done = icmp eq ptr %at, %end
  br i1 %done, label %all, label %record
{body.strip(chr(10))}
  %next = getelementptr i8, ptr %{here}, i64 {size}
  br label %loop
all:
  %true = call ptr @PyBool_FromLong(i64 1)
  ret ptr %true
{end.strip(chr(10))}
}}
"""
