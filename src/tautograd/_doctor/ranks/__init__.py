"""The doctor across ranks: each notes what it does, and the notes are compared when all have ended.

Nothing is sent between the ranks for it, so that a job that hangs or dies can be looked at like any other, on
either engine.
"""
