"""Evidence of the probe `two-hops`: the plausibilities of both hops and of the composed question, and the tables.

docs/methods/two-hops.md. An answer is right if it beats all others. A hop that is right is called known. With a chance
g to guess right, a right answer scores 1 and a wrong one -g / (1 - g): 0 on average for guesses. The composition rate
corrected for guessing is the sum of products of all three scores, divided by that of both hops'. Intervals: paths with
the same middle are a cluster (:mod:`kgprobe.stats.design_based`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from kgprobe.base.intervals import Percent, Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Table
from kgprobe.probes.confidence import mean_of
from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity
from kgprobe.probes.outcome import Alternatives, Evidence, Headline, Outcome, ProbeResults, answered
from kgprobe.stats.design_based import ratio_in_clusters

# Positions of the questions of the second fact's evidence.
SECOND, COMPOSED, OTHER = range(3)
# Rows of the table by hops: is the first known, is the second.
_HOPS = {
    "both": (True, True),
    "only the first": (True, False),
    "only the second": (False, True),
    "neither": (False, False),
}
# Rows of the table by pairs that people see without `--full`, and names in a note.
_FEW_PAIRS, _NAMED = 12, 5


class OtherPath(msgspec.Struct, frozen=True):
    """The subject of the control, and its middle."""

    subject: NamedEntity
    middle: NamedEntity


class TwoHopEvidence(Evidence, frozen=True, eq=False, tag="two-hops"):
    """The plausibilities of a path's questions.

    Attributes:
        subject: label of A.
        object: the middle B, the object of the first fact.
        relations: those of the first and of the second fact.
        second_fact: id.
        other: the control's subject and middle; None if there is none.
        shortcuts: number of second facts that were not drawn because a fact joins the ends.
        revealed: number of those not drawn because a question names its answer, or the composed one the middle.
        first: the question about the first fact.
        second: the answer C with its rivals: the question about the second fact, the composed one, and that of the
            control if there is one.
    """

    subject: str
    object: NamedEntity
    relations: tuple[NamedEntity, NamedEntity]
    second_fact: str
    other: OtherPath | None
    shortcuts: int
    revealed: int
    first: DistractorEvidence
    second: DistractorEvidence

    @property
    def question(self) -> str:
        """The composed sentence up to its blank."""
        return self.second.question

    @property
    def right_answer(self) -> str:
        """The label of C."""
        return self.second.right_answer

    @property
    def prediction(self) -> str | None:
        """The most plausible other answer of the composed question; None if the right one beats all."""
        return self.second.prediction

    @property
    def probability(self) -> float:
        """The plausibility of C in the composed question."""
        return self.second.probability

    @property
    def chance(self) -> float:
        """The chance level of the composed question."""
        return _chance(self.second, COMPOSED)

    @property
    def alternatives(self) -> Alternatives:
        """The other answers of the composed question, by descending plausibility."""
        return self.second.alternatives

    @property
    def values(self) -> Mapping[str, float]:
        """1 for each known hop, else 0."""
        return {"first_hop": float(is_right(self.first, 0)), "second_hop": float(is_right(self.second, SECOND))}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the composition where both hops are known, by known hops, and by pair of relations.

        Memory: a few numbers per path.
        """
        rows = [_row(evidence) for _, evidence in answered(outcomes, cls)]
        if not rows:
            return ProbeResults()
        paths = pd.DataFrame(rows)
        pairs = paths.groupby(["first relation", "second relation"])
        paths["expected"] = pairs["composed"].transform("mean")
        tables = [_hops_table(paths), _pairs_table(paths, _notes(paths, described))]
        both = paths[paths["first"] & paths["second"]]
        if not len(both):
            return ProbeResults(tables)
        composition = _composition(paths, both)
        note = (
            "Corrected for guessing: 100% if all paths with both hops known are composed, 0% if the composed question"
            " is guessed. For another subject: how often the same answer is preferred if the subject, and so the"
            " middle, is exchanged."
        )
        title = "Composition where both hops are known"
        corrected = composition["corrected for guessing"]
        details = "not corrected for guessing: both hops are known in too few paths"
        if corrected is not None:
            details = f"corrected for guessing {corrected}"
        if composition["for another subject"] is not None:
            details += f"; the same answer for another subject {composition['for another subject']}"
        headline = Headline(
            name="right",
            rate=composition["composition right"],
            facts=len(both),
            of=f"{counted(len(both), 'path')} with both hops known, of {len(paths):,}",
            guessed=composition["by chance"].value,
            means="the composed question is right where both hops are known",
            details=details,
        )
        return ProbeResults([Table("composition", title, [composition], [note]), *tables], headline)


def is_right(evidence: DistractorEvidence, place: int) -> bool:
    """Return True if the right answer beats all others in the question at a place; a tie is wrong."""
    values = evidence.sentences[place].log_plausibilities
    return bool(values[0] > values[1:].max())


def _chance(evidence: DistractorEvidence, place: int) -> float:
    sentence = evidence.sentences[place]
    return float(sentence.chance_at_n(len(sentence.rivals))[-1])


def _row(evidence: TwoHopEvidence) -> dict[str, Any]:
    first, second = evidence.relations
    right = [is_right(evidence.first, 0), *(is_right(evidence.second, place) for place in (SECOND, COMPOSED))]
    chances = [_chance(evidence.first, 0), *(_chance(evidence.second, place) for place in (SECOND, COMPOSED))]
    # 1 for a right answer; the mean over guesses is 0.
    scores = [1.0 if hit else -chance / (1 - chance) for hit, chance in zip(right, chances, strict=True)]
    return {
        "first relation": first.label,
        "second relation": second.label,
        "middle": evidence.object.id,
        **dict(zip(("first", "second", "composed"), right, strict=True)),
        "chance": chances[-1],
        "other": float(is_right(evidence.second, OTHER)) if evidence.other else np.nan,
        "hops": scores[0] * scores[1],
        "product": scores[0] * scores[1] * scores[2],
        "shortcuts": evidence.shortcuts,
        "revealed": evidence.revealed,
    }


def _share(paths: pd.DataFrame, name: str) -> Share | None:
    """Return the mean of a column over the paths that have it, with its interval by clusters of middles."""
    paths = paths[paths[name].notna()]
    values = paths[name].to_numpy(dtype=np.float64)
    estimate = ratio_in_clusters(values, np.ones(len(values)), paths["middle"].to_numpy(), 0.0, 1.0)
    return None if estimate is None else Share(estimate.value, estimate.low, estimate.high)


def _composition(paths: pd.DataFrame, both: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the composition where both hops are known, which is at least one path."""
    middles = paths["middle"].to_numpy()
    corrected = ratio_in_clusters(paths["product"].to_numpy(), paths["hops"].to_numpy(), middles, 0.0, 1.0)
    compared = both[both["other"].notna()]
    differences = (compared["composed"] - compared["other"]).to_numpy(dtype=np.float64)
    more = ratio_in_clusters(differences, np.ones(len(compared)), compared["middle"].to_numpy(), -1.0, 1.0)
    return {
        "paths": len(paths),
        "both hops known": len(both),
        "composition right": _share(both, "composed"),
        "by chance": Percent(mean_of(both["chance"])),
        "corrected for guessing": None if corrected is None else Share(corrected.value, corrected.low, corrected.high),
        "for another subject": _share(both, "other"),
        "difference, points": None if more is None else Points(more.value, more.low, more.high),
    }


def _hops_table(paths: pd.DataFrame) -> Table:
    rows = []
    for name, (first, second) in _HOPS.items():
        own = paths[(paths["first"] == first) & (paths["second"] == second)]
        if len(own):
            rows.append({"known hops": name, **_rates(own)})
    rows.append({"known hops": "all paths", **_rates(paths)})
    note = (
        "If the hops did not matter: the rate over all paths of the same relations. Intervals: paths with the same"
        " middle are a cluster."
    )
    return Table("hops", "The composed question, by the hops that are known", rows, [note])


def _rates(paths: pd.DataFrame) -> dict[str, Any]:
    return {
        "paths": len(paths),
        "composition right": _share(paths, "composed"),
        "by chance": Percent(mean_of(paths["chance"])),
        "if the hops did not matter": Percent(mean_of(paths["expected"])),
        "for another subject": _share(paths, "other"),
    }


def _pairs_table(paths: pd.DataFrame, notes: list[str]) -> Table:
    rows: list[dict[str, Any]] = []
    for (first, second), own in paths.groupby(["first relation", "second relation"]):
        both = own[own["first"] & own["second"]]
        row = {
            "first relation": first,
            "second relation": second,
            "paths": len(own),
            "first known": _share(own, "first"),
            "second known": _share(own, "second"),
            "both known": len(both),
            "composition right": _share(both, "composed"),
            "by chance": Percent(mean_of(own["chance"])),
            "for another subject": _share(both, "other"),
        }
        rows.append(row)
    rows.sort(key=lambda row: -row["paths"])
    return Table("pairs", "By the relations of both hops", rows, notes, detail=len(rows) > _FEW_PAIRS)


def _notes(paths: pd.DataFrame, described: Mapping[str, Any]) -> list[str]:
    """Return notes on left out paths and relations."""
    notes = ["Composition right, and for another subject: where both hops are known."]
    shortcuts, revealed = int(paths["shortcuts"].sum()), int(paths["revealed"].sum())
    if shortcuts or revealed:
        notes.append(
            f"Left out as second facts of the asked ones: {shortcuts:,} with a fact that joins both ends (a shortcut),"
            f" and {revealed:,} whose question names the middle or the answer."
        )
    lacking = described.get("without_phrase", ())
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        listed = f"{', '.join(lacking[:_NAMED])}{more}"
        notes.append(f"Not asked as first hops, without a noun phrase: {counted(len(lacking), 'relation')} ({listed}).")
    return notes
