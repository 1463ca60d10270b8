"""Train and eval, dropout and batch norm: TG6xx."""
