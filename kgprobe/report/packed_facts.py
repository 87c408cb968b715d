"""Asked facts as a page carries them: columns of numbers and one list of texts, compressed.

What the script of pages unpacks, ``pages/asked.js``. Texts stand in the order in which people look them up, so that
places sort as texts do; entities are told apart by their ids, whatever they are called.
"""

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pandas as pd

from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.sanitize import visible, visible_lines

# Of what stood beside a right answer, so many are carried, the most probable ones.
NAMES = 10
FEWER_NAMES = 3
# Characters of a text: of a prompt with examples its end is what is asked.
_LONGEST = 2_000
_CUT = 200
# Characters of base64: what is left of a page of 15 MB for everything else.
ROOM = 13_500_000

_BELIEFS = [word.value for word in BeliefWord]


@dataclass(frozen=True, slots=True)
class AskedOf:
    """What one result asked.

    Attributes:
        label: what the result is called among the others.
        probe: how it asked.
        facts: as :func:`~kgprobe.analysis.asked_facts.asked_facts` gives them.
    """

    label: str
    probe: str
    facts: pd.DataFrame


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """Facts for a page, and what was left out of them.

    Attributes:
        data: base64 of a zlib stream of JSON.
        notes: what is not carried, in sentences.
    """

    data: str
    notes: Sequence[str]


def pack_facts(results: Sequence[AskedOf], room: int = ROOM) -> PackedFacts:
    """Pack the asked facts of some results; where they take too much room, what is longest is left out, and told.

    Args:
        results: at least one, with a fact at least.
        room: characters that the data may take; a list that takes more even so is carried whole.
    """
    more = max((len(names) for result in results for names in result.facts["names"]), default=0)
    notes = []
    if more > NAMES:
        notes.append(
            f"Of what stood beside a right answer, the {NAMES} most probable are listed; all are in the result's file"
            " of outcomes."
        )
    attempts = (
        (NAMES, _LONGEST, ""),
        (FEWER_NAMES, _LONGEST, f"So that the page opens soon, it lists {FEWER_NAMES} of them at most."),
        (FEWER_NAMES, _CUT, f"Prompts and texts are cut after {_CUT} characters, too."),
        (0, 0, "The facts are many: what stood beside them, and prompts, are in the result's file of outcomes alone."),
    )
    packed = PackedFacts("", notes)
    for names, longest, left_out in attempts:
        data = base64.b64encode(zlib.compress(msgspec.json.encode(_columns(results, names, longest)), 9)).decode()
        packed = PackedFacts(data, [*notes, left_out] if left_out else notes)
        if len(data) <= room:
            break
    return packed


class _Places:
    """Places of texts: first in the order of coming, in the end in the order of looking them up."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def of(self, text: str | None) -> int:
        return -1 if text is None else self._places.setdefault(text, len(self._places))

    def sorted(self) -> tuple[list[str], list[int]]:
        """The texts in order, and the place in it of each former place."""
        texts = sorted(self._places, key=lambda text: (text.casefold(), text))
        moved = [0] * len(texts)
        for place, text in enumerate(texts):
            moved[self._places[text]] = place
        return texts, moved


def _columns(results: Sequence[AskedOf], most: int, longest: int) -> dict[str, Any]:
    texts = _Places()
    entities: dict[str, tuple[str, int]] = {}
    columns: dict[str, list[int]] = {name: [] for name in _NAMES_OF_COLUMNS}
    names: list[int] = []
    probabilities: list[int] = []
    ends: list[int] = []
    facts: list[str] = []

    def put(name: str, values: Iterable[int]) -> None:
        columns[name].extend(values)

    def entity(id_: str, label: str | None) -> int:
        return entities.setdefault(id_, (visible(label or id_), len(entities)))[1]

    def long(text: str | None, question: str | None) -> int:
        if not text or text == question or not longest:
            return -1
        # The end of a prompt is what is asked.
        return texts.of(visible_lines(text if len(text) <= longest else f"… {text[-longest:]}"))

    for place, result in enumerate(results):
        its = result.facts
        put("result", [place] * len(its))
        put(
            "relation",
            map(texts.of, (visible(label or id_) for label, id_ in _pairs(its, "relation_label", "relation"))),
        )
        for end in ("subject", "object"):
            put(end, (entity(id_, label) for label, id_ in _pairs(its, f"{end}_label", end)))
        for name in ("question", "answer", "prediction"):
            put(name, (texts.of(None if text is None else visible(text)) for text in its[name]))
        for name in ("right", "wrong"):
            put(name, map(int, its[name]))
        for name in ("theta", "low", "high"):
            put(name, (round(1000 * value) for value in its[name]))
        put("belief", map(_BELIEFS.index, its["belief"]))
        put("probability", map(probability_code, its["probability"]))
        put("text", (long(text, None) for text in its["text"]))
        # A prompt is often the question but for the mark at its end.
        bare = (question.removesuffix("…").strip() for question in its["question"])
        put("prompt", (long(prompt.strip(), question) for prompt, question in zip(its["prompt"], bare, strict=True)))
        put("more", (max(0, len(beside) - most) for beside in its["names"]))
        for beside in its["names"]:
            for name, probability in beside[:most]:
                names.append(texts.of(visible(name)))
                probabilities.append(probability_code(probability))
            ends.append(len(names))
        facts.extend(map(visible, its["fact"]))
    for label, _ in entities.values():
        texts.of(label)
    strings, moved = texts.sorted()
    for name in _OF_TEXTS:
        columns[name] = [place if place < 0 else moved[place] for place in columns[name]]
    order = sorted(entities, key=lambda id_: (moved[texts.of(entities[id_][0])], id_))
    ranks = {entities[id_][1]: rank for rank, id_ in enumerate(order)}
    for end in ("subject", "object"):
        columns[end] = [ranks[place] for place in columns[end]]
    return {
        "rows": len(facts),
        "results": [{"label": visible(result.label), "probe": result.probe} for result in results],
        "beliefs": _BELIEFS,
        "strings": strings,
        "entities": [moved[texts.of(entities[id_][0])] for id_ in order],
        "columns": columns,
        "facts": facts,
        "names": [moved[place] for place in names],
        "probabilities": probabilities,
        "ends": ends,
        "start": _start(columns),
    }


_OF_TEXTS = ("relation", "question", "answer", "prediction", "text", "prompt")
_NAMES_OF_COLUMNS = (
    *_OF_TEXTS,
    *("result", "subject", "object", "right", "wrong", "theta", "low", "high", "belief", "probability", "more"),
)


def _pairs(facts: pd.DataFrame, one: str, other: str) -> Iterable[tuple[str, str]]:
    return zip(facts[one], facts[other], strict=True)


def probability_code(value: float | None) -> int:
    """A probability with three digits as a whole number: -1 for none, 0 for zero, 2340 for 3.4e-2, 100 for one.

    >>> probability_code(0.034), probability_code(1.0), probability_code(None)
    (2340, 100, -1)
    """
    if value is None or math.isnan(value):
        return -1
    if value <= 0:
        return 0
    mantissa, exponent = f"{value:.2e}".split("e")
    return 1000 * -int(exponent) + round(100 * float(mantissa))


def _start(columns: dict[str, list[int]]) -> tuple[int, int]:
    """Where the picture begins: the entity at which most facts are surely unknown, and the result that says so."""
    surely, leans = _BELIEFS.index("surely unknown"), _BELIEFS.index("leans unknown")
    weights: dict[tuple[int, int], float] = {}
    worth = {surely: 1.0, leans: 0.1}
    for result, subject, object_, belief in zip(
        columns["result"], columns["subject"], columns["object"], columns["belief"], strict=True
    ):
        for end in {subject, object_}:
            weights[end, result] = weights.get((end, result), 0.0) + worth.get(belief, 0.001)
    return min(weights, key=lambda key: (-weights[key], key))
