"""`--deep`: experiments on copies of a model, with batches that its own loop has used."""
