"""Rows as neo4j-admin reads them: comma-separated, every text in quotation marks, arrays by a control character.

A text may hold whatever it likes: quotation marks are doubled, a backslash means itself, a line break stands in a file
of its own kind (:mod:`.row_files`). Nothing between two commas is no value, ``""`` is the empty text. An array cannot
say everything: where it is empty, has the empty text alone, or an element with the delimiter in it, the column is left
empty, and :func:`array_fits` says so.
"""

import re
from collections.abc import Sequence
from math import isfinite, isnan

ARRAY_DELIMITER = "\x1f"
# As an option of the command line takes it.
ARRAY_DELIMITER_NAME = "U+001F"

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(?:,|\Z)')


def quoted(text: str) -> str:
    """A text as a column."""
    return '"' + text.replace('"', '""') + '"'


def optional(text: str | None) -> str:
    """A text, or none, as a column."""
    return "" if text is None else quoted(text)


def array_fits(texts: Sequence[str]) -> bool:
    """Whether a column can say these, of an array that is not empty."""
    return ARRAY_DELIMITER not in "".join(texts) and (len(texts) > 1 or texts[0] != "")


def array(texts: Sequence[str]) -> str:
    """Texts as a column, where they fit; else nothing."""
    return quoted(ARRAY_DELIMITER.join(texts)) if texts and array_fits(texts) else ""


def decimal(number: float | None) -> str:
    """A number as a column of Java's doubles."""
    if number is None:
        return ""
    if isfinite(number):
        return repr(float(number))
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


def columns_of(row: str) -> list[str]:
    """The columns of a row without its line break; nothing and the empty text are both empty."""
    columns = []
    position = 0
    while True:
        found = _FIELD.match(row, position)
        if found is None:
            raise ValueError(f"no row of ours: {row[position : position + 80]!r}")
        quoted_text, plain = found.groups()
        columns.append(plain if quoted_text is None else quoted_text.replace('""', '"'))
        position = found.end()
        if not found[0].endswith(",") or position == len(row) + 1:
            return columns
        if position == len(row):
            return [*columns, ""]
