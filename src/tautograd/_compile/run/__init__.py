"""Running: the program that holds for a call is replayed, checked, and rolled back where it stops."""
