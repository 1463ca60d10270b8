"""Learning-rate schedules, and the order of the data: TG903, TG905, TG907, TG908."""
