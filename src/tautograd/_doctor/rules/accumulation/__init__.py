"""Gradients that add up, or are thrown away, between two steps: TG1xx."""
