"""Registry of the baselines.

A baseline is one module with a :class:`BaselineKind`, listed as an entry point of the group ``kgprobe.baselines``. The
studies and the command line read this registry. Listing the names imports no baseline.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kgprobe.base.errors import ArgumentError
from kgprobe.base.plugins import Register
from kgprobe.probes.search.strategies import STRATEGIES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kgprobe.graph.client import Graph
    from kgprobe.models.encoder import Encoder
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.probes.clozes import ClozeItem

# Forms of KaRR: each sentence alone, or as in its authors' code.
KARR_FORMS = ("sentences", "authors")
# Continuations of sentences: of one line or sentence, or uncut, as in the code of the distractor paper.
CONTINUATIONS = ("line", "as-published")
# Precision@n of an object without a name of one token.
SEVERAL_TOKENS = ("no-value", "zero")

# Takes prompts that end before the verdict, "correct" or "incorrect", and returns for each True if the verdict is
# "correct"; None where the grader gives no verdict.
Grader: TypeAlias = Callable[[Sequence[str]], Sequence[bool | None]]

# A tool that a baseline may need in addition to the model under test: a field of ``Tools``.
Need: TypeAlias = Literal["encoder", "grader"]


@dataclass(frozen=True, slots=True)
class Tools:
    """Resources and settings of the measures of knowledge.

    Attributes:
        as_of: reference date, ``yyyymmdd``; objects that are true at it are not used as distractors.
        beams: numbers of beams of ROUGE-L and BERTScore, ascending.
        counts: the n of Min@n, Avg@n and precision@n, ascending.
        karr: form of KaRR, one of ``KARR_FORMS``.
        encoder: encoder of texts, if any.
        grader: grader of continuations, if any.
        grader_beams: numbers of beams of the grader, ascending.
        continuation, several_tokens: of ``CONTINUATIONS`` and ``SEVERAL_TOKENS``.
        former_order: order of former objects among distractors.
    """

    graph: "Graph"
    scorer: "Scorer"
    as_of: int
    seed: int
    beams: tuple[int, ...]
    counts: tuple[int, ...]
    karr: str = KARR_FORMS[0]
    encoder: "Encoder | None" = None
    grader: Grader | None = None
    grader_beams: tuple[int, ...] = ()
    continuation: str = CONTINUATIONS[0]
    several_tokens: str = SEVERAL_TOKENS[0]
    former_order: str = "fact"


@dataclass(frozen=True, slots=True)
class BySentence:
    """A baseline's values of the facts' sentences, in all of its configurations.

    Attributes:
        configurations: the baseline's options in each column.
        values: shape (sentences, configurations); NaN where a sentence has none.
        reasons: why a sentence has no value, by its position.
    """

    configurations: Sequence[Mapping[str, Any]]
    values: "NDArray[np.float64]"
    reasons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaselineKind:
    """A registered baseline.

    Attributes:
        name: name of the entry point, in tables and on the command line.
        summary: the measured quantity, a short phrase.
        measure: returns the values of all sentences, in the order of the facts. Never called without a fact or without
            the tool in ``needs``.
        needs: required tool in addition to the model, if any.
    """

    name: str
    summary: str
    measure: "Callable[[Tools, Sequence[ClozeItem]], BySentence]"
    needs: Need | None = None


def lacking(baseline: str, need: Need) -> ArgumentError:
    """Return the error of a baseline without a tool that it needs."""
    return ArgumentError(need, f"is missing: the baseline {baseline} needs one.")


BASELINES: Register[BaselineKind] = Register("kgprobe.baselines", "baseline")

# Prefix of the strategy in the name of a distractor measure: ``distractors:random``.
DISTRACTORS = "distractors:"


def measure_names() -> list[str]:
    """Return the names of all measures: the distractor measure by strategy, and the baselines."""
    return [f"{DISTRACTORS}{strategy}" for strategy in STRATEGIES.names()] + BASELINES.names()
