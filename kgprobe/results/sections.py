"""Sections of pages as rows for programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kgprobe.analysis.rates import Group, Grouping
from kgprobe.report.sections import Section
from kgprobe.tables import flat_row


def section_to_dict(section: Section) -> dict[str, Any]:
    """Return a section of a page with its rows; JSON-compatible, the ends of an interval follow its value.

    >>> section_to_dict(Section("reasons", "Not askable", {"reasons": {"no name": 2}}))["rows"]
    [{'reason': 'no name', 'number': 2}]
    """
    make = _ROWS.get(section.kind)
    return {
        "title": section.title,
        "of": section.of or None,
        "rows": [] if make is None else make(section.values),
        "notes": list(section.notes),
    }


def group_row(group: Group) -> dict[str, Any]:
    """Return a group's rates; the ends of an interval follow its value."""
    rates = {"win_rate": group.win_rate, "zero_sense_rate": group.zero_sense_rate}
    heard = group.heard_win_rate
    return {
        "name": group.name,
        "facts": group.facts,
        **flat_row(rates),
        "guessed": group.guessed,
        "heard": group.heard,
        "heard_win_rate": None if heard is None else heard.value,
    }


def _cards(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    believed = values.get("believed") or {}
    return [
        *(asdict(card) for card in values["cards"]),
        *({"figure": f"{count:,}", "says": word, "value": count} for word, count in believed.items()),
    ]


def _groups(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    overall = values["overall"]
    return [group_row(group) for group in (*([overall] if overall else []), *values["grouping"].groups)]


def _dots(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    dotted = values["map"]
    return [
        {
            "relation": dotted.relations[dot.row],
            "entity": dotted.entities[dot.column],
            "facts": dot.facts,
            "share": dot.share,
            "zero_sense_rate": dot.zero_sense_rate,
        }
        for dot in dotted.dots
    ]


_ROWS: Mapping[str, Callable[[Mapping[str, Any]], list[dict[str, Any]]]] = {
    "believed": lambda values: [{**asdict(fact), "belief": fact.belief.value} for fact in values["rows"]],
    "cards": _cards,
    "dots": _dots,
    "groups": _groups,
    "reasons": lambda values: [{"reason": reason, "number": count} for reason, count in values["reasons"].items()],
    "table": lambda values: [flat_row(row) for row in values["table"].rows],
    "years": lambda values: [group_row(group) for group in values["groups"]],
}


def groups_section(
    grouping: Grouping,
    *,
    chance: float | None,
    silent: bool,
    overall: Group | None = None,
    title: str = "",
    notes: Sequence[str] = (),
) -> Section:
    """Return a section with rates of groups and their intervals.

    Args:
        chance: chance level; None if unknown.
        silent: True if there are refusals or unreadable answers; rates without them are added.
        overall: all facts, for the first row.
        title: heading; empty for the kind of the groups.
    """
    values = {"grouping": grouping, "overall": overall, "chance": chance, "silent": silent}
    return Section("groups", title or f"By {grouping.by}", values, notes)
