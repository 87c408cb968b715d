"""Markdown: a comparison, for a comment on a pull request or the summary of a job, and parts of cards of data sets.

All texts of a comparison are escaped: no label can add markup, links, mentions of people or references to issues.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from kgprobe.base.sanitize import visible
from kgprobe.base.tables import Table
from kgprobe.results.rendering.checks import Check
from kgprobe.results.rendering.tables import is_number, shown

# Characters with a meaning in Markdown or HTML.
_SPECIAL = re.compile(r"[&<>|`*_\[\]()!\\~#$^{}]")
# GitHub makes links of these even in escaped form, unless a character of width zero breaks them.
_LINKED = re.compile(r"(@|\bwww|&#35;|://|\bGH-)(?=\S)")
_BREAK = "\u200b"
_MOST_CHECKS = 50
_MOST_ROWS = 10
# Characters, escaped. A comment of GitHub has at most 65,536.
_LONGEST_CELL = 300
_LONGEST = 60_000
# Order of checks.
_URGENCY = ("lost", "undecided", "kept")
# Size categories of the Hugging Face Hub, with their upper bounds (exclusive).
_BOUNDS = (10**3, 10**4, 10**5, 10**6, 10**7)
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "n>10M")


def markdown_summary(title: str, summary: str, checks: Sequence[Check], tables: Sequence[Table]) -> str:
    """Return a heading, the summary, a table of checks, and tables that can be unfolded.

    >>> print(markdown_summary("Facts", "Lost: 3.0 points.", [Check("a|b", "lost", "3.0 points lost.")], []))
    ### Facts
    <BLANKLINE>
    **Lost: 3.0 points.**
    <BLANKLINE>
    | check | verdict | |
    | --- | --- | --- |
    | a&#124;b | **lost** | 3.0 points lost. |
    <BLANKLINE>
    """
    verdict, dot, details = summary.partition(". ")
    parts = [f"### {escaped(title)}", f"**{escaped(verdict + dot).strip()}** {escaped(details)}".strip()]
    if checks:
        parts.append(_check_table(checks))
    for table in filter(lambda table: table.rows, tables):
        heading = f"<details><summary>{escaped(table.title)}</summary>"
        notes = [escaped(note) for note in table.notes]
        text = "\n\n".join([heading, _rows(table), *notes, "</details>"])
        if sum(map(len, parts)) + len(text) > _LONGEST:
            text = f"{escaped(table.title)}: too long to be shown here."
        parts.append(text)
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return a text in one line that Markdown shows as it is.

    >>> escaped("<b>*x*</b> | y")
    '&#60;b&#62;&#42;x&#42;&#60;/b&#62; &#124; y'
    """
    line = " ".join(visible(text, keep="\n\t").split())
    entities = _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", line)
    return _LINKED.sub(lambda match: match[1] + _BREAK, entities)


def _check_table(checks: Sequence[Check]) -> str:
    ordered = sorted(checks, key=lambda check: _URGENCY.index(check.verdict))
    lines = ["| check | verdict | |", "| --- | --- | --- |"]
    for check in ordered[:_MOST_CHECKS]:
        verdict = check.verdict if check.verdict == "kept" else f"**{check.verdict}**"
        lines.append(f"| {_cell(check.name)} | {verdict} | {_cell(check.text)} |")
    if len(checks) > _MOST_CHECKS:
        lines.append(f"\n{_MOST_CHECKS} of {len(checks):,} checks, lost ones first.")
    return "\n".join(lines)


def _rows(table: Table) -> str:
    columns = table.columns
    numeric = {name for name in columns if all(is_number(row[name]) or row[name] is None for row in table.rows)}
    lines = [
        f"| {' | '.join(map(_cell, columns))} |",
        f"| {' | '.join('---:' if name in numeric else '---' for name in columns)} |",
    ]
    for row in table.rows[:_MOST_ROWS]:
        cells = [_cell(shown(row[name])) for name in columns]
        lines += [f"| {' | '.join(cells)} |"]
    return "\n".join(lines)


def _cell(text: str) -> str:
    cell = escaped(text[:_LONGEST_CELL])
    while len(cell) > _LONGEST_CELL:
        text = text[: min(len(text), _LONGEST_CELL) * 3 // 4]
        cell = escaped(f"{text}…")
    return cell


def size_category(rows: int) -> str:
    """Return the size category of the Hugging Face hub.

    >>> size_category(999), size_category(1_000)
    ('n<1K', '1K<n<10K')
    """
    return _SIZES[bisect_right(_BOUNDS, rows)]


def plain(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
