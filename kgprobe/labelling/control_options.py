"""Options of drawing control facts; imports nothing heavy."""

from dataclasses import dataclass

from kgprobe.base.options import option


@dataclass(frozen=True, slots=True)
class ControlOptions:
    """Control facts in rings around taught facts; docs/methods/controls.md."""

    limit: int = option(500, "Maximum number of facts in each ring.", minimum=1, common=True)
    match: str = option(
        "degree",
        "Popularity in which rings are matched: the degree (number of facts) or the popularity of both ends.",
        choices=("degree", "popularity"),
        common=True,
    )
    max_degree: int = option(1000, "Entities with more facts than this are not walked through.", minimum=1, common=True)
