"""Templates from public collections of patterns, as relations.

Five kinds of files are read, plain or compressed (.gz, .bz2, .zst): the first is one JSON object, the others are JSON
lines.

- BEAR's ``metadata_relations.json``, or its folder (:mod:`.bear`);
- LAMA's: ``{"relation": "P19", "template": "[X] was born in [Y] .", "label": …}``, a relation a line;
- ParaRel's: ``{"pattern": "[X] was born in [Y].", …}``, a pattern a line, a file for each relation, named after it;
- mined ones, such as LPAQ's: ``{"relation": "P19", "template": "[X] , born in [Y]", "weight": 0.3}``, a template a
  line, or ``{"relation": "P19", "templates": {"[X] , born in [Y]": 0.3}}``, a relation a line; without ``relation``,
  the file is named after it;
- our own tables', with ``bear_templates`` and ``pararel_patterns``: ``{"id": "P19", "bear_templates": […], …}``.

What was mined is asked the best first, by its weight; only what ends in the object can be. Of the others, a pattern
with the object at its end becomes a cloze, any other a statement. Patterns in the past stay among the others, as they
suit what has no end (*was born in*); `kgprobe templates check` tells where facts can end and both are there.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from kgprobe.records import Rejected, Relation
from kgprobe.sanitize import visible
from kgprobe.sources.decoding import DECODING_ERRORS
from kgprobe.sources.lines import InputFile, open_input
from kgprobe.verbalize.templates.bear import FILE, is_metadata, read_metadata
from kgprobe.verbalize.templates.kinds import check_template

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


@dataclass(frozen=True, slots=True)
class SortedPatterns:
    """Patterns by what they are, each kind in their order.

    Attributes:
        clozes: those that end in ``[Y]``, without a full stop.
        statements: the others, with one.
        unfit: why those that are left are no templates, by pattern.
    """

    clozes: tuple[str, ...]
    statements: tuple[str, ...]
    unfit: Mapping[str, str]


class _Read(NamedTuple):
    """What a record of a file says of a relation."""

    id: str
    label: str
    description: str
    patterns: tuple[str, ...]
    weights: tuple[float, ...] = ()


@dataclass(slots=True)
class _Gathered:
    """What files say of a relation: patterns with the place where each stands first, and weights of mined ones."""

    label: str = ""
    description: str = ""
    patterns: dict[str, str] = field(default_factory=dict)
    mined: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def best_first(self) -> list[str]:
        return sorted(self.mined, key=lambda text: -self.weights[text])


def read_patterns(paths: Sequence[Path], mined: Sequence[Path] = ()) -> Patterns:
    """Read files of patterns; what several say of one relation is put together.

    Args:
        mined: files of patterns that were mined from a corpus, and need not be sentences.

    Raises:
        KgprobeError: a file cannot be read at all.
    """
    gathered: dict[str, _Gathered] = {}
    problems: list[str] = []
    for number, path in enumerate([*paths, *mined]):
        file = open_input(path / FILE if os.path.isdir(path) else path)
        for line, read in _of_bear(file) if is_metadata(file) else _of_lines(file):
            place = f"{file.name}, line {line}"
            if isinstance(read, str):
                problems.append(f"{place}: {read}.")
                continue
            its = gathered.setdefault(read.id, _Gathered())
            its.label, its.description = its.label or read.label, its.description or read.description
            for pattern, weight in zip_longest(read.patterns, read.weights, fillvalue=0.0):
                text = tidied(str(pattern))
                (its.patterns if number < len(paths) else its.mined).setdefault(text, place)
                its.weights[text] = max(float(weight), its.weights.get(text, -math.inf))
    relations = []
    for identifier, its in gathered.items():
        by_hand, from_corpus = sort_patterns(its.patterns), sort_mined(its.best_first())
        for places, unfit in ((its.patterns, by_hand.unfit), (its.mined, from_corpus.unfit)):
            problems += [f"{places[text]}: {identifier}: {text!r} {why}." for text, why in unfit.items()]
        relations.append(
            Relation(
                id=identifier,
                label=its.label,
                description=its.description,
                clozes=by_hand.clozes,
                mined_clozes=from_corpus.clozes,
                statements=by_hand.statements,
            )
        )
    return Patterns(relations, problems)


def tidied(pattern: str) -> str:
    """Without the full stop at its end, and without spaces in front of punctuation marks."""
    text = " ".join(pattern.split())
    return re.sub(r" (?=[.,;:?!](?: |$)|['’]s\b)", "", text).removesuffix(".").rstrip()


def sort_patterns(patterns: Iterable[str]) -> SortedPatterns:
    """Patterns as templates of the kinds that they can be.

    Args:
        patterns: as :func:`tidied` gives them.
    """
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
    """Mined patterns: those that end in the object are clozes, the others unfit.

    Args:
        patterns: as :func:`tidied` gives them.
    """
    problems = {pattern: ", ".join(check_template("mined_cloze", pattern)) for pattern in patterns}
    clozes = tuple(pattern for pattern, why in problems.items() if not why)
    return SortedPatterns(clozes, (), {pattern: why for pattern, why in problems.items() if why})


def _of_bear(file: InputFile) -> Iterator[tuple[int, _Read | str]]:
    for line, read in read_metadata(file):
        if isinstance(read, Rejected):
            yield line, read.reason
        else:
            yield line, _sound(_Read(read.id, read.label, read.description, read.templates))


def _of_lines(file: InputFile) -> Iterator[tuple[int, _Read | str]]:
    """What each line says of a relation; in place of one that cannot be read, why."""
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line.reason
        elif line.strip():
            try:
                yield number, _sound(_read(_decoded(line), file.path.stem))
            except ValueError as error:
                yield number, str(error)


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except DECODING_ERRORS as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(read, dict):
        raise ValueError("no JSON object")
    return read


def _read(read: dict[str, Any], stem: str) -> _Read:
    """What an object says of a relation.

    Raises:
        ValueError: it is of none of the forms; the message says what is expected.
    """
    weights: list[Any] = []
    if "pattern" in read:
        identifier, patterns = stem, [read["pattern"]]
    elif "template" in read:
        identifier, patterns, weights = read.get("relation", stem), [read["template"]], [read.get("weight", 0)]
    elif isinstance(read.get("templates"), dict):
        identifier, patterns, weights = read.get("relation", stem), [*read["templates"]], [*read["templates"].values()]
    elif "id" in read:
        lists = [read.get(name) or [] for name in ("bear_templates", "pararel_patterns")]
        if not all(isinstance(given, list) for given in lists):
            raise ValueError("`bear_templates` and `pararel_patterns` are lists of texts")
        identifier, patterns = read["id"], [pattern for given in lists for pattern in given]
    else:
        raise ValueError(
            "neither `relation` and `template` (LAMA), `templates` with weights (LPAQ), `pattern` (ParaRel) nor `id`"
            " with `bear_templates` or `pararel_patterns`, but"
            f" {', '.join(map(repr, list(read)[:_NAMED])) or 'nothing'}; BEAR's file is called {FILE}"
        )
    for text in (identifier, *patterns):
        if not isinstance(text, str) or not text:
            raise ValueError(f"a text is expected, not {text!r}")
    for weight in weights:
        if not isinstance(weight, (int, float)) or isinstance(weight, bool) or weight != weight:
            raise ValueError(f"a number is expected for a weight, not {weight!r}")
    label, description = str(read.get("label") or ""), str(read.get("description") or "")
    return _Read(identifier, label, description, tuple(patterns), tuple(map(float, weights)))


def _sound(read: _Read) -> _Read | str:
    if not all(text.isprintable() or _is_sound(text) for text in (*read[:3], *read.patterns)):
        return "a text of it has control characters or half a character (a lone surrogate)"
    return read


def _is_sound(text: str) -> bool:
    """Whether a text can be written to a file, and be read without a terminal being steered; line breaks are spaces."""
    return visible(text, keep="\t\n\r") == text
