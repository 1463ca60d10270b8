"""What a loss is given: TG5xx."""
