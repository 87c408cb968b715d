"""The baselines by name, and what each is made with.

A baseline is one module with a :class:`BaselineKind` that an entry point of the group ``kgprobe.baselines`` names; from
that alone come its place in the studies and on the command line. Listing the names imports none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kgprobe.errors import ArgumentError
from kgprobe.plugins import Register

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kgprobe.graph.client import Graph
    from kgprobe.models.encoder import Encoder
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.probes.clozes import ClozeItem

# Takes prompts that end where the verdict, "correct" or "incorrect", comes next, and says for each whether it is the
# first; None where it could not be asked.
Grader: TypeAlias = Callable[[Sequence[str]], Sequence[bool | None]]

# What a baseline may need besides the model that is asked: a field of the tools.
Need: TypeAlias = Literal["encoder", "grader"]


@dataclass(frozen=True, slots=True)
class Tools:
    """What measures of knowledge are made with.

    Attributes:
        graph: that the facts are of.
        scorer: the model that is asked.
        as_of: reference date, ``yyyymmdd``: what is true at it is no distractor.
        seed: what all random choices follow from.
        beams: numbers of them, ascending.
        counts: the n of Min@n, Avg@n and precision@n, ascending.
        encoder: of texts; None where there is none.
        grader: of continuations; None where there is none.
    """

    graph: "Graph"
    scorer: "Scorer"
    as_of: int
    seed: int
    beams: tuple[int, ...]
    counts: tuple[int, ...]
    encoder: "Encoder | None" = None
    grader: Grader | None = None


@dataclass(frozen=True, slots=True)
class BySentence:
    """A baseline's values of the sentences of some facts, in all of its configurations.

    Attributes:
        configurations: its options in each column.
        values: shape (sentences, configurations); NaN where a sentence has none.
        reasons: why it has none, by the sentence's position.
    """

    configurations: Sequence[Mapping[str, Any]]
    values: "NDArray[np.float64]"
    reasons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaselineKind:
    """A baseline as it is registered.

    Attributes:
        name: the entry point's, as in tables and on the command line.
        summary: what it measures, a phrase for people.
        measure: its values of all sentences of these facts, one fact's after the other's. Without an item, or without
            what it needs, it is not called.
        needs: what it cannot do without besides the model; None for nothing.
    """

    name: str
    summary: str
    measure: "Callable[[Tools, Sequence[ClozeItem]], BySentence]"
    needs: Need | None = None


def lacking(baseline: str, need: Need) -> ArgumentError:
    """The error of a baseline without what it needs."""
    return ArgumentError(need, f"is missing: {baseline} cannot be had without one.")


BASELINES: Register[BaselineKind] = Register("kgprobe.baselines", "baseline")
