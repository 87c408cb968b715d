"""Templates from public collections of patterns, as relations.

Three kinds of files are read, all of JSON lines (plain, .gz, .bz2):

- LAMA's: ``{"relation": "P19", "template": "[X] was born in [Y] .", "label": …}``, a relation a line;
- ParaRel's: ``{"pattern": "[X] was born in [Y].", …}``, a pattern a line, a file for each relation, named after it;
- our own tables', with ``bear_templates`` and ``pararel_patterns``: ``{"id": "P19", "bear_templates": […], …}``.

A pattern with the object at its end becomes a cloze, any other a statement. Patterns in the past stay among the others,
as they suit what has no end (*was born in*); `kgprobe templates check` tells where facts can end and both are there.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgprobe.records import Rejected, Relation
from kgprobe.sources.decoding import DECODING_ERRORS
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.templates.kinds import check_template


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
        for number, line in open_input(path).lines():
            if isinstance(line, Rejected):
                problems.append(f"{path.name}, line {number}: {line.reason}.")
                continue
            if not line.strip():
                continue
            try:
                identifier, label, description, patterns = _read(line, path.stem)
            except ValueError as error:
                problems.append(f"{path.name}, line {number}: {error}.")
                continue
            its = gathered.setdefault(identifier, _Gathered())
            its.label, its.description = its.label or label, its.description or description
            for pattern in patterns:
                its.patterns.setdefault(_tidied(pattern), f"{path.name}, line {number}")
    relations = []
    for identifier, its in gathered.items():
        relation, unfit = _relation(identifier, its)
        problems += unfit
        relations.append(relation)
    return Patterns(relations, problems)


def _read(line: bytes, stem: str) -> tuple[str, str, str, list[str]]:
    """The relation's id, label and description, and patterns of it.

    Raises:
        ValueError: the line is of none of the forms; the message says what is expected.
    """
    try:
        read: Any = json.loads(line)
    except DECODING_ERRORS as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(read, dict):
        raise ValueError("no JSON object")
    if "pattern" in read:
        identifier, patterns = stem, [read["pattern"]]
    elif "relation" in read and "template" in read:
        identifier, patterns = read["relation"], [read["template"]]
    elif "id" in read:
        identifier = read["id"]
        patterns = [*(read.get("bear_templates") or ()), *(read.get("pararel_patterns") or ())]
    else:
        raise ValueError(
            "neither `relation` and `template` (LAMA) nor `pattern` (ParaRel) nor `id` with `bear_templates` or"
            f" `pararel_patterns`, but {', '.join(map(repr, read)) or 'nothing'}"
        )
    texts = [identifier, *patterns]
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(
            f"a text is expected, not {next(text for text in texts if not isinstance(text, str) or not text)!r}"
        )
    return identifier, str(read.get("label") or ""), str(read.get("description") or ""), patterns


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
