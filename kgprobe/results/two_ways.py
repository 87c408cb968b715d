"""The same facts asked in two ways: in both directions, or in two languages.

Facts are paired by id, which an inverse graph keeps. docs/methods/reversed-graphs.md, docs/methods/languages.md.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kgprobe.base.intervals import Share
from kgprobe.base.tables import Heading, Names, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.results.result import SHOWN_FACTS, Listing, Result
from kgprobe.results.shared_facts import Bools, SharedFacts
from kgprobe.stats.proportions import share

# Relations of Wikidata: official language, and the country that an entity is in or from.
OFFICIAL_LANGUAGE = ("P37",)
OF_COUNTRY = ("P17", "P27", "P495")
NO_LANGUAGE = "no language"
_ENTITIES_AT_ONCE = 1_000

_BOTH = (
    "A fact counts as known in a {by} if it has more right answers than wrong ones. The chance level may differ"
    " between {by}s: see the table of results."
)
_BY_LANGUAGE = "A fact counts in each official language of its subject, or of its subject's country."


@dataclass(frozen=True, slots=True)
class OneWayFact(ResultRow):
    """A fact that is known in only one of two ways.

    Attributes:
        known, missed: the ways in words, such as ``forwards`` or ``in de``.
        subject: id of the subject in the graph that is not reversed.
        known_question, known_answer: question and right answer in the way in which the fact is known.
        missed_question, missed_answer: those of the other way.
        prediction: the model's answer in the other way.
    """

    known: str
    missed: str
    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    known_question: str
    known_answer: Annotated[str, Heading("known {known}")]
    missed_question: Annotated[str, Heading("asked")]
    missed_answer: Annotated[str, Heading("missed {missed}")]
    prediction: Annotated[str | None, Heading("prediction")]

    def cells(self, names: Names | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the cells of a table; the headings name the two ways."""
        return ResultRow.cells(self, {"known": self.known, "missed": self.missed})


@dataclass(frozen=True, slots=True)
class OnceAsked(ResultRow):
    """A fact that was asked in only one of two languages; ``asked`` is the language in words."""

    asked: str
    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    question: Annotated[str, Heading("asked")]
    right_answer: Annotated[str, Heading("right answer")]


@dataclass(frozen=True, slots=True)
class WayCounts(ResultRow):
    """Knowledge of a group of facts in two ways.

    Attributes:
        relation: id; None for all facts.
        first, second: shares of the facts that are known.
        both, neither: number of facts that are known in both ways, and in neither.
        first_alone, second_alone: number of facts that are known in only this way.
        not_second: the share of facts known in the first way that are not known in the second; None where none is
            known in the first.
        not_first: the same with the ways swapped.
    """

    relation: str | None
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    first: Annotated[Share, Heading("{first}")]
    second: Annotated[Share, Heading("{second}")]
    both: Annotated[int, Heading("both")]
    first_alone: Annotated[int, Heading("{first} alone")]
    second_alone: Annotated[int, Heading("{second} alone")]
    neither: Annotated[int, Heading("neither")]
    not_second: Annotated[Share | None, Heading("not {second}")]
    not_first: Annotated[Share | None, Heading("not {first}")]


@dataclass(frozen=True, slots=True)
class LanguageCounts(WayCounts):
    """The same of facts whose subject is of a country with an official language; ``relation`` is the language's id."""

    name: Annotated[str, Heading("language of the entity")]


@dataclass(frozen=True, slots=True)
class KnownWhere(ResultRow):
    """Number and share of the facts that are known in both ways, in one alone, or in neither."""

    known: Annotated[str, Heading("known")]
    facts: Annotated[int, Heading("facts")]
    share: Annotated[Share, Heading("share")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TwoWays(Result):
    """A comparison of two ways to ask the same facts; one row for all facts, then one for each relation.

    Attributes:
        by: ``direction`` or ``language``.
        first, second: the ways in words: ``forwards`` and ``backwards``, or ``in en`` and ``in de``.
        results: names of the two results.
        overall: all facts that were asked in both ways.
        relations: counts by relation, those with most facts known only in the first way first.
        languages: counts by official language of the subject's country; empty for directions, and without a graph.
        one_way_facts: the facts that are known in only one way, the first first; by relation.
        once_asked: the facts that were asked in one language only.
    """

    by: str
    first: str
    second: str
    results: Sequence[str]
    overall: WayCounts
    relations: Sequence[WayCounts]
    languages: Annotated[
        Sequence[LanguageCounts], Listing("Known {first} and {second}, by language of the entity", _BY_LANGUAGE)
    ] = ()
    one_way_facts: Annotated[
        Sequence[OneWayFact],
        Listing(by=lambda _, fact: f"Known {fact.known} and not {fact.missed}", title="One way", show=SHOWN_FACTS),
    ]
    once_asked: Annotated[
        Sequence[OnceAsked],
        Listing(by=lambda _, fact: f"Asked {fact.asked} only", title="Once", show=SHOWN_FACTS, detail=True),
    ] = ()

    @property
    def groups(self) -> Annotated[Sequence[WayCounts], Listing("Known {first} and {second}", _BOTH)]:
        """All facts, then each relation."""
        return [self.overall, *self.relations]

    @property
    def shares(self) -> Annotated[Sequence[KnownWhere], Listing("Known {first}, {second}, in both or neither")]:
        """Shares of all facts by the ways in which they are known."""
        counts = self.overall
        rows = {
            "both": counts.both,
            f"{self.first} alone": counts.first_alone,
            f"{self.second} alone": counts.second_alone,
            "neither": counts.neither,
        }
        return [KnownWhere(name, count, share(count, counts.facts)) for name, count in rows.items()]

    def summary(self) -> str:
        """Return the share of the facts known in one way that are not known in the other, in sentences."""
        overall, both = self.overall, self.overall.both
        sentences = [
            f"{self.by.capitalize()}s, over {overall.facts:,} facts: {overall.first} known {self.first},"
            f" {overall.second} {self.second}."
        ]
        if overall.not_second is not None:
            known = overall.first_alone + both
            if self.by == "language":
                sentences.append(f"Known {self.second}, too: {share(both, known)} of the {known:,} known {self.first}.")
            sentences.append(
                f"Not known {self.second}: {overall.not_second} of the {known:,} facts known {self.first}."
            )
        if overall.not_first is not None:
            known = overall.second_alone + both
            sentences.append(f"Not known {self.first}: {overall.not_first} of the {known:,} facts known {self.second}.")
        if self.once_asked:
            sentences.append(f"Asked in one language only: {len(self.once_asked):,} facts.")
        return " ".join(sentences)


def compare_ways(
    shared: SharedFacts, names: Mapping[str, str], languages: Mapping[str, Mapping[str, str]] | None = None
) -> TwoWays | None:
    """Compare the knowledge of the same facts in two directions or languages; None unless two results differ in one.

    Directions are compared if both differ. Cost: a pass over the facts per relation, and per language.

    Args:
        shared: facts of the results, at least one.
        languages: labels by id of the official languages of each subject; None without a table by language.
    """
    if len(shared.abouts) != 2:
        return None
    ahead, other = shared.abouts
    by = "direction" if ahead.reversed != other.reversed else "language" if ahead.ask_in != other.ask_in else None
    if by is None:
        return None
    first, second = [1, 0] if by == "direction" and ahead.reversed else [0, 1]
    ways = [about.direction if by == "direction" else about.in_language for about in shared.abouts]
    known, too = shared.known[[first, second]]
    relations = np.array(shared.relations)
    groups = []
    for relation in np.unique(relations).tolist():
        chosen = relations == relation
        groups.append(WayCounts(relation, names.get(relation, relation), *_counts(known[chosen], too[chosen])))
    groups.sort(key=lambda counts: (-counts.first_alone, str(counts.relation)))
    one_way = _one_way_facts(known & ~too, first, ways, shared, names)
    one_way += _one_way_facts(too & ~known, second, ways, shared, names)
    is_language = by == "language"
    return TwoWays(
        by=by,
        first=ways[first],
        second=ways[second],
        results=[shared.labels[first], shared.labels[second]],
        overall=WayCounts(None, "all", *_counts(known, too)),
        relations=groups,
        languages=_by_language(shared, known, too, languages) if is_language and languages is not None else (),
        one_way_facts=one_way,
        once_asked=_once_asked(ways, shared, names) if is_language else (),
    )


def official_languages(graph: Graph, subjects: Sequence[str], as_of: int) -> dict[str, dict[str, str]]:
    """Return labels by id of the official languages of each subject's country at a date; none for most entities.

    Cost: a walk of two steps from each subject.
    """
    ids, found = sorted(set(subjects)), {}
    given = {"countries": OF_COUNTRY, "languages": OFFICIAL_LANGUAGE, "as_of": as_of}
    for start in range(0, len(ids), _ENTITIES_AT_ONCE):
        for row in graph.read("sample/official_languages", ids=ids[start : start + _ENTITIES_AT_ONCE], **given):
            found[row["id"]] = {language["id"]: language["label"] or language["id"] for language in row["languages"]}
    return found


def _by_language(
    shared: SharedFacts, known: Bools, too: Bools, languages: Mapping[str, Mapping[str, str]]
) -> list[LanguageCounts]:
    """Count the facts of each language of the subjects, most frequent first; those without one are a group."""
    places: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    for place, subject in enumerate(shared.answered[0].loc[list(shared.facts), "subject"]):
        for language in languages.get(subject, {}).items() or [(None, NO_LANGUAGE)]:
            places[language].append(place)
    rows = [LanguageCounts(code, label, *_counts(known[own], too[own])) for (code, label), own in places.items()]
    return sorted(rows, key=lambda counts: (counts.relation is None, -counts.facts, counts.name))


def _counts(known: Bools, too: Bools) -> tuple[int, Share, Share, int, int, int, int, Share | None, Share | None]:
    """Count the facts of a group that are known in the first way, and too in the second; fields of WayCounts."""
    total, first, second, both = len(known), int(known.sum()), int(too.sum()), int((known & too).sum())
    return (
        total,
        share(first, total),
        share(second, total),
        both,
        first - both,
        second - both,
        total - first - second + both,
        share(first - both, first) if first else None,
        share(second - both, second) if second else None,
    )


def _one_way_facts(
    chosen: Bools, known: int, ways: Sequence[str], shared: SharedFacts, names: Mapping[str, str]
) -> list[OneWayFact]:
    """Return facts that are known in one way, by name of the relation; ``known`` is the place of its result."""
    about, one_way = shared.abouts[known], []
    for fact, *rows in shared.rows(chosen):
        row, other = rows[known], rows[1 - known]
        is_reversed = about.reversed and not shared.abouts[1 - known].reversed
        one_way.append(
            OneWayFact(
                ways[known],
                ways[1 - known],
                fact,
                other["subject"] if is_reversed else row["subject"],
                row["relation"],
                names.get(row["relation"], row["relation"]),
                row["question"],
                row["right_answer"],
                other["question"],
                other["right_answer"],
                other["prediction"],
            )
        )
    return sorted(one_way, key=lambda fact: (fact.relation_name, fact.fact))


def _once_asked(ways: Sequence[str], shared: SharedFacts, names: Mapping[str, str]) -> list[OnceAsked]:
    """Return the facts that only one of two results has answered, by result and name of the relation."""
    once: list[OnceAsked] = []
    for way, own in zip(ways, shared.answered, strict=True):
        rows = own.drop(list(shared.facts)).rename_axis("fact").reset_index().to_dict("records")
        facts = [
            OnceAsked(
                way,
                row["fact"],
                row["subject"],
                row["relation"],
                names.get(row["relation"], row["relation"]),
                row["question"],
                row["right_answer"],
            )
            for row in rows
        ]
        once += sorted(facts, key=lambda fact: (fact.relation_name, fact.fact))
    return once
