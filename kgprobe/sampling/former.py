"""Former objects of a fact's subject and relation: distractors that were right until a known day.

Section 3.3 of the distractor paper (temporal distractors); docs/methods/distractor-strategies.md.
"""

from collections.abc import Sequence
from dataclasses import replace

from kgprobe.base.dates import day_number
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import WAS_RIGHT, Distractor, FormerObjects, admissible, former_objects
from kgprobe.sampling.keys import FactKey, key_rows

_FACTS_AT_ONCE = 1_000


def former_distractors(
    graph: Graph, keys: Sequence[FactKey], as_of: int, rule: FormerObjects
) -> list[list[Distractor]]:
    """Return the former objects of each fact that are distractors, those of the nearest time first.

    Cost: a walk through the facts of each subject, and a look-up for each former object.

    Args:
        keys: facts of the graph.
        as_of: date (``yyyymmdd``); objects that ended before it are former.
        rule: rule of the sentence, see :func:`~kgprobe.sampling.distractors.former_objects`.
    """
    nearest: dict[str, dict[int, Row]] = {key.fact: {} for key in keys}
    rows = graph.read("sample/former", rows=key_rows(keys), as_of=as_of)
    # The nearest interval of an object counts.
    for row in sorted(rows, key=lambda row: _order(row, as_of)):
        nearest[row["fact"]].setdefault(row["number"], row)
    candidates = [(key, list(nearest[key.fact])) for key in keys]
    former: list[list[Distractor]] = []
    for key, distractors in zip(keys, admissible(graph, candidates, rule), strict=True):
        former.append([])
        for number, distractor in distractors.items():
            reason = f"{distractor.reason.removesuffix(WAS_RIGHT)}; held until {nearest[key.fact][number]['end']}"
            former[-1].append(replace(distractor, reason=reason))
    return former


def facts_with_former(graph: Graph, keys: Sequence[FactKey], as_of: int) -> list[FactKey]:
    """Return the facts that have a former object among the distractors of sentences in the present tense.

    Cost: that of :func:`former_distractors`, a thousand facts at once.
    """
    rule = former_objects("wrong", as_of, present=True)
    with_former: list[FactKey] = []
    for first in range(0, len(keys), _FACTS_AT_ONCE):
        block = keys[first : first + _FACTS_AT_ONCE]
        for key, former in zip(block, former_distractors(graph, block, as_of, rule), strict=True):
            if former:
                with_former.append(key)
    return with_former


def askable_with_former(graph: Graph, relations: Sequence[str], as_of: int) -> list[FactKey]:
    """Return the facts of these relations that can be asked and have a former object, see :func:`facts_with_former`.

    Cost: one scan of the graph's facts, streamed, and that of :func:`facts_with_former` for facts with candidates;
    about 1% of Wikidata's facts have some.
    """
    rows = graph.stream("sample/askable_former", relations=list(relations), as_of=as_of)
    return facts_with_former(graph, sorted(FactKey(row["subject"], row["fact"]) for row in rows), as_of)


def _order(row: Row, as_of: int) -> tuple[int, int, int]:
    """Return a sort key: the distance in time, then the latest end, then the number."""
    current = _middle(row["from"], row["until"], as_of)
    former = _middle(row["former_from"], row["former_until"], as_of)
    return abs(current - former), -row["former_until"], row["number"]


def _middle(first: int | None, last: int | None, as_of: int) -> int:
    """Return twice the day number of the middle of an interval, an integer."""
    end = as_of if last is None else last
    start = end if first is None else first
    return day_number(start) + day_number(end)
