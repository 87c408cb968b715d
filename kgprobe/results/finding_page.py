"""Pages and files of one finding or of several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pandas as pd

from kgprobe.base.dates import day_text
from kgprobe.base.intervals import Share, percent_text
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow, Table, flat_row, row_dicts
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.beliefs.graph_rates import ENOUGH
from kgprobe.beliefs.group_rates import Grouping, GroupRates
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.results.finding import FACT_COLUMNS, Finding, unknown_count
from kgprobe.results.ranked_relations import RankedRelations, rate_of
from kgprobe.results.rendering.dotted_map import dotted_map
from kgprobe.results.rendering.packed_facts import ResultFacts, pack_facts
from kgprobe.results.rendering.page import RESULT_SCRIPTS, Card, Section, table_section, write_page
from kgprobe.results.result import write_result_files
from kgprobe.running.measurement import NO_DATE
from kgprobe.sampling.outdated import OutdatedAnswers
from kgprobe.stats.proportions import CONFIDENCE

PAGE = "finding.html"

_EXPECTED_WORDS = ("expected known", "expected unknown")

_BY = {
    "entity": "A fact counts for its subject and for its object.",
    "type": "A fact counts for each type of its subject.",
    "popularity": "Thirds of about as many asked facts each: head, torso and tail of their subjects' popularity.",
    "templates": "Generic templates are made from the label of a relation that has no written ones.",
}


def write_finding(finding: Finding, content: Mapping[str, Any], folder: Path) -> Path:
    """Write a finding into a folder: page, ``results.json``, ``facts.csv`` and ``groups.csv``; return the page's path.

    Raises:
        KgprobeError: a file cannot be written.
    """
    frames = {"facts": finding.facts[list(FACT_COLUMNS)], "groups": finding.groups_frame()}
    write_result_files(folder, "results", content, frames)
    return write_finding_page(folder / PAGE, finding)


def write_finding_page(path: Path, finding: Finding) -> Path:
    """Write the page of one finding, and return its path.

    Raises:
        KgprobeError: it cannot be written.
    """
    sections = finding_sections(finding)
    return write_results_page(path, finding.share_known, [scope_sentence(finding)], sections, [finding])


def finding_sections(finding: Finding) -> list[Section]:
    """Return all sections of a page on one finding, except the list of asked facts and the settings."""
    return [*first_sections([finding]), *map_sections([finding]), *result_sections(finding)]


def scope_sentence(finding: Finding) -> str:
    """Return the number of questions and the probe in a sentence."""
    about = finding.about
    rounds = about.in_rounds and f",{about.in_rounds}"
    sampling = f" (sampling: {about.sampling})" if about.sampling else ""
    scope = f"{finding.scope}{rounds} by the probe “{about.asked_by}”{sampling}"
    dated = "" if about.as_of == NO_DATE else f"; facts as of {day_text(about.as_of)}"
    return f"{scope}{dated}."


@dataclass(frozen=True, slots=True)
class BarPart(ResultRow):
    """A part of the bar of the whole graph.

    Attributes:
        of: label of the result.
        word: belief; "expected known" and "expected unknown" for facts that were not asked.
        facts: number of facts; of expected ones, the sum of their probabilities, rounded.
        share: their share of the bar.
        is_asked: True if they were asked.
    """

    of: str
    word: str
    facts: int
    share: float
    is_asked: bool


def bar_of(finding: Finding) -> list[BarPart]:
    """Return the parts of the bar, from surely known to surely unknown; without empty ones.

    With an estimate over the graph, the known parts together are its share of the facts.
    """
    known, unknown = _EXPECTED_WORDS
    counts: dict[str, float] = {word.value: finding.believed[word] for word in BeliefWord if word.is_known}
    if finding.over_graph is not None:
        unasked = max(0, finding.over_graph.facts - sum(finding.believed.values()))
        expected = finding.share.value * finding.over_graph.facts - sum(counts.values())
        counts[known] = min(max(0.0, expected), unasked)
        counts[unknown] = unasked - counts[known]
    counts |= {word.value: finding.believed[word] for word in BeliefWord if not word.is_known}
    total, of = sum(counts.values()), finding.label or finding.about.name
    parts = []
    for word, count in counts.items():
        if count:
            parts.append(BarPart(of, word, round(count), count / total, word not in _EXPECTED_WORDS))
    return parts


def first_sections(findings: Sequence[Finding]) -> list[Section]:
    """Return the sections of the first screen: a bar for each result, and the relations that are known least."""
    bars = [bar_of(finding) for finding in findings]
    notes = []
    if any(not part.is_asked for bar in bars for part in bar):
        notes.append(
            "Expected: not asked; the number of known ones follows from the estimate over the graph. The line below the"
            " bar marks the asked facts."
        )
    sections = [Section("whole", values={"bars": bars}, notes=notes)]
    if len(findings) == 1:
        ranked = findings[0].ranked_relations
        if ranked.least:
            # Rates over the graph have no caveat.
            caveats = _caveat(findings[0]) if isinstance(ranked.least[0], GroupRates) else []
            title = f"Least known of {ranked.of} relations"
            values = {"relations": worst_relations(findings[0], ranked)}
            sections.append(Section("worst", title, values, caveats, listed=False))
    return sections


@dataclass(frozen=True, slots=True)
class WorstRelation(ResultRow):
    """One of the relations that are known least, with an unknown fact of it.

    Attributes:
        facts: number of facts that ``known`` is over.
        of_asked: True if these are the asked ones; else they are all of the graph.
        known: share of right answers over the graph, or the share of the asked facts that are known.
        question, answer, prediction: a question that the model got wrong, the right answer and its own; empty if the
            model answered no question of this relation wrong.
    """

    relation: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    of_asked: bool
    known: Annotated[Share, Heading("known")]
    question: Annotated[str, Heading("question")]
    answer: Annotated[str, Heading("right answer")]
    prediction: Annotated[str, Heading("prediction")]


def worst_relations(finding: Finding, ranked: RankedRelations) -> list[WorstRelation]:
    """Return the least known relations with an unknown fact of each, the least known first."""
    facts = finding.facts
    wrong = facts[(facts["right"] <= facts["wrong"]) & facts["prediction"].notna()]
    # The surest unknown fact first; of equal ones, the first by id.
    wrong = wrong.sort_values(["known_high", "fact"]).drop_duplicates("relation_label")
    examples = {row["relation_label"]: row for row in wrong.to_dict("records")}
    worst = []
    for group in ranked.least:
        example = examples.get(group.name, {"question": "", "answer": "", "prediction": ""})
        texts = example["question"], example["answer"], example["prediction"]
        worst.append(WorstRelation(group.name, group.facts, isinstance(group, GroupRates), rate_of(group), *texts))
    return worst


def finding_lead(finding: Finding) -> list[str]:
    """Return the result in a few sentences: the share that is known, the relations, and the facts that are unknown."""
    lead = [f"{finding.headline}."]
    if finding.measure is not None:
        lead.append(f"{finding.measure.details.capitalize()}.")
    ranked = finding.ranked_relations
    texts = [f"{text}." for text in (ranked.least_text, ranked.best_text) if text]
    if texts:
        lead.append(" ".join(texts))
    lead.append(f"{unknown_count(finding)}.")
    return lead


def result_sections(finding: Finding) -> list[Section]:
    """Return the sections of a finding below the map, except the list of asked facts; empty ones are left out."""
    sections = [
        *_believed(finding, BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN),
        _knowledge(finding),
        *map(table_section, finding.graph_tables()),
        *_groups(finding),
        *map(table_section, finding.probe_tables),
        *_outdated(finding.outdated),
        *_believed(finding, BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN),
    ]
    for title, reasons in (("Not askable", finding.unaskable), ("No answer came", finding.unanswered)):
        if reasons:
            sections.append(Section("reasons", title, {"reasons": reasons}))
    sections = [section for section in sections if section.kind != "table" or section.values["table"].rows]
    sections = [replace(section, of=finding.label or finding.about.name) for section in sections]
    # Unknown facts, the main figures and the first rates are open, the rest is folded.
    figures = next(place for place, section in enumerate(sections) if section.kind == "cards")
    return [
        replace(section, folded=bool(section.title) and place not in {0, figures, figures + 1})
        for place, section in enumerate(sections)
    ]


def _believed(finding: Finding, surely: BeliefWord, leans: BeliefWord) -> Iterator[Section]:
    """Yield the facts that are surely known (or unknown), and those that lean to it; nothing where there are none."""
    tables = {table.key: table for table in finding.belief_tables()}
    for word in (surely, leans):
        table = tables[word.value.replace(" ", "_")]
        notes = []
        if word is BeliefWord.SURELY_UNKNOWN:
            around = "" if finding.about.rounds is None else " and those on facts around it"
            luck = "" if finding.chance is None else ", and a guesser would hardly have had as many right answers"
            notes.append(
                f"Known is the probability that the model knows the fact, learned from its own answers{around}. Surely:"
                f" at least two own answers, and its {CREDIBILITY:.0%} interval is below one half; or it is above one"
                f" half{luck}."
            )
        if table.rows:
            yield replace(table_section(replace(table, notes=notes)), short=word.value.capitalize())


def _knowledge(finding: Finding) -> Section:
    """Return the section of the main figures: shares that are known, and counts of facts by belief."""
    overall, measure, over_graph = finding.overall, finding.measure, finding.over_graph
    cards = []
    if measure is not None:
        cards.append(_share_card(measure.rate, f"{measure.name} [{{}}, {{}}]: {measure.means}"))
    if over_graph is not None:
        says = "of the whole graph [{}, {}]: share of right answers, estimated for all "
        cards.append(_share_card(over_graph.overall.right, f"{says}{counted(over_graph.facts, 'fact')}"))
    else:
        win = "win rate [{}, {}]: facts asked that were answered right more often than wrong"
        zero = "zero-sense rate [{}, {}]: facts asked that were never answered right"
        cards += [_share_card(overall.win_rate, win), _share_card(overall.zero_sense_rate, zero)]
    if finding.guessed is not None:
        cards.append(Card(percent_text(finding.guessed), "by guessing", finding.guessed))
    title = "How much it knows"
    return Section(
        "cards",
        title + (" backwards" if finding.about.reversed else ""),
        {"cards": cards},
        [scope_sentence(finding), *(() if over_graph else _caveat(finding)), *finding.about.notes],
        short=title,
    )


def _share_card(share: Share, says: str) -> Card:
    ends = (f"{100 * share.low:.0f}", f"{100 * share.high:.0f}")
    return Card(f"{share.value:.0%}", says.format(*ends), share.value, share.low, share.high)


def _groups(finding: Finding) -> Iterator[Section]:
    """Yield rates of the asked facts by groups without a rate over the graph, years, and relations at entities."""
    for table in finding.group_tables():
        by = table.key.removeprefix("by_")
        notes = [_BY[by], *table.notes] if by in _BY else table.notes
        yield replace(table_section(replace(table, notes=notes)), short=table.title)
    yield from _years(finding)
    yield from _dots(finding)


@dataclass(frozen=True, slots=True)
class YearShare(ResultRow):
    """The share of known facts of a year or a decade.

    Attributes:
        known: estimated over the graph, or of the asked facts.
        guessed: the same for a guesser; None if unknown.
    """

    name: str
    facts: int
    known: Share
    guessed: float | None


def _years(finding: Finding) -> Iterator[Section]:
    groupings: list[Grouping[Any]] = [] if finding.over_graph is None else [*finding.over_graph.groupings]
    groups = next((each.groups for each in (*groupings, *finding.groupings) if each.by == "year"), ())
    if len(groups) < 2:
        return
    years, of_asked = [], any(isinstance(group, GroupRates) for group in groups)
    for group in groups:
        guessed = group.guessed if isinstance(group, GroupRates) and finding.chance is not None else finding.guessed
        years.append(YearShare(group.name, group.facts, rate_of(group), guessed))
    rate = "Win rate of the facts asked" if of_asked else "Known facts, estimated over the graph,"
    dashed = "" if finding.guessed is None else "; dashed: a guesser"
    note = f"{rate} by year, with {CONFIDENCE:.0%} intervals{dashed}."
    yield Section("years", "Over time", {"groups": years}, [note, *(_caveat(finding) if of_asked else ())])


def _dots(finding: Finding) -> Iterator[Section]:
    dotted = dotted_map(finding.facts)
    if len(dotted.entities) > 1:
        facts = counted(dotted.facts, "fact")
        note = f"{dotted.shown:,} of {facts} belong to these relations and entities, the largest ones."
        yield Section("dots", "Relations at entities", {"map": dotted}, [note, *_caveat(finding)])


def _caveat(finding: Finding) -> list[str]:
    return [finding.about.caveat] if finding.about.caveat else []


def _outdated(outdated: OutdatedAnswers) -> list[Section]:
    """Return sections on answers that were right in the past: their number and age; empty without any."""
    if not outdated.outdated:
        return []
    says = f"of {counted(outdated.facts, 'fact')}: the model predicted a former object"
    part = outdated.outdated / outdated.facts
    cards = [Card(f"{part:.1%}", says, part)]
    if outdated.median is None:
        return [Section("cards", "Outdated answers", {"cards": cards})]
    says = f"median time since they ceased to be right ({outdated.dated:,} of {outdated.outdated:,} have a date)"
    cards.append(Card(f"{outdated.median:.1f} years", says, outdated.median))
    ages = Table("outdated_ages", "How long ago they ceased to be right", [age.cells() for age in outdated.ages])
    return [
        Section("cards", "Outdated answers", {"cards": cards}),
        replace(table_section(ages), listed=False),
    ]


def write_results_page(
    path: Path, title: str, lead: Sequence[str], sections: Sequence[Section], findings: Sequence[Finding]
) -> Path:
    """Write a page of sections, with the list of asked facts and the settings. Names and notes are shown as text.

    Args:
        sections: a section of kind ``matrix`` replaces the list of asked facts.

    Raises:
        KgprobeError: it cannot be written.
    """
    labels = {finding.label or finding.about.name: finding for finding in findings}
    packed = pack_facts({label: result_facts(finding) for label, finding in labels.items()})
    origins = {f"Settings of {label}": _origin_lines(finding) for label, finding in labels.items()}
    has_matrix = any(section.kind == "matrix" for section in sections)
    listed = Section("asked", "Every asked fact", notes=packed.notes, folded=True)
    sections = [
        *sections,
        *([] if has_matrix else [listed]),
        Section("how", "How it was made", {"parts": origins}),
    ]
    return write_page(path, title, lead, sections, data=packed.data, script=RESULT_SCRIPTS)


def result_facts(finding: Finding) -> ResultFacts:
    """Return the facts of a finding for the data of a page."""
    about, whole = finding.about, finding.whole
    if whole is None:
        return ResultFacts(about.asked_by, finding.facts)
    links = [astuple(link) for link in whole.links]
    return ResultFacts(about.asked_by, finding.facts, whole.expected, whole.types, links)


def map_sections(findings: Sequence[Finding]) -> list[Section]:
    """Return the map of ignorance, with the shares known by types of every result as rows."""
    links = {finding.label or finding.about.name: finding.whole.links for finding in findings if finding.whole}
    estimated = any(finding.over_graph is not None for finding in findings)
    notes = [
        "An entity of several types counts for the largest one. Known: "
        + (f"estimated over the graph from {ENOUGH} questions; with fewer, the share of the asked facts." * estimated)
        + ("the share of the asked facts." * (not estimated))
    ]
    if any(finding.whole is not None and len(finding.whole.expected) for finding in findings):
        notes.append(
            "Probabilities of facts not asked hold on average over facts, and less well for those that the model does"
            " not know. Ask facts before you choose them as unknown."
        )
    for finding in findings:
        listed = 0 if finding.whole is None else len(finding.whole.expected)
        if finding.whole is not None and listed < finding.whole.unasked:
            notes.append(f"Around an entity, the map has {listed:,} of {finding.whole.unasked:,} facts not asked.")
    return [Section("map", "Map of ignorance", {"links": links}, notes)]


def _origin_lines(finding: Finding) -> list[str]:
    """Return the settings that the figures depend on."""
    about = finding.about
    return [
        f"name      {about.name}",
        f"model     {about.model}",
        f"seed      {about.seed}",
        f"as of     {'no date' if about.as_of == NO_DATE else day_text(about.as_of)}",
        f"versions  {msgspec.json.encode(about.versions, order='sorted').decode()}",
        f"probe     {msgspec.json.encode(about.described, order='sorted').decode()}",
        *(
            f"declined  {model}: {', '.join(names)} (left out or replaced, since the server declined them)"
            for model, names in about.declined.items()
        ),
    ]


@dataclass(frozen=True, slots=True)
class MatrixRelation(ResultRow):
    """The facts of one relation in the matrix.

    Attributes:
        facts: number of facts that any result was asked.
        disagree: number of those that one result knows and another one does not.
    """

    relation: str
    facts: int
    disagree: int


def matrix_section(results: Mapping[str, pd.DataFrame], notes: Sequence[str] = ()) -> Section:
    """Return the matrix of facts by results, which the page's script draws.

    Args:
        results: asked facts by label of the result: fact, relation_label, right, wrong.
    """
    frames = [
        facts[["fact", "relation_label"]].assign(known=facts["right"] > facts["wrong"]) for facts in results.values()
    ]
    facts = pd.concat(frames).groupby("fact").agg(relation=("relation_label", "first"), apart=("known", "nunique"))
    facts["apart"] = facts["apart"] > 1
    groups = facts.groupby("relation")["apart"].agg(["size", "sum"])
    relations = [MatrixRelation(str(name), int(size), int(apart)) for name, size, apart in groups.itertuples()]
    note = "Blue: right more often than wrong; orange: not. A stronger colour is a surer belief; grey: not asked."
    return Section("matrix", "Fact by fact", {"relations": relations, "results": list(results)}, [note, *notes])


def section_to_dict(section: Section) -> dict[str, Any]:
    """Return a section of a page with its rows; JSON-compatible, the ends of an interval follow its value.

    >>> section_to_dict(Section("reasons", "Not askable", {"reasons": {"no name": 2}}))["rows"]
    [{'reason': 'no name', 'number': 2}]
    """
    table = section.values.get("table")
    return {
        "title": section.title,
        "of": section.of or None,
        "rows": list(_ROWS_OF[section.kind](section.values)) if section.kind in _ROWS_OF else [],
        "notes": [*section.notes, *(table.notes if table else ())],
    }


def _reason_rows(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for reason, count in values["reasons"].items():
        yield {"reason": reason, "number": count}


def _map_rows(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for of, links in values["links"].items():
        for row in row_dicts(links):
            yield {"of": of, **row}


# Rows of a section by its kind; other kinds have none.
_ROWS_OF: Mapping[str, Callable[[Mapping[str, Any]], Iterable[dict[str, Any]]]] = {
    "cards": lambda values: map(asdict, values["cards"]),
    "dots": lambda values: values["map"].rows(),
    "reasons": _reason_rows,
    "table": lambda values: map(flat_row, values["table"].rows),
    "whole": lambda values: chain.from_iterable(map(row_dicts, values["bars"])),
    "worst": lambda values: row_dicts(values["relations"]),
    "matrix": lambda values: row_dicts(values["relations"]),
    "map": _map_rows,
    "years": lambda values: row_dicts(values["groups"]),
}
