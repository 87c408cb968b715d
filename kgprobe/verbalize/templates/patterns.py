"""Templates from public collections of patterns, as relations.

Four kinds of files are read, plain or compressed (.gz, .bz2): the first is one JSON object, the others are JSON lines.

- BEAR's ``metadata_relations.json``, or its folder: ``{"P19": {"templates": ["[X] was born in [Y].", …], …}, …}``;
- LAMA's: ``{"relation": "P19", "template": "[X] was born in [Y] .", "label": …}``, a relation a line;
- ParaRel's: ``{"pattern": "[X] was born in [Y].", …}``, a pattern a line, a file for each relation, named after it;
- our own tables', with ``bear_templates`` and ``pararel_patterns``: ``{"id": "P19", "bear_templates": […], …}``.

A pattern with the object at its end becomes a cloze, any other a statement. Patterns in the past stay among the others,
as they suit what has no end (*was born in*); `kgprobe templates check` tells where facts can end and both are there.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgprobe.records import Rejected, Relation
from kgprobe.sources.decoding import DECODING_ERRORS
from kgprobe.sources.lines import LINE_LIMIT, InputFile, open_input
from kgprobe.texts import visible
from kgprobe.verbalize.templates.kinds import check_template

# Where a folder of BEAR has its templates.
_OF_A_FOLDER = "metadata_relations.json"
# Keys that a message names, at most.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Patterns:
    """What files of patterns came to.

    Attributes:
        relations: in the order in which the files name them.
        problems: messages about lines and patterns that cannot be used, with file and line.
    """

    relations: Sequence[Relation]
    problems: Sequence[str]


@dataclass(slots=True)
class _Gathered:
    label: str = ""
    description: str = ""
    patterns: dict[str, str] = field(default_factory=dict)


def read_patterns(paths: Sequence[Path]) -> Patterns:
    """Read files of patterns; what several say of one relation is put together.

    Raises:
        KgprobeError: a file cannot be read at all.
    """
    gathered: dict[str, _Gathered] = {}
    problems: list[str] = []
    for path in paths:
        file = path / _OF_A_FOLDER if os.path.isdir(path) else path
        for place, record in _records(open_input(file)):
            try:
                if isinstance(record, str):
                    raise ValueError(record)
                read = _read(record, file.stem)
            except ValueError as error:
                problems.append(f"{place}: {error}.")
                continue
            for identifier, label, description, patterns in read:
                its = gathered.setdefault(identifier, _Gathered())
                its.label, its.description = its.label or label, its.description or description
                for pattern in patterns:
                    its.patterns.setdefault(_tidied(pattern), place)
    relations = []
    for identifier, its in gathered.items():
        relation, unfit = _relation(identifier, its)
        problems += unfit
        relations.append(relation)
    return Patterns(relations, problems)


def _records(file: InputFile) -> Iterator[tuple[str, Any]]:
    """Each object of a file with its place in words; in place of one that cannot be read, why, as a text."""
    lines = file.lines()
    for number, line in lines:
        place = f"{file.name}, line {number}"
        if isinstance(line, Rejected):
            yield place, line.reason
            continue
        if not line.strip():
            continue
        if line.strip() == b"{":
            # One object over many lines.
            whole = bytearray(line)
            for _, rest in lines:
                whole += b"\n" + rest if isinstance(rest, bytes) else b""
                if len(whole) > LINE_LIMIT:
                    break
            yield file.name, _decoded(bytes(whole))
            return
        yield place, _decoded(line)


def _decoded(text: bytes) -> Any:
    if len(text) > LINE_LIMIT:
        return f"longer than {LINE_LIMIT // 2**20} MiB, which no collection of patterns is"
    try:
        read = json.loads(text)
    except DECODING_ERRORS as error:
        return f"no JSON: {error}"
    return read if isinstance(read, dict) else "no JSON object"


def _read(read: dict[str, Any], stem: str) -> list[tuple[str, str, str, list[str]]]:
    """Relations' ids, labels and descriptions, and patterns of them.

    Raises:
        ValueError: the object is of none of the forms; the message says what is expected.
    """
    if "pattern" in read:
        found = [(stem, read, [read["pattern"]])]
    elif "relation" in read and "template" in read:
        found = [(read["relation"], read, [read["template"]])]
    elif "id" in read:
        lists = [read.get(name) or [] for name in ("bear_templates", "pararel_patterns")]
        if not all(isinstance(given, list) for given in lists):
            raise ValueError("`bear_templates` and `pararel_patterns` are lists of texts")
        found = [(read["id"], read, [pattern for given in lists for pattern in given])]
    elif read and all(isinstance(its, dict) and isinstance(its.get("templates"), list) for its in read.values()):
        found = [(identifier, its, its["templates"]) for identifier, its in read.items()]
    else:
        raise ValueError(
            "neither `relation` and `template` (LAMA) nor `pattern` (ParaRel) nor `id` with `bear_templates` or"
            " `pararel_patterns`, nor relations with `templates` each (BEAR), but"
            f" {', '.join(map(repr, list(read)[:_NAMED])) or 'nothing'}"
        )
    relations = []
    for identifier, its, patterns in found:
        for text in (identifier, *patterns):
            if not isinstance(text, str) or not text:
                raise ValueError(f"a text is expected, not {text!r}")
        label, description = str(its.get("label") or ""), str(its.get("description") or "")
        if not all(text.isprintable() or _is_sound(text) for text in (identifier, label, description, *patterns)):
            raise ValueError("a text of it has control characters or half a character (a lone surrogate)")
        relations.append((identifier, label, description, patterns))
    return relations


def _is_sound(text: str) -> bool:
    """Whether a text can be written to a file, and be read without a terminal being steered; line breaks are spaces."""
    return visible(text, keep="\t\n\r") == text


def _tidied(pattern: str) -> str:
    """Without the full stop at its end, and without spaces in front of punctuation marks."""
    text = " ".join(pattern.split())
    return re.sub(r" (?=[.,;:?!](?: |$)|['’]s\b)", "", text).removesuffix(".").rstrip()


def _relation(identifier: str, gathered: _Gathered) -> tuple[Relation, list[str]]:
    clozes, statements, problems = [], [], []
    for pattern, place in gathered.patterns.items():
        if not check_template("cloze", pattern):
            clozes.append(pattern)
        elif unfit := check_template("statement", f"{pattern}."):
            problems.append(f"{place}: {identifier}: {pattern!r} {', '.join(unfit)}.")
        else:
            statements.append(f"{pattern}.")
    return Relation(
        id=identifier,
        label=gathered.label,
        description=gathered.description,
        clozes=tuple(clozes),
        statements=tuple(statements),
    ), problems
