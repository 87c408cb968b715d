"""Checks of values for all formats: ids, texts, names, intervals."""

import re
import unicodedata
from collections.abc import Iterable

from kgprobe.base.dates import UNKNOWN, first_day, last_day

# Longest id: engines limit index entries to a few thousand bytes.
ID_LIMIT = 1000

# Line breaks and other control characters, which must not reach prompts and terminals; without those that join emoji
# or change the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_GAPS = re.compile("[ \x00-\x1f\x7f-\x9f\u2028\u2029]+")

# Characters that print nothing, such as soft hyphens, marks of direction and byte order marks.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]"
)
# Joiners and variation selectors shape emoji and letters of other scripts, but not Latin, Greek and Cyrillic letters.
_IDLE_JOINERS = re.compile("(?<![^\0-\u058f\u1e00-\u1fff])[\u200c\u200d\ufe00-\ufe0f]+")
_OTHER_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_SPACES = re.compile(f" *[{_OTHER_SPACES}][{_OTHER_SPACES} ]*")
_PLAIN_SIGNS = str.maketrans({**dict.fromkeys("\u2018\u2019\u201b\u02bc", "'"), **dict.fromkeys("\u2010\u2011", "-")})


def plain_name(name: str) -> str:
    r"""Return a name in the form that all names have that print like it.

    This is Unicode's normal form NFC without invisible characters, with plain spaces, apostrophes and hyphens.

    >>> plain_name("New\u00a0York"), plain_name("Cote\u0302 d\u2019Ivoire\u200e")
    ('New York', "Côte d'Ivoire")
    """
    if name.isascii():
        return name
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFC", name))
    plain = _SPACES.sub(" ", plain).translate(_PLAIN_SIGNS)
    return unicodedata.normalize("NFC", _IDLE_JOINERS.sub("", plain)).strip()


def name_key(name: str) -> str:
    """Return a text that is equal for names that differ only in case or print alike."""
    folded = plain_name(name).casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def share_name(names: Iterable[str], others: Iterable[str]) -> bool:
    """Return True if two entities have a name in common that is not white space, by :func:`name_key`."""
    keys = set(filter(str.strip, map(name_key, names)))
    return not keys.isdisjoint(map(name_key, others))


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
    last = last_day(end) if end is not None and end != UNKNOWN else None
    if first is not None and last is not None and last < first:
        raise ValueError(f"the end {end} lies before the start {start}")


def fact_id(subject: str, relation: str, object_: str, start: str | None) -> str:
    """Return an id for a fact without one; facts of the same triple must differ in their start.

    Different facts get different ids: if a part contains a space, parts are separated by bars, and bars and backslashes
    in a part are escaped by a backslash.

    Raises:
        ValueError: the id is longer than ``ID_LIMIT`` characters.
    """
    identifier = f"{subject} {relation} {object_}"
    if identifier.count(" ") > 2 or object_.startswith("@"):
        parts = (subject, relation, object_)
        identifier = " | ".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
        identifier += f" | @{start}" if start is not None else " |"
    elif start is not None:
        identifier += f" @{start}"
    return check_id(identifier, "id made of subject, relation and object")
