"""A finding on the terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.finding import CONFIDENCE, Finding, Judged, Share
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.report.rows import visible


def print_finding(finding: Finding, console: Console, shown: int = 10) -> None:
    """Print a finding: rates overall and per relation, and the facts most surely unknown and known."""
    console.print(finding_table(finding, shown))


def finding_table(finding: Finding, shown: int) -> RenderableType:
    """The tables of a finding.

    Args:
        shown: facts to list as known and as unknown, at most each.
    """
    head = Text(visible(f"{finding.model} · {finding.probe} · run {finding.run}: "), style="bold")
    head.append(f"{finding.asked:,} questions about {finding.overall.facts:,} facts in {finding.rounds} rounds")
    parts: list[RenderableType] = [head, _rates(finding)]
    for title, facts in (("Most surely unknown", finding.unknown), ("Most surely known", finding.known)):
        if facts:
            parts.append(_facts(title, facts[:shown]))
    if finding.unaskable:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in finding.unaskable.items())
        parts.append(Text(visible(f"Not askable: {reasons}")))
    return Group(*parts)


def _rates(finding: Finding) -> Table:
    table = Table(
        title=f"Own answers, with {CONFIDENCE:.0%} intervals", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("relation")
    table.add_column("facts", justify="right")
    table.add_column("win rate", justify="right")
    table.add_column("zero-sense rate", justify="right")
    for group in (finding.overall, *finding.relations):
        cells = [visible(group.name), f"{group.facts:,}", percent(group.win_rate), percent(group.zero_sense_rate)]
        table.add_row(
            *map(Text, cells), style="bold" if group is finding.overall else "", end_section=group is finding.overall
        )
    if finding.chance is not None:
        table.caption = f"Guessing at random would be right on {finding.chance:.1%} of the questions."
        table.caption_justify = "left"
    return table


def _facts(title: str, facts: Sequence[Judged]) -> Table:
    won = any(fact.winner for fact in facts)
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
        cells = [f"{fact.prompt} …", fact.object, *([fact.winner or "—"] if won else []), f"{fact.right}:{fact.wrong}"]
        theta = f"{fact.theta:.2f} [{fact.low:.2f}, {fact.high:.2f}]"
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(theta))
    return table


def percent(share: Share) -> str:
    """A share with its interval, in per cent."""
    return f"{100 * share.value:.0f}% [{100 * share.low:.0f}, {100 * share.high:.0f}]"
