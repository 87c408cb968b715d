"""Checks of values for all formats: ids, texts, intervals."""

import re
from collections.abc import Iterable

from kgprobe.dates import UNKNOWN, first_day, last_day

# Longest id: engines limit index entries to a few thousand bytes.
ID_LIMIT = 1000

# Line breaks and other control characters, which must not reach prompts and terminals; without those that join emoji
# or change the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_GAPS = re.compile("[ \x00-\x1f\x7f-\x9f\u2028\u2029]+")


def tidy(text: str) -> str:
    """Return a text in one line: control characters become a space, and white space at the ends is removed."""
    if _CONTROLS.search(text):
        text = _GAPS.sub(" ", text)
    return text.strip()


def tidy_all(texts: Iterable[str], without: str = "") -> tuple[str, ...]:
    """Return tidied texts in their order, without duplicates, empty texts and the text ``without``."""
    kept = dict.fromkeys(map(tidy, texts))
    kept.pop("", None)
    kept.pop(without, None)
    return tuple(kept)


def check_id(identifier: str, noun: str = "id") -> str:
    """Return an id if it is valid.

    Args:
        noun: noun for the id in messages.

    Raises:
        ValueError: it is empty, longer than ``ID_LIMIT`` characters, or has control characters or space at an end.
    """
    if not identifier:
        raise ValueError(f"the {noun} is empty")
    if len(identifier) > ID_LIMIT:
        raise ValueError(f"the {noun} has {len(identifier):,} characters, more than {ID_LIMIT:,}: {identifier[:40]!r}…")
    if _CONTROLS.search(identifier) or identifier != identifier.strip():
        raise ValueError(f"the {noun} contains control characters or space at an end: {identifier[:80]!r}")
    return identifier


def check_interval(start: str | None, end: str | None) -> None:
    """Raise if bounds are not dates or not in order.

    Raises:
        ValueError: a bound is not a date, or the end lies before the start.
    """
    first = first_day(start) if start is not None else None
    last = last_day(end) if end is not None else None
    if end == UNKNOWN:
        return
    if first is not None and last is not None and last < first:
        raise ValueError(f"the end {end} lies before the start {start}")


def fact_id(subject: str, relation: str, object_: str, start: str | None) -> str:
    """Return an id for a fact without one; facts of the same triple must differ in their start.

    Different facts get different ids: if a part contains a space, parts are separated by bars, and bars and backslashes
    in a part are escaped by a backslash.

    Raises:
        ValueError: the id is longer than ``ID_LIMIT`` characters.
    """
    parts = [subject, relation, object_]
    if any(" " in part for part in parts) or object_.startswith("@"):
        identifier = " | ".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
        identifier += f" | @{start}" if start is not None else " |"
    else:
        identifier = " ".join(parts) + (f" @{start}" if start is not None else "")
    return check_id(identifier, "id made of subject, relation and object")
