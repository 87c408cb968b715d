"""Results as parts of a page: a finding's, the picture of the graph, every asked fact, how old outdated answers are."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kgprobe.analysis.examined import Examined
from kgprobe.analysis.outdated import OutdatedAnswers
from kgprobe.report.finding_page import finding_lead, finding_sections, finding_title, origin_lines
from kgprobe.report.packed_facts import AskedOf, pack_facts
from kgprobe.report.page import write_page
from kgprobe.report.sections import Card, Section, table_section
from kgprobe.sanitize import counted
from kgprobe.tables import Table


def write_result_page(examined: Examined, path: Path) -> Path:
    """Write the page of one result into a folder, which is made, and give its path. Names and notes show as text.

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
    """Write a page: the first of these sections, the picture of the graph, the others, and in the end all asked facts.

    Raises:
        KgprobeError: it cannot be written.
    """
    packed = pack_facts([AskedOf(one.label, one.finding.about.asked_by, one.asked) for one in examined])
    labels = {"results": [one.label for one in examined]}
    first, rest = sections[:1], sections[1:]
    asked = Section("asked", "Every asked fact", labels, packed.notes)
    how = Section(
        "how",
        "How it was made",
        {"parts": {f"What {one.label} depends on": origin_lines(one.finding) for one in examined}},
    )
    return write_page(
        path,
        title,
        lead,
        [*first, picture_section(labels["results"]), *rest, asked, how],
        data=packed.data,
        script="asked.js",
    )


def picture_section(labels: Sequence[str]) -> Section:
    """The graph around an entity, for the script of pages to draw."""
    note = "It begins where most is surely unknown. Click an entity to go there; drag the picture to move it."
    return Section("picture", "The graph around what is unknown", {"results": labels}, [note], short="The graph")


def result_sections(examined: Examined) -> list[Section]:
    """What one result found: that of its finding, and how old its outdated answers are."""
    sections = finding_sections(examined.finding)
    if examined.outdated.outdated:
        # Before what is known, which ends a finding.
        place = next(place for place, one in enumerate(sections) if one.short == "Surely known")
        sections[place:place] = outdated_sections(examined.outdated)
    return [replace(section, of=examined.label) for section in sections]


def outdated_sections(outdated: OutdatedAnswers) -> list[Section]:
    """How many answers were right before, and how long ago."""
    says = f"of {counted(outdated.facts, 'fact')}: the model preferred what was right before"
    part = outdated.outdated / outdated.facts
    cards = [Card(f"{part:.1%}", says, part)]
    if outdated.median is None:
        return [Section("cards", "Outdated answers", {"cards": cards})]
    says = f"since the half of them ceased to be right ({outdated.dated:,} of {outdated.outdated:,} have a date)"
    cards.append(Card(f"{outdated.median:.1f} years", says, outdated.median))
    rows = [{"years ago": group.years, "answers": group.answers} for group in outdated.ages]
    return [
        Section("cards", "Outdated answers", {"cards": cards}),
        replace(table_section(Table("outdated_ages", "How long ago they ceased to be right", rows)), listed=False),
    ]
