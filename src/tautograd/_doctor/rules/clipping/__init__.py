"""Clipping, and gradients that were scaled: TG2xx."""
