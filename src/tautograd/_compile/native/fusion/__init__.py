"""Which instructions share a loop nest: analysis and rewriting before machine code is written."""
