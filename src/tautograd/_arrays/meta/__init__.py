"""Arrays that have a shape and no elements: what the device `meta` holds."""
