"""Answers of a measurement or a run by fact, collected in one pass over its outcomes.

Summaries, findings, pages and exports are made of them, so that each outcome is decoded once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kgprobe.base.files import read_json
from kgprobe.probes.outcome import Outcome, ProbeResults, Verdict
from kgprobe.probes.register import ProbeKind
from kgprobe.sampling.keys import FactKey

if TYPE_CHECKING:
    import pandas as pd


RESULTS = "results.json"


class Ask(NamedTuple):
    """A question about a fact, and its answer.

    Attributes:
        prediction: the model's answer; None if it was right.
        probability: probability of the right answer; None if the evidence has none.
        names: pairs (name, probability) of the alternatives.
        text: the generated text.
        former: the preferred name that was right at an earlier date.
    """

    question: str
    answer: str
    prediction: str | None = None
    probability: float | None = None
    names: Sequence[tuple[str, float]] = ()
    text: str | None = None
    former: str | None = None
    prompt: str = ""


@dataclass(slots=True)
class FactAnswers:
    """The answers about one fact.

    Attributes:
        wrong: number of answers that are not right, including ``refused`` and ``off_format``.
        chances: known probabilities of guessing its questions right.
        unaskable: reason why it could not be asked; None if it was.
        asks: the latest right (True) and the latest wrong question (False).
    """

    key: FactKey
    right: int = 0
    wrong: int = 0
    refused: int = 0
    off_format: int = 0
    chances: list[float] = field(default_factory=list)
    unaskable: str | None = None
    asks: dict[bool, Ask] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        verdict, evidence = outcome.verdict, outcome.evidence
        self.right += verdict is Verdict.RIGHT
        self.wrong += verdict.is_failure
        self.refused += verdict is Verdict.REFUSED
        self.off_format += verdict is Verdict.OFF_FORMAT
        if verdict is Verdict.UNASKABLE:
            self.unaskable = outcome.reason
        if evidence is not None and verdict.counts and evidence.chance is not None:
            self.chances.append(evidence.chance)


@dataclass(slots=True)
class CollectedAnswers:
    """Answers by fact, counts of verdicts, and the probe's own results. Memory: the facts, with a few questions each.

    Attributes:
        reasons: number of outcomes by verdict and reason.
        facts: by the fact's id, in the order of asking.
        results: the probe's own tables and headline.
    """

    kind: ProbeKind
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: dict[Verdict, Counter[str]] = field(default_factory=lambda: {verdict: Counter() for verdict in Verdict})
    facts: dict[str, FactAnswers] = field(default_factory=dict)
    results: ProbeResults = field(default_factory=ProbeResults)

    def add(self, outcome: Outcome) -> None:
        """Add an outcome, in the order of asking."""
        verdict, evidence = outcome.verdict, outcome.evidence
        self.verdicts[verdict] += 1
        self.reasons[verdict][str(outcome.reason)] += 1
        fact = self.facts.setdefault(outcome.fact.fact, FactAnswers(outcome.fact))
        fact.add(outcome)
        if evidence is not None and verdict.counts:
            names, text, former = evidence.alternatives
            question = evidence.question, evidence.right_answer, evidence.prediction, evidence.probability
            fact.asks[verdict is Verdict.RIGHT] = Ask(*question, list(names), text, former, outcome.prompt)

    def reasons_of(self, verdict: Verdict) -> dict[str, int]:
        """Return numbers of outcomes with a verdict by reason, the most frequent first."""
        return dict(self.reasons[verdict].most_common())

    @property
    def chances(self) -> list[float]:
        """Known chance levels of the questions, by fact."""
        return list(chain.from_iterable(map(attrgetter("chances"), self.facts.values())))

    @property
    def answered(self) -> int:
        """Number of outcomes with an answer."""
        return sum(count for verdict, count in self.verdicts.items() if verdict.counts)


def collect_answers(
    kind: ProbeKind, outcomes: Iterable[Outcome], described: Mapping[str, Any], exports: Sequence[Path] = ()
) -> CollectedAnswers:
    """Collect outcomes, which are read once, in the order of asking.

    Args:
        exports: files of the probe's exports that are written in the same pass.
    """
    answers = CollectedAnswers(kind)
    with ExitStack() as files:
        observers: list[Callable[[Outcome], None]] = [answers.add]
        observers += [files.enter_context(kind.exports()[path.name](path)) for path in exports]
        answers.results = kind.results_of(outcomes, described, *observers)
    return answers


class _Written(msgspec.Struct):
    """The part of ``results.json`` that names relations."""

    relations: dict[str, str]


def read_relation_names(folder: Path) -> dict[str, str]:
    """Return the labels of relations by id, from the results in a folder; empty if there are none.

    Raises:
        KgprobeError: the file is damaged.
    """
    try:
        return read_json(folder / RESULTS, _Written, "Delete it; it is written again with the next page.").relations
    except FileNotFoundError:
        return {}


def outcomes_frame(outcomes: Iterable[Outcome]) -> "pd.DataFrame":
    """Return outcomes in pandas, one row for each question."""
    import pandas as pd

    columns = ("question", "right_answer", "prediction", "probability", "chance")
    rows = []
    for outcome in outcomes:
        evidence = [getattr(outcome.evidence, name, None) for name in columns]
        origin = (outcome.fact.subject, outcome.fact.fact, outcome.relation, outcome.verdict.value)
        rows.append((*origin, *evidence, outcome.reason, outcome.prompt))
    names = ["subject", "fact", "relation", "verdict", *columns, "reason", "prompt"]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=names)
    return frame
