"""The mathematics, on plain vectors: differences, noise, distances, tolerances."""
