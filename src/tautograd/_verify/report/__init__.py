"""What a verification found, and how it is shown."""
