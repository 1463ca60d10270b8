"""Which parameters an optimizer holds, what is frozen, and what is a copy of what: TG3xx."""
