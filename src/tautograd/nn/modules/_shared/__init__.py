"""What layers of several kinds share."""
