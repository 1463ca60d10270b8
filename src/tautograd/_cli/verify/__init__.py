"""`taut verify`: the targets, the results, and the proof."""
