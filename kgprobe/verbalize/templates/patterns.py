"""Reader of public collections of patterns, which become templates of relations.

Six kinds of files are read, plain or compressed (.gz, .bz2, .zst): the first is one JSON object, the others are JSON
lines.

- BEAR: ``metadata_relations.json``, or its folder as the package lm-pub-quiz
  reads it: ``{"P19": {"templates": ["[X] was born in [Y].", …], "answer_space_ids": ["Q31", …], "answer_space_labels":
  ["Belgium", …]}, …}`` (Wiland, Ploner and Akbik, *BEAR: A Unified Framework for Evaluating Relational Knowledge in
  Causal and Masked Language Models*, NAACL 2024);
- LAMA: ``{"relation": "P19", "template": "[X] was born in [Y] .", "label": …}``, one relation per line;
- ParaRel: ``{"pattern": "[X] was born in [Y].", …}``, one pattern per line, one file per relation, named after it;
- mined patterns, such as LPAQ: ``{"relation": "P19", "template": "[X] , born in [Y]", "weight": 0.3}``, one template
  per line, or ``{"relation": "P19", "templates": {"[X] , born in [Y]": 0.3}}``, one relation per line; without
  ``relation``, the file is named after it;
- tables of relations with ``bear_templates`` and ``pararel_patterns``: ``{"id": "P19", "bear_templates": […], …}``;
- WikiFactDiff's sentences about example facts (:mod:`.wikifactdiff`).

Mined patterns are used by descending weight, if they end in the object. Among the others, a pattern that ends in the
object becomes a cloze, any other a statement. Patterns in the past tense are not separated, because they suit facts
without end (*was born in*); `kgprobe.check_templates` warns where a relation has both tenses and its facts can end.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from kgprobe.base.records import Rejected, Relation
from kgprobe.base.sanitize import visible
from kgprobe.sources.lines import DECODING_ERRORS, LINE_LIMIT, InputFile, explain, open_input, validation_message
from kgprobe.sources.values import check_id
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.templates.wikifactdiff import WikiFactDiffRelation, is_wikifactdiff, read_wikifactdiff

# Maximum keys in a message.
_SHOWN_KEYS = 5


@dataclass(frozen=True, slots=True)
class Patterns:
    """Relations in the order of the files, and messages about unusable lines and patterns."""

    relations: Sequence[Relation]
    problems: Sequence[str]


@dataclass(frozen=True, slots=True)
class SortedPatterns:
    """Patterns sorted by kind: clozes without, statements with full stop; problems by unusable pattern."""

    clozes: tuple[str, ...]
    statements: tuple[str, ...]
    unfit: Mapping[str, str]


class _Record(NamedTuple):
    """A record of a file: patterns of a relation with their weights, which are 0 unless given."""

    id: str
    label: str
    description: str
    patterns: Mapping[str, float]


@dataclass(slots=True)
class _Gathered:
    """Patterns of a relation with the first place of each, and the weights of mined ones."""

    label: str = ""
    description: str = ""
    patterns: dict[str, str] = field(default_factory=dict)
    mined: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)


def read_patterns(paths: Sequence[Path], mined: Sequence[Path] = ()) -> Patterns:
    """Read files of patterns, and merge each relation's; mined ones come from a corpus and need not be sentences."""
    gathered: dict[str, _Gathered] = {}
    problems: list[str] = []
    for number, path in enumerate([*paths, *mined]):
        file = open_input(path / FILE if os.path.isdir(path) else path)
        for line, record in _records(file):
            place = f"{file.name}, line {line}"
            if isinstance(record, str):
                problems.append(f"{place}: {record}.")
                continue
            relation = gathered.setdefault(record.id, _Gathered())
            relation.label = relation.label or record.label
            relation.description = relation.description or record.description
            places = relation.patterns if number < len(paths) else relation.mined
            for pattern, weight in record.patterns.items():
                text = tidied(pattern)
                places.setdefault(text, place)
                relation.weights[text] = max(float(weight), relation.weights.get(text, -math.inf))
    relations = [_relation(identifier, relation, problems) for identifier, relation in gathered.items()]
    return Patterns(relations, problems)


def _relation(identifier: str, gathered: _Gathered, problems: list[str]) -> Relation:
    """Return a relation with its templates, and append the problems of the unusable patterns."""
    best_first = sorted(gathered.mined, key=lambda text: -gathered.weights[text])
    by_hand, from_corpus = sort_patterns(gathered.patterns), sort_mined(best_first)
    for places, unfit in ((gathered.patterns, by_hand.unfit), (gathered.mined, from_corpus.unfit)):
        problems += [f"{places[text]}: {identifier}: {text!r} {problem}." for text, problem in unfit.items()]
    return Relation(
        id=identifier,
        label=gathered.label,
        description=gathered.description,
        clozes=by_hand.clozes,
        mined_clozes=from_corpus.clozes,
        statements=by_hand.statements,
    )


def tidied(pattern: str) -> str:
    """Return a pattern without the full stop at its end and spaces before punctuation marks."""
    text = " ".join(pattern.split())
    return re.sub(r" (?=[.,;:?!](?: |$)|['’]s\b)", "", text).removesuffix(".").rstrip()


def sort_patterns(patterns: Iterable[str]) -> SortedPatterns:
    """Sort patterns, as :func:`tidied` returns them, into clozes and statements."""
    clozes, statements, unfit = [], [], {}
    for pattern in patterns:
        if not check_template("cloze", pattern):
            clozes.append(pattern)
        elif problems := check_template("statement", f"{pattern}."):
            unfit[pattern] = ", ".join(problems)
        else:
            statements.append(f"{pattern}.")
    return SortedPatterns(tuple(clozes), tuple(statements), unfit)


def sort_mined(patterns: Iterable[str]) -> SortedPatterns:
    """Sort mined patterns, as :func:`tidied` returns them: clozes end in the object, the others are unfit."""
    clozes, unfit = [], {}
    for pattern in dict.fromkeys(patterns):
        if problems := check_template("mined_cloze", pattern):
            unfit[pattern] = ", ".join(problems)
        else:
            clozes.append(pattern)
    return SortedPatterns(tuple(clozes), (), unfit)


def _records(file: InputFile) -> Iterator[tuple[int, _Record | str]]:
    if is_metadata(file):
        return _whole_records(read_metadata(file))
    return _whole_records(read_wikifactdiff(file)) if is_wikifactdiff(file) else _line_records(file)


def _whole_records(
    relations: Iterable[tuple[int, "BearRelation | WikiFactDiffRelation | Rejected"]],
) -> Iterator[tuple[int, _Record | str]]:
    """Yield the record of each relation that has all of its templates, without weights."""
    for line, relation in relations:
        if isinstance(relation, Rejected):
            yield line, relation.reason
        else:
            patterns = dict.fromkeys(relation.templates, 0.0)
            yield line, _sound(_Record(relation.id, relation.label, relation.description, patterns))


def _line_records(file: InputFile) -> Iterator[tuple[int, _Record | str]]:
    """Yield the record of each line, or the reason why it cannot be read."""
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line.reason
        elif line.strip():
            try:
                yield number, _sound(_record(_decoded(line), file.path.stem))
            except ValueError as error:
                yield number, str(error)


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except DECODING_ERRORS as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return record


def _record(record: dict[str, Any], stem: str) -> _Record:
    """Return the record of an object, by default of the relation ``stem`` (the file); ValueError in another format."""
    identifier = record.get("relation", stem)
    patterns: list[tuple[Any, Any]]
    if "pattern" in record:
        identifier, patterns = stem, [(record["pattern"], 0)]
    elif "template" in record:
        patterns = [(record["template"], record.get("weight", 0))]
    elif isinstance(record.get("templates"), dict):
        patterns = list(record["templates"].items())
    elif "id" in record:
        identifier, patterns = record["id"], [(pattern, 0) for pattern in _listed_patterns(record)]
    else:
        raise ValueError(
            "neither `relation` and `template` (LAMA), `templates` with weights (LPAQ), `pattern` (ParaRel) nor `id`"
            " with `bear_templates` or `pararel_patterns`, but"
            f" {', '.join(map(repr, list(record)[:_SHOWN_KEYS])) or 'nothing'}; BEAR's file is called {FILE}"
        )
    for text, weight in ((identifier, 0), *patterns):
        if not isinstance(text, str) or not text:
            raise ValueError(f"a text is expected, not {text!r}")
        # A boolean is an int for Python, and NaN differs from itself.
        if type(weight) not in (int, float) or weight != weight:
            raise ValueError(f"a number is expected for a weight, not {weight!r}")
    return _Record(identifier, str(record.get("label") or ""), str(record.get("description") or ""), dict(patterns))


def _listed_patterns(record: dict[str, Any]) -> list[Any]:
    patterns = []
    for key in ("bear_templates", "pararel_patterns"):
        listed = record.get(key) or []
        if not isinstance(listed, list):
            raise ValueError("`bear_templates` and `pararel_patterns` are lists of texts")
        patterns += listed
    return patterns


def _sound(record: _Record) -> _Record | str:
    """Return a record, or the problem if a text would corrupt a file or a terminal; line breaks count as spaces."""
    for text in (record.id, record.label, record.description, *record.patterns):
        if not text.isprintable() and visible(text, keep="\t\n\r") != text:
            return "a text of it has control characters or half a character (a lone surrogate)"
    return record


FILE = "metadata_relations.json"

_BYTE = re.compile(r"\(byte (\d+)\)")


class _Metadata(Struct):
    templates: tuple[str, ...] = ()
    label: str | None = None
    description: str | None = None
    answer_space_ids: tuple[str, ...] | None = None
    answer_space_labels: tuple[str, ...] | None = None


_decode_map = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode


@dataclass(frozen=True, slots=True)
class BearRelation:
    """Metadata of a relation, in order and unchanged; without answer space, ids and labels are None."""

    id: str
    label: str
    description: str
    templates: tuple[str, ...]
    answer_ids: tuple[str, ...] | None
    answer_labels: tuple[str, ...] | None


def is_metadata(file: InputFile) -> bool:
    """Return True for a file of BEAR's metadata, by its name or because it is one JSON object over several lines."""
    return file.name == FILE or next((line for _, line in file.lines() if line), b"") == b"{"


def read_metadata(file: InputFile) -> Iterator[tuple[int, BearRelation | Rejected]]:
    """Yield the relations of a file with their first lines; unusable ones are rejected.

    Cost: the file is held in memory, up to ``LINE_LIMIT``.
    """
    whole = bytearray()
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            return
        whole += line + b"\n"
        if len(whole) > LINE_LIMIT:
            yield number, Rejected(f"longer than {LINE_LIMIT // 2**20} MiB, the limit for metadata of a data set")
            return
    document = bytes(whole)
    try:
        parts = _decode_map(document)
    except DECODING_ERRORS as error:
        # Without a byte in the message, the last line, where truncated JSON ends.
        byte = _BYTE.search(str(error))
        text = document[: int(byte[1])] if byte else document.rstrip()
        yield text.count(b"\n") + 1, Rejected(explain(error, document))
        return
    at, line_number = 0, 1
    for identifier, part in parts.items():
        # The last of several equal keys is read, which can lie before the previous position.
        begin = max(document.find(bytes(part), at), at)
        line_number += document.count(b"\n", at, begin)
        at = begin
        try:
            yield line_number, _bear_relation(check_id(identifier, "id of a relation"), bytes(part))
        except DECODING_ERRORS as error:
            reason = (
                validation_message(error) if isinstance(error, msgspec.ValidationError) else explain(error, bytes(part))
            )
            yield line_number, Rejected(f"{identifier[:40]}: {reason}")


def _bear_relation(identifier: str, part: bytes) -> BearRelation:
    metadata = _decode_metadata(part)
    ids, labels = metadata.answer_space_ids, metadata.answer_space_labels
    if (ids is None) != (labels is None):
        missing, present = ("ids", "labels") if ids is None else ("labels", "ids")
        raise ValueError(
            f"it has `answer_space_{present}` but no `answer_space_{missing}`; both are expected, or neither"
        )
    if len(ids or ()) != len(labels or ()):
        raise ValueError(
            f"{len(ids or ())} `answer_space_ids` and {len(labels or ())} `answer_space_labels`; as many are expected"
        )
    return BearRelation(
        id=identifier,
        label=metadata.label or "",
        description=metadata.description or "",
        templates=metadata.templates,
        answer_ids=ids,
        answer_labels=labels,
    )
