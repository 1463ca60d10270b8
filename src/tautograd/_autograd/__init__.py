"""Recording and differentiating: nodes, the backward engine, forward mode, custom functions."""
