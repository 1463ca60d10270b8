"""Independent references for a derivative: differences, forward mode, complex step, float64."""
