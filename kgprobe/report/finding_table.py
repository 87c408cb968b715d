"""A finding on the terminal."""

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich import console as rich_console
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.analysis.rates import Grouping
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.report.finding_summary import believed_title, finding_summary
from kgprobe.report.graph_rate_tables import graph_rate_tables
from kgprobe.report.tables import reasons_note, rich_table
from kgprobe.sanitize import counted, visible
from kgprobe.stats.proportions import CONFIDENCE


def print_finding(finding: Finding, console: Console, shown: int = 10) -> None:
    """Print a finding: rates overall and per relation, and the facts that are unknown and known."""
    console.print(finding_table(finding, shown))


def finding_table(finding: Finding, shown: int) -> RenderableType:
    """The tables of a finding.

    Args:
        shown: facts to list as known and as unknown, at most each.
    """
    about = finding.about
    head = Text(visible(f"{about.called} · {about.asked_by} · {about.name}: "), style="bold")
    rounds = "" if about.rounds is None else f" in {counted(about.rounds, 'round')}"
    head.append(f"{counted(finding.asked, 'question')} about {counted(finding.overall.facts, 'fact')}{rounds}")
    parts: list[RenderableType] = [head]
    if finding.over_graph is not None:
        parts += [rich_table(table) for table in graph_rate_tables(finding.over_graph)]
    parts += [_rates(finding, grouping) for grouping in finding.groupings]
    parts += [rich_table(table) for table in finding.tables]
    for listed in (finding.unknown, finding.known):
        for word, facts in groupby(listed[:shown], key=lambda fact: fact.belief):
            parts.append(_facts(believed_title(finding, word), list(facts)))
    if finding.unaskable:
        parts.append(Text(visible(reasons_note(finding.unaskable))))
    if finding.unanswered:
        parts.append(Text(visible(reasons_note(finding.unanswered, "No answer came"))))
    return rich_console.Group(*parts)


def print_summary(finding: Finding, console: Console) -> None:
    """Print what stands out in at most ten lines, each cut at the console's width."""
    for line in finding_summary(finding, console.width):
        console.print(Text(visible(line)), no_wrap=True, overflow="ellipsis", crop=True)


def _rates(finding: Finding, grouping: Grouping) -> Table:
    first = grouping is finding.groupings[0]
    silent = finding.has_silence
    table = Table(
        title=f"By {grouping.by}, of the facts asked: own answers, with {CONFIDENCE:.0%} intervals",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column(grouping.by)
    table.add_column("facts", justify="right")
    table.add_column("win rate", justify="right")
    table.add_column("zero-sense rate", justify="right")
    if silent:
        table.add_column("win rate, heard", justify="right")
    for group in (*([finding.overall] if first else ()), *grouping.groups):
        cells = [visible(group.name), f"{group.facts:,}", str(group.win_rate), str(group.zero_sense_rate)]
        cells += [str(group.heard_win_rate) if group.heard_win_rate else "—"] if silent else []
        table.add_row(
            *map(Text, cells), style="bold" if group is finding.overall else "", end_section=group is finding.overall
        )
    notes = []
    if grouping.left_out:
        notes.append(f"{grouping.left_out:,} more have fewer facts.")
    if first and finding.chance is not None:
        notes.append(
            f"Guessing at random would be right on {finding.chance:.1%} of the questions, and have a win rate of"
            f" {finding.overall.guessed:.1%}."
        )
    if first and silent:
        notes.append("Refusals and answers off the format count as wrong; the last column leaves them out.")
    if finding.about.caveat is not None:
        notes.append(finding.about.caveat)
    table.caption, table.caption_justify = " ".join(notes) or None, "left"
    return table


def _facts(title: str, facts: Sequence[ShownFact]) -> Table:
    won = any(fact.prediction for fact in facts)
    table = Table(
        title=f"{title} (theta: probability of failing, {CREDIBILITY:.0%} interval)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("question", ratio=4, overflow="fold")
    table.add_column("answer", ratio=2, overflow="fold")
    if won:
        table.add_column("what won", ratio=2, overflow="fold")
    table.add_column("r:w", justify="right", no_wrap=True)
    table.add_column(Text("E[theta]"), justify="right", no_wrap=True)
    for fact in facts:
        cells = [fact.question, fact.answer, *([fact.prediction or "—"] if won else []), f"{fact.right}:{fact.wrong}"]
        theta = f"{fact.theta:.2f} [{fact.low:.2f}, {fact.high:.2f}]"
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(theta))
    return table
