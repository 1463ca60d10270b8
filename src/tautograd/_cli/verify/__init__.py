"""`taut verify`: what is verified, what came of it, and the proof of it."""
