"""Elements read and written by index: subscripts, gather and scatter, masks."""
