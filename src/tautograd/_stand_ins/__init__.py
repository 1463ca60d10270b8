"""Functions of ours in the place of others': the one package that replaces a name, and puts it back."""
