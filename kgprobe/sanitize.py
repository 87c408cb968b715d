"""Texts that others wrote, on their way out: to a terminal, to a file of messages, to a spreadsheet.

Whatever leaves as a message, a table or CSV comes through here, so that no label, file name or server steers a terminal
or computes in a spreadsheet.
"""

import re
import unicodedata

# Characters that change how those after them are shown: they would let a label rewrite the terminal.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKS = frozenset("\u2028\u2029")

# What spreadsheets take for the beginning of a formula; dates and numbers that begin so are none.
_FORMULA = re.compile(r"(?![+-][0-9]+(?:\.[0-9]+)?(?:-[0-9]{2}){0,2}\Z)[=+@\t\r-]")


def visible(text: str, keep: str = "") -> str:
    """The text with control characters, marks of direction and lone surrogates written out, as Python does.

    Args:
        keep: control characters that stay, such as line breaks.
    """
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode() if _is_hidden(character) and character not in keep else character
        for character in text
    )


def visible_lines(text: str) -> str:
    """The same of a text of several lines."""
    return visible(text, keep="\n")


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTIONS or character in _BREAKS


def spreadsheet_cell(value: object) -> object:
    """A cell of CSV: a text that spreadsheets would take for a formula has a quotation mark in front."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def counted(number: int, thing: str) -> str:
    """``1 relation``, ``1,200 relations``.

    >>> counted(1, "round"), counted(1200, "round")
    ('1 round', '1,200 rounds')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
