"""What `Module` is made of: its members, state, conversions, hooked calls, and errors that name the module."""
