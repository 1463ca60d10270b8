"""The picture as a page: grouping, layout, and the files that draw it."""
