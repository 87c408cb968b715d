"""Finding as text, on the terminal, and as files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import msgspec
import pandas as pd
from rich import box
from rich import console as rich_console
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.analysis.graph_rates import RateGroup, share_of
from kgprobe.analysis.rates import Grouping
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.files import make_folder, read_json, replacing
from kgprobe.report.tables import reasons_note, rich_table
from kgprobe.results.graph_rates import graph_rate_tables
from kgprobe.results.sections import group_row
from kgprobe.sanitize import counted, spreadsheet_cell, visible
from kgprobe.stats.proportions import CONFIDENCE

# A relation with fewer facts is not ranked.
_LEAST = 5
_RELATIONS = 3
# A relation with a wider interval is not ranked.
_WIDEST = 0.5
_FACTS = 2
# Characters of a question that are always shown.
_SHORTEST = 20


def finding_summary(finding: Finding, width: int = 80) -> list[str]:
    """Return at most ten lines on a finding; the last are the headline and its details.

    Args:
        width: characters of a line; long questions are shortened to fit.
    """
    details = [] if finding.measure is None else [f"  {finding.measure.details}"]
    return [*_lines(finding, width), finding.headline, *details]


def believed_title(finding: Finding, word: BeliefWord) -> str:
    """Return the heading of a list of facts with the same belief word, with their number."""
    return f"{word.value.capitalize()}: {finding.believed[word]:,} of {counted(finding.overall.facts, 'fact')}"


def unknown_count(finding: Finding) -> str:
    """Return how many facts are unknown, in words: surely, where any fact is, and else by their answers.

    An interval of a measurement, with one answer a fact, is never on one side of one half. "0 are surely unknown" would
    say nothing of the model.
    """
    facts = counted(finding.overall.facts, "fact")
    surely, leaning = (finding.believed[word] for word in (BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN))
    if surely:
        return f"{surely:,} of {facts} asked {'is' if surely == 1 else 'are'} surely unknown"
    was = "was" if leaning == 1 else "were"
    if finding.about.rounds is None:
        return f"{leaning:,} of {facts} {was} answered wrong, asked once each"
    return f"{leaning:,} of {facts} asked {was} not answered right more often than wrong; none is surely unknown yet"


def ranked_relations(finding: Finding) -> tuple[str, str]:
    """Return the relations that are known least and best, in words.

    Rates are over the graph where these can be estimated, and relations with a wide interval are left out; else over
    the facts asked, without relations of fewer than five. A relation that is known whole is not among the least known,
    and one that is unknown whole not among the best known. Both texts are empty where fewer than two relations have a
    rate.
    """
    if finding.over_graph is not None:
        groups = finding.over_graph.relations
        rated = [(group.rate.value, f"{group.name} {share_of(group.rate)}") for group in groups if _is_narrow(group)]
    else:
        relations = next((grouping.groups for grouping in finding.groupings if grouping.by == "relation"), ())
        rated = [
            (group.win_rate.value, f"{group.name} {group.win_rate.value:.0%} of {group.facts:,}")
            for group in relations
            if group.facts >= _LEAST
        ]
    rated.sort(key=lambda pair: pair[0])
    count = min(_RELATIONS, len(rated) // 2)
    least = [text for rate, text in rated[:count] if rate < 1]
    best = [text for rate, text in rated[::-1][:count] if rate > 0]
    return ", ".join(least), ", ".join(best)


def _is_narrow(group: RateGroup) -> bool:
    return group.rate.high - group.rate.low <= _WIDEST


def _lines(finding: Finding, width: int) -> Iterator[str]:
    about = finding.about
    rounds = "" if about.rounds is None else f" in {counted(about.rounds, 'round')}"
    questions = f"{counted(finding.asked, 'question')} about {counted(finding.overall.facts, 'fact')}{rounds}"
    # The name of a measurement repeats the model.
    yield f"{about.called if about.rounds is None else about.name}: {about.asked_by}, {questions}"
    if about.caveat is not None and finding.over_graph is not None:
        yield f"Among the asked facts (not a random sample): {finding.overall.win_rate}"
    elif about.caveat is not None:
        yield about.caveat
    least, best = ranked_relations(finding)
    yield from filter(None, [least and f"Least known: {least}", best and f"Best known: {best}"])
    for fact in finding.unknown[:_FACTS]:
        yield _shortened(fact, f"; predicted: {fact.prediction}" if fact.prediction else "", width)
    for fact in finding.known[: _FACTS - 1]:
        yield _shortened(fact, "", width)
    left_out = [
        _reasons_in_short(finding.unaskable, "could not be asked"),
        _reasons_in_short(finding.unanswered, "got no answer"),
    ]
    if any(left_out):
        yield "; ".join(filter(None, left_out))


def _reasons_in_short(reasons: Mapping[str, int], words: str) -> str:
    return f"{sum(reasons.values()):,} {words} ({next(iter(reasons))})" if reasons else ""


def _shortened(fact: ShownFact, end: str, width: int) -> str:
    """Return a fact in one line; the end of a long question is cut first."""
    begin = f"{fact.belief.value.capitalize()}: "
    end = f" → {fact.answer}{end}"
    question = " ".join(fact.question.removesuffix("…").split())
    room = max(width - len(begin) - len(end), _SHORTEST)
    return begin + (question if len(question) <= room else f"{question[: room - 1].rstrip()}…") + end


def print_finding(finding: Finding, console: Console, shown: int = 10) -> None:
    """Print a finding: rates overall and per relation, and the facts that are unknown and known."""
    console.print(finding_table(finding, shown))


def finding_table(finding: Finding, shown: int) -> RenderableType:
    """Return the tables of a finding.

    Args:
        shown: maximum number of listed facts, known and unknown each.
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
    """Print a summary of at most ten lines, each cut at the console's width."""
    for line in finding_summary(finding, console.width):
        console.print(Text(visible(line)), no_wrap=True, overflow="ellipsis", crop=True)


def _rates(finding: Finding, grouping: Grouping) -> Table:
    first = grouping is finding.groupings[0]
    silent = finding.has_silence
    table = Table(
        title=f"By {grouping.by}, of the asked facts: own answers, with {CONFIDENCE:.0%} intervals",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption=" ".join(_rates_notes(finding, grouping, first)) or None,
        caption_justify="left",
    )
    table.add_column(grouping.by)
    for heading in ("facts", "win rate", "zero-sense rate", *(["win rate, heard"] if silent else [])):
        table.add_column(heading, justify="right")
    for group in (*([finding.overall] if first else ()), *grouping.groups):
        cells = [visible(group.name), f"{group.facts:,}", str(group.win_rate), str(group.zero_sense_rate)]
        if silent:
            cells.append(str(group.heard_win_rate or "—"))
        is_overall = group is finding.overall
        table.add_row(*map(Text, cells), style="bold" if is_overall else "", end_section=is_overall)
    return table


def _rates_notes(finding: Finding, grouping: Grouping, first: bool) -> Iterator[str]:
    if grouping.left_out:
        yield f"{grouping.left_out:,} more have fewer facts."
    if first and finding.chance is not None:
        yield f"Chance level: {finding.chance:.1%} of the questions, win rate {finding.overall.guessed:.1%}."
    if first and finding.has_silence:
        yield "Refusals and answers off the format count as wrong; the last column leaves them out."
    if finding.about.caveat is not None:
        yield finding.about.caveat


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
        table.add_column("prediction", ratio=2, overflow="fold")
    table.add_column("r:w", justify="right", no_wrap=True)
    table.add_column(Text("E[theta]"), justify="right", no_wrap=True)
    for fact in facts:
        cells = [fact.question, fact.answer, *([fact.prediction or "—"] if won else []), f"{fact.right}:{fact.wrong}"]
        theta = f"{fact.theta:.2f} [{fact.low:.2f}, {fact.high:.2f}]"
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(theta))
    return table


RESULTS = "results.json"


FACTS = "facts.csv"


GROUPS = "groups.csv"


def write_finding_files(finding: Finding, folder: Path) -> list[Path]:
    """Write a finding's files into a folder, which is made; existing files are replaced.

    Returns:
        Paths: everything as JSON, all asked facts as CSV, all groups as CSV.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    groups = [
        {"by": grouping.by, **group_row(group)}
        for grouping in finding.groupings
        for group in ((finding.overall, *grouping.groups) if grouping is finding.groupings[0] else grouping.groups)
    ]
    about = asdict(finding.about)
    whole = {
        **{("config" if name == "described" else name): value for name, value in about.items()},
        **finding.to_dict(),
        "theta": finding.theta,
        "questions": finding.asked,
        "confidence_of_rates": CONFIDENCE,
        "groups": groups,
        "unaskable": finding.unaskable,
        "unanswered": finding.unanswered,
        "facts": finding.facts.to_dict("records"),
    }
    with replacing(folder / RESULTS) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1))
    for name, frame in ((FACTS, finding.facts), (GROUPS, pd.DataFrame(groups))):
        with replacing(folder / name) as unfinished:
            frame.map(spreadsheet_cell).to_csv(unfinished, index=False)
    return [folder / name for name in (RESULTS, FACTS, GROUPS)]


class _NamedFact(msgspec.Struct):
    relation: str
    relation_label: str


class _Written(msgspec.Struct):
    facts: list[_NamedFact]


def read_relation_names(folder: Path) -> dict[str, str]:
    """Return the labels of relations by id, from a finding in a folder; empty if there is none.

    Raises:
        KgprobeError: its file is damaged.
    """
    try:
        written = read_json(folder / RESULTS, _Written, "Delete it; it is written again with the next page.")
    except FileNotFoundError:
        return {}
    return {fact.relation: fact.relation_label for fact in written.facts}
