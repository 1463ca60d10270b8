"""Whether anything is learned: TG8xx, TG909."""
