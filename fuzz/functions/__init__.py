"""What the target `functions` is made of: values, calls, engines and verdicts."""
