"""Options for drawing the facts to ask; imports nothing heavy."""

from dataclasses import dataclass

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


# Uniform draws from all facts.
UNIFORM = DrawOptions()
