"""What the doctor sees: events of the loop, and how each engine is made to report them."""
