"""Options of calls that ask a model; imports nothing heavy."""

from dataclasses import dataclass
from typing import Any

from kgprobe.base.arguments import optional_folder_name, optional_number
from kgprobe.base.options import option


@dataclass(frozen=True, slots=True)
class Asking:
    """Parameters of calls that ask a model."""

    name: str | None = option(None, "Name of the result and of its folder.", shown_default="made from the settings")
    batch_size: int | None = option(
        None,
        "Batch size: facts asked together. Does not affect the answers.",
        minimum=1,
        metavar="N",
        shown_default="of the probe; up to 50,000 with a batch API",
    )
    models: Any = option(
        None,
        "Open models, also for options that name a model. Models(ray=4) computes all models of this machine on four"
        " Ray workers, with the same results.",
        shown_default="opened when needed",
    )
    callbacks: Any = option(None, "Progress and interruption, see kgprobe.running.callbacks.Callbacks.")

    def checked(self) -> "Asking":
        """Return the options, checked, with models and callbacks."""
        from kgprobe.models.model import Models
        from kgprobe.running.callbacks import NO_CALLBACKS

        return Asking(
            name=optional_folder_name(self.name),
            batch_size=optional_number("batch_size", self.batch_size),
            models=self.models or Models(),
            callbacks=self.callbacks or NO_CALLBACKS,
        )
