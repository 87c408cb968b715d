"""The option ``tolerance`` of probes that search answers for the right object."""

from typing import Any

from kgprobe.base.options import option


def tolerance_option() -> Any:
    """Return the field ``tolerance`` of a probe's options."""
    return option(
        None,
        "Relative difference of numbers and quantities that is right: 2% or 0.02. Ten times as much is near.",
        above=0,
        below=1,
        is_share=True,
        shown_default="rounding to the stated digits",
    )
