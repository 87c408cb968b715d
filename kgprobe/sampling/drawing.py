"""Options for drawing the facts to ask, and of their direction; imports nothing heavy."""

from dataclasses import dataclass
from typing import Any

from kgprobe.base.options import option


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """Facts that are drawn, as in the samples S and S′ of the distractor paper (section 4.1)."""

    balance: str | None = option(
        None,
        "Draw facts evenly over ten ranges of the popularity, or the degree, of their ends, instead of uniformly.",
        choices=("popularity", "degree"),
        shown_default="uniformly",
    )
    with_former: bool = option(False, "Only facts with a former object that can be a distractor (temporal distractor).")


@dataclass(frozen=True, slots=True)
class Draw(DrawOptions):
    """Facts to ask: parameters of calls that draw them."""

    limit: int | None = option(
        None,
        "Maximum number of facts, drawn at random; the same seed draws the same facts for every probe and limit.",
        minimum=1,
        shown_default="all",
        common=True,
    )
    facts: Any = option(
        None,
        "Path of a list of facts (see kgprobe.sampling.selection.read_facts), keys, or names such as 'France | capital"
        " | Paris'.",
        shown_default="all that can be asked",
    )
    relations: tuple[str, ...] = option(
        (),
        "Relation to ask, by its id or a name; repeatable.",
        flag="relation",
        metavar="NAME",
        shown_default="all that can be asked",
        common=True,
    )
    seed: int = option(0, "Random seed.", minimum=0, common=True)
    as_of: Any = option(
        None,
        "Reference date for current facts: 2010-06-30 or 20100630; 2010-06 and 2010 mean their last day.",
        shown_default="today",
    )


@dataclass(frozen=True, slots=True)
class ReversingOptions:
    """Options of inverse graphs."""

    max_subjects: float = option(
        1.5,
        "Maximum number of subjects per object in an inverse relation, on average over facts without an end.",
        minimum=1,
        maximum=1_000_000,
    )


# Uniform draws from all facts.
UNIFORM = DrawOptions()
