"""Escape foreign texts for terminals, message files and spreadsheets.

All messages, tables and CSV files are escaped here. No label, file name or server can send control codes to a terminal
or a formula to a spreadsheet.
"""

import re
import unicodedata

# Bidirectional control characters, with which a label could reorder the text of the terminal, and line separators.
_HIDDEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")

# Spreadsheets read a text that begins so as a formula, except dates and numbers.
_FORMULA = re.compile(r"(?![+-][0-9]+(?:\.[0-9]+)?(?:-[0-9]{2}){0,2}\Z)[=+@\t\r-]")


def visible(text: str, keep: str = "") -> str:
    """Escape control characters, bidirectional controls and lone surrogates, as Python does.

    Args:
        keep: control characters that are not escaped, such as line breaks.
    """
    if text.isprintable():
        return text
    shown = []
    for character in text:
        hidden = unicodedata.category(character) in ("Cc", "Cs") or character in _HIDDEN
        escaped = hidden and character not in keep
        shown.append(character.encode("unicode_escape").decode() if escaped else character)
    return "".join(shown)


def visible_lines(text: str) -> str:
    """Escape a text as :func:`visible` does, but keep its line breaks."""
    return visible(text, keep="\n")


def spreadsheet_cell(value: object) -> object:
    """Return a cell for CSV; a text that spreadsheets would read as a formula gets a leading apostrophe."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def counted(number: int, thing: str) -> str:
    """Return a number with its noun in singular or plural.

    >>> counted(1, "round"), counted(1200, "round")
    ('1 round', '1,200 rounds')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
