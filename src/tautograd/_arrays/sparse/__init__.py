"""Arrays that store only some elements: by coordinates (`coo`), or compressed by rows or columns."""
