"""Object code on disk: signed entries in a folder that is the user's alone."""
