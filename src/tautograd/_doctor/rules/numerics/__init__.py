"""Numbers that are lost, not finite, or not those that were saved: TG7xx."""
