"""Files: written atomically, and read without running anything in them."""
