"""Where a wrong gradient comes from: every call of a run traced, isolated and checked."""
