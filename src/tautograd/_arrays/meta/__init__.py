"""Arrays that have a shape and no elements: the arrays of the device `meta`."""
