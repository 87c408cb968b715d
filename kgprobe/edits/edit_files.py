"""Files of edits: the format of a file, and its records.

Formats: JSON lines or tab-separated columns with subject, relation and new object; the JSON of EasyEdit (KnowEdit,
ZsRE, CounterFact, WikiBigEdit); the JSON of CounterFact as it was published; the JSON of RippleEdits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.errors import ArgumentError

TRIPLES, EASYEDIT, COUNTERFACT, RIPPLEEDITS = "triples", "EasyEdit", "CounterFact", "RippleEdits"
COLUMNS = ("subject", "relation", "object", "old")
_LEAST = 3
# Keys of an edit's prompt and of its new object in files that EasyEdit reads.
PROMPT_KEYS, TARGET_KEYS = ("prompt", "src", "update"), ("target_new", "alt", "ans")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EditFile:
    """The records of a file of edits.

    Attributes:
        format: one of the formats above.
        records: number of the line, or of the record in a JSON array, and its content.
        problems: messages about lines that cannot be read.
    """

    format: str
    records: Sequence[tuple[int, Record]]
    problems: Sequence[str]


def read_edit_file(path: Path) -> EditFile:
    """Return the records of a file of edits. Memory: the file.

    Raises:
        ArgumentError: the file cannot be read, is not UTF-8, or is of no known format; the message names the formats
            that were tried and what each lacks.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise ArgumentError("facts", f"cannot be read: {error}.") from error
    if not text.strip():
        raise ArgumentError("facts", f"{path} is empty.")
    if text.lstrip()[0] == "[":
        records, problems = _array(path, text)
    elif text.lstrip()[0] == "{":
        records, problems = _json_lines(path, text)
    else:
        records, problems = _columns(path, text)
    counts = {name: sum(1 for _, record in records if not lacks(record)) for name, lacks in _FORMATS.items()}
    name = max(counts, key=lambda name: counts[name])
    if not counts[name]:
        raise ArgumentError("facts", _of_no_format(path, records, problems))
    fitting = []
    for number, record in records:
        lacking = _FORMATS[name](record)
        if lacking:
            problems.append(f"{path}, record {number}: as {name}, it lacks {lacking}.")
        else:
            fitting.append((number, record))
    return EditFile(name, fitting, problems)


def _array(path: Path, text: str) -> tuple[list[tuple[int, Record]], list[str]]:
    try:
        values = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ArgumentError("facts", f"{path} is not a JSON array of objects: {error}.") from error
    return list(enumerate(values, start=1)), []


def _json_lines(path: Path, text: str) -> tuple[list[tuple[int, Record]], list[str]]:
    records: list[tuple[int, Record]] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                records.append((number, msgspec.json.decode(line, type=dict[str, Any])))
            except (msgspec.DecodeError, RecursionError) as error:
                problems.append(f"{path}, line {number}: {error}.")
    return records, problems


def _columns(path: Path, text: str) -> tuple[list[tuple[int, Record]], list[str]]:
    records: list[tuple[int, Record]] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip() or (number == 1 and tuple(cells[:_LEAST]) == COLUMNS[:_LEAST]):
            continue
        if len(cells) < _LEAST or not all(cells[:_LEAST]):
            problems.append(
                f"{path}, line {number}: expected the columns subject, relation, object (new) and maybe old."
            )
        else:
            records.append((number, {name: cell for name, cell in zip(COLUMNS, cells, strict=False) if cell}))
    return records, problems


def text_of(record: Record, keys: Sequence[str]) -> str:
    """Return the first non-empty text of a record under one of some keys; empty if there is none."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _lacks_of_triples(record: Record) -> str:
    return _listed([key for key in COLUMNS[:_LEAST] if not text_of(record, [key])])


def _lacks_of_easyedit(record: Record) -> str:
    return _listed([" or ".join(keys) for keys in (PROMPT_KEYS, TARGET_KEYS) if not text_of(record, keys)])


def _lacks_of_counterfact(record: Record) -> str:
    rewrite = record.get("requested_rewrite")
    if not isinstance(rewrite, dict):
        return "requested_rewrite, an object"
    lacking = [f"requested_rewrite.{key}" for key in ("prompt", "subject") if not text_of(rewrite, [key])]
    target = rewrite.get("target_new")
    if not isinstance(target, dict) or not text_of(target, ["str"]):
        lacking.append("requested_rewrite.target_new.str")
    return _listed(lacking)


def _lacks_of_rippleedits(record: Record) -> str:
    edit = record.get("edit")
    if not isinstance(edit, dict):
        return "edit, an object"
    return _listed([f"edit.{key}" for key in ("prompt", "subject_id", "target_id") if not text_of(edit, [key])])


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys)


_FORMATS: Mapping[str, Callable[[Record], str]] = {
    TRIPLES: _lacks_of_triples,
    EASYEDIT: _lacks_of_easyedit,
    COUNTERFACT: _lacks_of_counterfact,
    RIPPLEEDITS: _lacks_of_rippleedits,
}


def _of_no_format(path: Path, records: Sequence[tuple[int, Record]], problems: Sequence[str]) -> str:
    """Return a message about a file of no format, as a clause after its argument's name."""
    if not records:
        return f"has no edits. {problems[0]}"
    number, record = records[0]
    tried = [f"as {name} it lacks {lacks(record)}" for name, lacks in _FORMATS.items()]
    return f"is of no known format. {path}, record {number}: {'; '.join(tried)}."
