"""A model in figures: layers, shapes, parameters, operations and memory, on either engine."""
