"""The rules across ranks: a code, a name and the reason for each."""

from __future__ import annotations

PAGES = {
    "TGR01": ("replicas-differ", "Replicas that differ are different models: their averaged gradients fit none."),
    "TGR02": ("wrapper-bypassed", "Only a call of the wrapper averages gradients; its module's own does not."),
    "TGR03": ("clipped-on-some-ranks", "The same averaged gradient has to become the same update on every rank."),
    "TGR04": ("steps-differ", "A rank that makes another number of steps has another model, or leaves others waiting."),
    "TGR05": ("not-averaged", "Inside of no_sync() gradients stay on their rank: each takes a step of its own."),
    "TGR06": ("averaged-twice", "Backward through the wrapper has averaged already; again is another scale."),
    "TGR07": ("epoch-never-set", "Without set_epoch() every epoch has the same order, and ranks the same part of it."),
    "TGR08": ("samples-overlap", "Ranks are to share out the data; some of it is seen twice, other never."),
    "TGR09": ("same-batch-everywhere", "Ranks that train on the same batch do the work of one."),
    "TGR10": ("equal-worker-seeds", "Workers of all ranks draw the same random numbers: augmentations repeat."),
    "TGR11": ("settings-differ", "An optimizer with other settings makes another update of the same gradient."),
    "TGR12": ("modes-differ", "Dropout and batch norm compute something else in evaluation mode."),
    "TGR13": ("one-file-of-several-ranks", "Ranks that write one file at once leave a mixture, or the last one's."),
    "TGR14": ("collectives-differ", "A collective that a rank does not call is waited for by the others, for ever."),
    "TGR15": ("datasets-differ", "A sampler shares out positions; in different data the same ones are other samples."),
    "TGR16": ("evaluated-apart", "Running statistics of one rank's batches give other predictions than another's."),
}  # fmt: skip

WARNINGS = {"TGR07", "TGR10", "TGR13", "TGR15", "TGR16"}


def codes_with(text: str) -> list[str]:
    """The codes that a code, the beginning of one or a name stands for."""
    return [
        code
        for code, (name, _) in PAGES.items()
        if code.startswith(text.upper()) or name == text.lower()
    ]


def explained(text: str) -> str | None:
    """A rule's page, if it is one across ranks."""
    for code, (name, why) in PAGES.items():
        if text.strip().upper() == code or text.strip().lower() == name:
            return f"{code} {name}\n\n{why}\n\nFound by `taut doctor --ranks N`, which compares what ranks do."
    return None
