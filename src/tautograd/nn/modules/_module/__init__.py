"""The parts of `Module`: its members, state, conversions, hooked calls, and errors that name the module."""
