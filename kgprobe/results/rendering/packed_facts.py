"""Facts in the data of a page: columns of numbers and one list of texts, compressed.

The script ``pages/unpack.js`` unpacks them. Texts are in alphabetical order, so that places sort as texts do. Entities
are distinguished by their ids, even if they share a label.
"""

import base64
import math
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import pandas as pd

from kgprobe.base.sanitize import visible, visible_lines
from kgprobe.beliefs.summary import BeliefWord

# Maximum number of alternatives per fact, the most probable ones.
NAMES = 10
FEWER_NAMES = 3
# Maximum characters of a text. Long prompts lose their beginning, because the question is at their end.
_LONGEST = 2_000
_CUT = 200
# Maximum characters of base64, so that a page stays below 15 MB.
ROOM = 13_500_000

_BELIEFS = [word.value for word in BeliefWord]
_OF_TEXTS = ("relation", "question", "answer", "prediction", "text", "prompt")
_OF_EXPECTED = ("result", "subject", "relation", "object", "known")
_SHARES = ("known", "known_low", "known_high")


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """The facts of one result.

    Attributes:
        probe: how it asked.
        facts: its asked facts, as those of a finding.
        expected: facts of the graph without answers: ids and labels as of asked ones, and the probability of knowing.
        types: label of the type of an entity by its id; may lack entities.
        links: shares known by types: rows of subject type, relation, object type, facts, asked, known (None if none was
            asked), and True if it is estimated over the graph.
    """

    probe: str
    facts: pd.DataFrame
    expected: pd.DataFrame | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[tuple[str, str, str, int, int, float | None, bool]] = ()


# Results of a page by label.
Results: TypeAlias = Mapping[str, ResultFacts]


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """Facts for a page.

    Attributes:
        data: base64 of a zlib stream of JSON.
        notes: sentences on the parts that are left out.
    """

    data: str
    notes: Sequence[str]


def pack_facts(results: Results, room: int = ROOM) -> PackedFacts:
    """Pack the asked facts of results; without enough room, the longest parts are left out, with a note.

    Args:
        room: maximum characters of the data; the list of facts itself is never cut.
    """
    alternatives = chain.from_iterable(result.facts["names"] for result in results.values())
    notes = []
    if max(map(len, alternatives), default=0) > NAMES:
        notes.append(f"The {NAMES} most probable alternatives are listed; the result's file of outcomes has all.")
    attempts = (
        (NAMES, _LONGEST, ""),
        (FEWER_NAMES, _LONGEST, f"To keep the page small, it lists at most {FEWER_NAMES} alternatives per fact."),
        (FEWER_NAMES, _CUT, f"Prompts and texts are cut after {_CUT} characters, too."),
        (0, 0, "To keep the page small, alternatives and prompts are only in the result's file of outcomes."),
    )
    packed = PackedFacts("", notes)
    for names, longest, left_out in attempts:
        content = msgspec.json.encode(_Packer(names, longest).packed(results))
        data = base64.b64encode(zlib.compress(content, 9)).decode()
        packed = PackedFacts(data, [*notes, left_out] if left_out else notes)
        if len(data) <= room:
            break
    return packed


class _Packer:
    """Columns of all results, with places for texts and entities in the order of insertion."""

    def __init__(self, most: int, longest: int) -> None:
        """Start with limits: alternatives per fact; characters of prompts and texts, where 0 leaves them out."""
        self._most = most
        self._longest = longest
        self._texts: dict[str, int] = {}
        self._entities: dict[str, int] = {}
        self._labels: list[int] = []
        self._columns: defaultdict[str, list[int]] = defaultdict(list)
        self._facts: list[str] = []
        self._names: list[int] = []
        self._probabilities: list[int] = []
        self._ends: list[int] = []
        self._expected: dict[str, list[int]] = {name: [] for name in _OF_EXPECTED}
        self._links: list[tuple[int, list[int], list[int]]] = []

    def packed(self, results: Results) -> dict[str, Any]:
        """Return all data of the page, with texts and entities in alphabetical order."""
        types: dict[str, str] = {}
        for number, result in enumerate(results.values()):
            self._add(number, result.facts)
            if result.expected is not None:
                self._add_expected(number, result.expected)
            self._add_links(number, result)
            types |= result.types
        type_of = {id_: self._text(types.get(id_)) for id_ in self._entities}
        strings = sorted(self._texts, key=lambda text: (text.casefold(), text))
        moved = {self._texts[text]: place for place, text in enumerate(strings)} | {-1: -1}
        labels = _renumbered(self._labels, moved)
        order = sorted(self._entities, key=lambda id_: (labels[self._entities[id_]], id_))
        ranks = {self._entities[id_]: rank for rank, id_ in enumerate(order)}
        self._renumber(moved, ranks)
        columns = self._columns
        return {
            "rows": len(self._facts),
            "results": [{"label": visible(label), "probe": result.probe} for label, result in results.items()],
            "beliefs": _BELIEFS,
            "strings": strings,
            "entities": [labels[self._entities[id_]] for id_ in order],
            "types": [moved[type_of[id_]] for id_ in order],
            "columns": columns,
            "expected": self._expected,
            "links": [[number, *_renumbered(names, moved), *figures] for number, names, figures in self._links],
            "facts": self._facts,
            "names": _renumbered(self._names, moved),
            "probabilities": self._probabilities,
            "ends": self._ends,
            "start": _start(columns),
        }

    def _add_links(self, number: int, result: ResultFacts) -> None:
        """Add the links between types of the result with this number."""
        for subject_type, relation, object_type, *counts, known, estimated in result.links:
            names = list(map(self._text, (subject_type, relation, object_type)))
            share = -1 if known is None else round(1000 * known)
            self._links.append((number, names, [*counts, share, int(estimated)]))

    def _renumber(self, moved: Mapping[int, int], ranks: Mapping[int, int]) -> None:
        """Replace the numbers of texts and entities in all columns by their final ones."""
        columns = self._columns
        for name in _OF_TEXTS:
            columns[name] = _renumbered(columns[name], moved)
        for own in (columns, self._expected):
            for end in ("subject", "object"):
                own[end] = _renumbered(own[end], ranks)
        self._expected["relation"] = _renumbered(self._expected["relation"], moved)

    def _add(self, result: int, facts: pd.DataFrame) -> None:
        """Add the facts of the result with this number."""
        self._facts += map(visible, facts["fact"])
        columns = self._columns
        columns["result"] += [result] * len(facts)
        columns["relation"] += map(self._label, facts["relation"], facts["relation_label"])
        for end in ("subject", "object"):
            columns[end] += map(self._entity, facts[end], facts[f"{end}_label"])
        for name in ("question", "answer", "prediction"):
            columns[name] += map(self._text, facts[name])
        for name in ("right", "wrong"):
            columns[name] += map(int, facts[name])
        for name in _SHARES:
            columns[name] += [round(1000 * value) for value in facts[name]]
        columns["belief"] += map(_BELIEFS.index, facts["belief"])
        columns["probability"] += map(probability_code, facts["probability"])
        columns["text"] += map(self._long_text, facts["text"])
        columns["prompt"] += map(self._prompt, facts["prompt"], facts["question"])
        columns["more"] += [max(0, len(names) - self._most) for names in facts["names"]]
        for names in facts["names"]:
            for name, probability in names[: self._most]:
                self._names.append(self._place(visible(name)))
                self._probabilities.append(probability_code(probability))
            self._ends.append(len(self._names))

    def _add_expected(self, result: int, facts: pd.DataFrame) -> None:
        """Add the facts that the result with this number expects."""
        columns = self._expected
        columns["result"] += [result] * len(facts)
        columns["relation"] += map(self._label, facts["relation"], facts["relation_label"])
        for end in ("subject", "object"):
            columns[end] += map(self._entity, facts[end], facts[f"{end}_label"])
        columns["known"] += [round(1000 * value) for value in facts["known"]]

    def _place(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _label(self, id_: str, label: str | None) -> int:
        return self._place(visible(label or id_))

    def _entity(self, id_: str, label: str | None) -> int:
        if id_ not in self._entities:
            self._entities[id_] = len(self._entities)
            self._labels.append(self._label(id_, label))
        return self._entities[id_]

    def _text(self, text: str | None) -> int:
        return -1 if text is None else self._place(visible(text))

    def _long_text(self, text: str | None) -> int:
        if not text or not self._longest:
            return -1
        # The question is at the end of a prompt.
        return self._place(visible_lines(text if len(text) <= self._longest else f"… {text[-self._longest :]}"))

    def _prompt(self, prompt: str, question: str) -> int:
        # Many prompts equal the question, except for the ellipsis at its end.
        prompt = prompt.strip()
        return -1 if prompt == question.removesuffix("…").strip() else self._long_text(prompt)


def _renumbered(places: Sequence[int], new: Mapping[int, int]) -> list[int]:
    return [new[place] for place in places]


def probability_code(value: float | None) -> int:
    """Return a probability with three digits as an integer: -1 for None, 0 for zero, 2340 for 3.4e-2, 100 for one.

    >>> probability_code(0.034), probability_code(1.0), probability_code(None)
    (2340, 100, -1)
    """
    if value is None or math.isnan(value):
        return -1
    if value <= 0:
        return 0
    mantissa, exponent = f"{value:.2e}".split("e")
    return 1000 * -int(exponent) + round(100 * float(mantissa))


def _start(columns: Mapping[str, list[int]]) -> tuple[int, int]:
    """Return the first view of the picture: the entity with most surely unknown facts, and their result."""
    worth = {_BELIEFS.index("surely unknown"): 1.0, _BELIEFS.index("leans unknown"): 0.1}
    weights: defaultdict[tuple[int, int], float] = defaultdict(float)
    rows = zip(*(columns[name] for name in ("result", "subject", "object", "belief")), strict=True)
    for result, subject, object_, belief in rows:
        for end in {subject, object_}:
            weights[end, result] += worth.get(belief, 0.001)
    return min(weights, key=lambda key: (-weights[key], key))
