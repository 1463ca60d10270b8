"""The doctor: watches a training loop that runs, and says where it updates wrongly."""
