"""What all formats ask of the values they read: ids, texts, intervals."""

import re
from collections.abc import Iterable

from kgprobe.dates import UNKNOWN, first_day, last_day

# Engines index ids, and index entries have a limit of some thousand bytes.
ID_LIMIT = 1000

# Line breaks and other control characters, which no prompt and no terminal should meet; not the marks that join
# emoji or turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_GAPS = re.compile("[ \x00-\x1f\x7f-\x9f\u2028\u2029]+")


def tidy(text: str) -> str:
    """A text as one line: control characters count as space, no white space is left at the ends; all else stays."""
    if _CONTROLS.search(text):
        text = _GAPS.sub(" ", text)
    return text.strip()


def tidy_all(texts: Iterable[str], without: str = "") -> tuple[str, ...]:
    """Texts tidied, each once, in their order, without empty ones and without one that stands elsewhere."""
    kept = dict.fromkeys(map(tidy, texts))
    kept.pop("", None)
    kept.pop(without, None)
    return tuple(kept)


def check_id(identifier: str, what: str = "id") -> str:
    """The id, or an error that says what is wrong with it.

    Args:
        what: what the message calls it.

    Raises:
        ValueError: it is empty, longer than ``ID_LIMIT`` characters, or holds control characters or space at an end.
    """
    if not identifier:
        raise ValueError(f"the {what} is empty")
    if len(identifier) > ID_LIMIT:
        raise ValueError(f"the {what} has {len(identifier):,} characters, more than {ID_LIMIT:,}: {identifier[:40]!r}…")
    if _CONTROLS.search(identifier) or identifier != identifier.strip():
        raise ValueError(f"the {what} holds control characters or space at an end: {identifier[:80]!r}")
    return identifier


def check_interval(start: str | None, end: str | None) -> None:
    """Whether two bounds are dates and in order.

    Raises:
        ValueError: one is no date, or the end lies before the start.
    """
    first = first_day(start) if start is not None else None
    last = last_day(end) if end is not None else None
    if end == UNKNOWN:
        return
    if first is not None and last is not None and last < first:
        raise ValueError(f"the end {end} lies before the start {start}")


def fact_id(subject: str, relation: str, object_: str, start: str | None) -> str:
    """The id of a fact whose source gives it none; two terms of one triple differ by their start.

    Different facts have different ids: where an id holds a space, parts are told apart by bars, and a bar or a
    backslash within a part has a backslash in front.

    Raises:
        ValueError: it is longer than ``ID_LIMIT`` characters.
    """
    parts = [subject, relation, object_]
    if any(" " in part for part in parts) or object_.startswith("@"):
        made = " | ".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
        made += f" | @{start}" if start is not None else " |"
    else:
        made = " ".join(parts) + (f" @{start}" if start is not None else "")
    return check_id(made, "id made of subject, relation and object")
