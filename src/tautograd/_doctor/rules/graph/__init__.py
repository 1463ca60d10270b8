"""The recorded graph: cuts, its order, what it keeps and where it is wrong: TG4xx, TG901, TG902."""
