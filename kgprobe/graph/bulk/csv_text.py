"""CSV for neo4j-admin: texts in quotation marks, elements of arrays separated by a control character.

A text can contain any characters: quotation marks are doubled, backslashes have no meaning, and rows with line breaks
are in a separate file (:mod:`.row_files`). An empty column is a missing value, ``""`` the empty text. Arrays that are
empty, contain only the empty text, or contain the delimiter cannot be written: their column is empty, and
:func:`array_fits` returns False.
"""

import re
from collections.abc import Sequence
from math import isfinite, isnan

ARRAY_DELIMITER = "\x1f"
# Form for the command line.
ARRAY_DELIMITER_NAME = "U+001F"

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(?:,|\Z)')


def quoted(text: str) -> str:
    """Return a text as a column."""
    return '"' + text.replace('"', '""') + '"'


def optional(text: str | None) -> str:
    """Return a text or a missing value as a column."""
    return "" if text is None else quoted(text)


def array_fits(texts: Sequence[str]) -> bool:
    """Return True if a non-empty array can be written as a column."""
    return ARRAY_DELIMITER not in "".join(texts) and (len(texts) > 1 or texts[0] != "")


def array(texts: Sequence[str]) -> str:
    """Return an array as a column, empty if it cannot be written."""
    return quoted(ARRAY_DELIMITER.join(texts)) if texts and array_fits(texts) else ""


def decimal(number: float | None) -> str:
    """Return a number as a column of Java's doubles."""
    if number is None:
        return ""
    if isfinite(number):
        return repr(float(number))
    if isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def columns_of(row: str) -> list[str]:
    """Return the columns of a row without its line break; missing values become empty texts."""
    columns = []
    position = 0
    while True:
        match = _FIELD.match(row, position)
        if match is None:
            raise ValueError(f"not a row of kgprobe: {row[position : position + 80]!r}")
        quoted_text, plain = match.groups()
        columns.append(plain if quoted_text is None else quoted_text.replace('""', '"'))
        position = match.end()
        if not match[0].endswith(",") or position == len(row) + 1:
            return columns
        if position == len(row):
            return [*columns, ""]
