"""Label tables as data sets for the Hugging Face hub: Parquet, a card, and Croissant metadata.

docs/guides/publishing.md. :mod:`.columns` describes the columns, :mod:`.card` and :mod:`.croissant` write the metadata,
:mod:`.making` makes the folder.
"""

from dataclasses import dataclass

from kgprobe.options import option


@dataclass(frozen=True, slots=True)
class HubOptions:
    """Options of a published label table."""

    name: str | None = option(
        None, "Name of the data set on its card.", metavar="NAME", shown_default="the label table's name", common=True
    )
    licence: str | None = option(
        None,
        "Licence on the card, by its id on the Hugging Face Hub, such as cc0-1.0.",
        metavar="ID",
        shown_default="no licence",
        common=True,
    )
