"""Page of one finding or of several."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from kgprobe.analysis.examined import Examined
from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.analysis.outdated import OutdatedAnswers
from kgprobe.analysis.rates import Grouping
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.report.dotted_map import dotted_map
from kgprobe.report.packed_facts import AskedOf, pack_facts
from kgprobe.report.page import write_page
from kgprobe.report.sections import Card, Section, table_section
from kgprobe.results.finding import believed_title, ranked_relations, unknown_count
from kgprobe.results.graph_rates import graph_rate_tables
from kgprobe.results.sections import groups_section
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import CONFIDENCE, Share
from kgprobe.tables import Table

_BY = {
    "entity": "A fact counts for its subject and for its object.",
    "type": "A fact counts for each type of its subject.",
    "popularity": "Thirds of about as many asked facts each: head, torso and tail of their subjects' popularity.",
}


def finding_title(finding: Finding) -> str:
    """Return the title of the page of a finding."""
    return f"Facts that {finding.about.called} does not know{' backwards' if finding.about.reversed else ''}"


def finding_lead(finding: Finding) -> list[str]:
    """Return the result in a few sentences: the share that is known, the relations, and the facts that are unknown."""
    lead = [f"{finding.headline}."]
    if finding.measure is not None:
        lead.append(f"{finding.measure.details.capitalize()}.")
    least, best = ranked_relations(finding)
    ranked = f"Least known: {least}. " if least else ""
    ranked += f"Best known: {best}." if best else ""
    if ranked:
        lead.append(ranked.strip())
    lead.append(f"{unknown_count(finding)}.")
    return lead


def finding_sections(finding: Finding) -> list[Section]:
    """Return all sections of a page on one finding, except the list of asked facts and the picture."""
    return [
        *believed_sections(finding, unknown=True),
        knowledge_section(finding),
        *group_sections(finding),
        *detail_sections(finding),
        *believed_sections(finding, unknown=False),
        *(Section("reasons", "Not askable", {"reasons": finding.unaskable}) for _ in range(bool(finding.unaskable))),
        *(
            Section("reasons", "No answer came", {"reasons": finding.unanswered})
            for _ in range(bool(finding.unanswered))
        ),
    ]


def believed_sections(finding: Finding, *, unknown: bool) -> list[Section]:
    """The facts that are surely unknown (or known), and below those that lean to it."""
    listed = finding.unknown if unknown else finding.known
    words = (
        (BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN)
        if unknown
        else (BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN)
    )
    sections = []
    for word in words:
        rows = [fact for fact in listed if fact.belief is word]
        if rows or word is words[0]:
            sections.append(_believed(finding, word, rows, explained=unknown and word is words[0]))
    return sections


def knowledge_section(finding: Finding) -> Section:
    """Return the section of the main figures: shares that are known, and counts of facts by belief."""
    overall = finding.overall
    cards = []
    measure = finding.measure
    if measure is not None:
        cards.append(_share_card(measure.rate, f"{measure.name} [{{}}, {{}}]: {measure.means}"))
    if finding.graph_rate is not None and finding.over_graph is not None:
        says = "of the whole graph [{}, {}]: share of right answers, estimated for all "
        cards.append(_share_card(finding.graph_rate, f"{says}{counted(finding.over_graph.facts, 'fact')}"))
    for rate, says in (
        (overall.win_rate, "win rate [{}, {}]: facts asked that were answered right more often than wrong"),
        (overall.zero_sense_rate, "zero-sense rate [{}, {}]: facts asked that were never answered right"),
    ):
        cards.append(_share_card(rate, says))
    if finding.chance is not None:
        cards.append(Card(f"{finding.chance:.1%}", "of the questions would be right by guessing", finding.chance))
    believed = {word.value: finding.believed[word] for word in reversed(BeliefWord)}
    return Section(
        "cards",
        "How much it knows" + (" backwards" if finding.about.reversed else ""),
        {"cards": cards, "believed": believed},
        [_asked(finding), *_caveat(finding)],
        short="How much it knows",
    )


def group_sections(finding: Finding) -> Iterator[Section]:
    """Yield rates by relation, type, popularity and year over the graph, then those of the facts asked."""
    if finding.over_graph is not None:
        yield from map(table_section, graph_rate_tables(finding.over_graph))
    for place, grouping in enumerate(finding.groupings):
        notes = [] if place else [_rates_note(finding)]
        notes += [_BY[grouping.by]] if grouping.by in _BY else []
        notes += _caveat(finding)
        if grouping.left_out:
            notes.append(f"{grouping.left_out:,} more, with fewer facts, are not shown.")
        if grouping.by == "year" and len(grouping.groups) > 1:
            yield _years(finding, grouping)
        yield groups_section(
            grouping,
            overall=None if place else finding.overall,
            chance=finding.chance,
            silent=finding.has_silence,
            title=f"By {grouping.by}, of the facts asked",
            notes=notes,
        )
        if grouping.by == "relation":
            yield from _dots(finding)


def detail_sections(finding: Finding) -> list[Section]:
    """Return the probe's own tables."""
    return [table_section(table) for table in finding.tables]


def origin_lines(finding: Finding) -> list[str]:
    """Return the settings that the figures depend on."""
    about = finding.about
    config = msgspec.json.encode(about.described, order="sorted").decode()
    versions = msgspec.json.encode(about.versions, order="sorted").decode()
    return [
        f"name      {about.name}",
        f"model     {about.model}",
        f"seed      {about.seed}",
        f"as of     {_date(about.as_of)}",
        f"versions  {versions}",
        f"probe     {config}",
    ]


def _believed(finding: Finding, word: BeliefWord, rows: Sequence[ShownFact], *, explained: bool) -> Section:
    around = "" if finding.about.rounds is None else " and those on facts around it"
    luck = "" if finding.chance is None else ", and a guesser would hardly have had as many right answers"
    note = (
        f"θ is the probability that the model fails on the fact, learned from its own answers{around}. Surely: the"
        f" {CREDIBILITY:.0%} interval of θ is above one half; or it is below one half{luck}."
    )
    return Section(
        "believed",
        believed_title(finding, word),
        {"rows": rows, "credibility": CREDIBILITY},
        [note] if explained else [],
        short=word.value.capitalize(),
    )


def _share_card(share: Share, says: str) -> Card:
    ends = (f"{100 * share.low:.0f}", f"{100 * share.high:.0f}")
    return Card(f"{share.value:.0%}", says.format(*ends), share.value, share.low, share.high)


def _asked(finding: Finding) -> str:
    about = finding.about
    rounds = "" if about.rounds is None else f", in {counted(about.rounds, 'round')}"
    sampling = f" (sampling: {about.sampling})" if about.sampling else ""
    return (
        f"{counted(finding.asked, 'question')} about {counted(finding.overall.facts, 'fact')}{rounds} by the probe"
        f" “{about.asked_by}”{sampling}; facts as of {_date(about.as_of)}."
    )


def _rates_note(finding: Finding) -> str:
    note = f"Share of facts, with {CONFIDENCE:.0%} Wilson intervals"
    if finding.chance is not None:
        note += "; dashed: chance level"
    note += "."
    if finding.has_silence:
        note += " Refusals and answers off the format count as wrong; the last column leaves them out."
    return note


def _dots(finding: Finding) -> Iterator[Section]:
    dotted = dotted_map(finding.facts)
    if len(dotted.entities) > 1:
        facts = counted(dotted.facts, "fact")
        note = f"{dotted.shown:,} of {facts} belong to these relations and entities, the largest ones."
        yield Section("dots", "Relations at entities", {"map": dotted}, [note, *_caveat(finding)])


def _years(finding: Finding, grouping: Grouping) -> Section:
    note = f"Win rate by the year of a fact, with {CONFIDENCE:.0%} Wilson intervals"
    note += "; dashed: chance level." if finding.chance is not None else "."
    return Section(
        "years", "Over time", {"groups": grouping.groups, "chance": finding.chance}, [note, *_caveat(finding)]
    )


def _caveat(finding: Finding) -> list[str]:
    return [finding.about.caveat] if finding.about.caveat else []


def _date(day: int) -> str:
    return f"{day // 10000:04}-{day // 100 % 100:02}-{day % 100:02}"


def write_result_page(examined: Examined, path: Path) -> Path:
    """Write the page of one result and return its path. Names and notes are shown as text.

    Raises:
        KgprobeError: it cannot be written.
    """
    finding = examined.finding
    return write_results_page(
        path, finding_title(finding), finding_lead(finding), result_sections(examined), [examined]
    )


def write_results_page(
    path: Path, title: str, lead: Sequence[str], sections: Sequence[Section], examined: Sequence[Examined]
) -> Path:
    """Write a page: the first section, the picture of the graph, the other sections, and all asked facts.

    Raises:
        KgprobeError: it cannot be written.
    """
    packed = pack_facts([AskedOf(result.label, result.finding.about.asked_by, result.asked) for result in examined])
    labels = {"results": [result.label for result in examined]}
    first, rest = sections[:1], sections[1:]
    facts = Section("asked", "Every asked fact", labels, packed.notes)
    how = Section(
        "how",
        "How it was made",
        {"parts": {f"Settings of {result.label}": origin_lines(result.finding) for result in examined}},
    )
    return write_page(
        path,
        title,
        lead,
        [*first, picture_section(labels["results"]), *rest, facts, how],
        data=packed.data,
        script="asked.js",
    )


def picture_section(labels: Sequence[str]) -> Section:
    """Return the section in which the page's script draws the graph around an entity."""
    note = "Starts at the entity with the most surely unknown facts. Click an entity to go there; drag to move."
    return Section("picture", "The graph around unknown facts", {"results": labels}, [note], short="The graph")


def result_sections(examined: Examined) -> list[Section]:
    """Return the sections of one result: its finding, and the age of its outdated answers."""
    sections = finding_sections(examined.finding)
    if examined.outdated.outdated:
        # Before the known facts, which end a finding.
        place = next(place for place, section in enumerate(sections) if section.short == "Surely known")
        sections[place:place] = outdated_sections(examined.outdated)
    return [replace(section, of=examined.label) for section in sections]


def outdated_sections(outdated: OutdatedAnswers) -> list[Section]:
    """Return sections on answers that were right in the past: their number and age."""
    says = f"of {counted(outdated.facts, 'fact')}: the model predicted a former object"
    part = outdated.outdated / outdated.facts
    cards = [Card(f"{part:.1%}", says, part)]
    if outdated.median is None:
        return [Section("cards", "Outdated answers", {"cards": cards})]
    says = f"median time since they ceased to be right ({outdated.dated:,} of {outdated.outdated:,} have a date)"
    cards.append(Card(f"{outdated.median:.1f} years", says, outdated.median))
    rows = [{"years ago": group.years, "answers": group.answers} for group in outdated.ages]
    return [
        Section("cards", "Outdated answers", {"cards": cards}),
        replace(table_section(Table("outdated_ages", "How long ago they ceased to be right", rows)), listed=False),
    ]
