"""Arrays that hold only some of their elements: by coordinates (`coo`), or compressed by rows or columns."""
