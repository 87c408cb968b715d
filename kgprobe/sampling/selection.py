"""Which facts are asked: a random sample of a graph's, or a list from a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TextIO

import msgspec
import numpy as np

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import FactKey, Keys

_ROWS_AT_ONCE = 1_000
_TSV_COLUMNS = ("subject", "relation", "object")

Named = Annotated[str, msgspec.Meta(min_length=1)]


class _Id(msgspec.Struct):
    id: Named


class _Line(msgspec.Struct):
    """A fact in a file: by its id and its subject's, or by what it says."""

    subject: Named | _Id
    fact: Named | None = None
    relation: Named | None = None
    object: Named | _Id | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Facts of a list.

    Attributes:
        keys: those that the graph has, in the list's order, each once.
        missing: messages about the lines whose fact the graph has not, or that cannot be read.
    """

    keys: Sequence[FactKey]
    missing: Sequence[str]


def sample_facts(keys: Keys, count: int, seed: int) -> list[FactKey]:
    """Some facts, drawn uniformly without repetition, in their order; all of them if there are no more.

    Args:
        keys: facts to draw from.
        count: how many are wanted.
        seed: the same seed draws the same of the same facts.
    """
    if count >= len(keys):
        return [keys[position] for position in range(len(keys))]
    positions = np.random.default_rng(seed).choice(len(keys), count, replace=False)
    return [keys[int(position)] for position in np.sort(positions)]


def read_facts(graph: Graph, file: TextIO, name: str) -> Selection:
    """The facts that a file lists, one a line.

    A line is a JSON object, with ``subject`` and ``fact``, or with ``subject``, ``relation`` and ``object`` (ids, or
    objects that have an ``id``); or the three ids, separated by tabs, under a header that may stand at the top.

    Args:
        file: opened as text.
        name: what to call it in messages.

    Cost: a walk from each subject.
    """
    keys: dict[FactKey, None] = {}
    missing: list[str] = []
    rows: list[dict[str, str | int]] = []

    def look_up() -> None:
        found: dict[int, list[FactKey]] = {}
        for row in graph.read("sample/triples", rows=[row for row in rows if "relation" in row]):
            found.setdefault(row["index"], []).append(FactKey(row["subject"], row["fact"]))
        asked = [row for row in rows if "fact" in row]
        known = {row["fact"] for row in graph.read("sample/facts", rows=asked)} if asked else set()
        for row in rows:
            number = int(row["index"])
            if row.get("fact") in known:
                found[number] = [FactKey(str(row["subject"]), str(row["fact"]))]
            if number not in found:
                said = row.get("fact") or f"{row['subject']} {row['relation']} {row['object']}"
                missing.append(f"{name}, line {number}: the graph has no fact {said}.")
            keys.update(dict.fromkeys(found.get(number, [])))
        rows.clear()

    for number, line in enumerate(file, start=1):
        row, problem = _parsed(line, number)
        if problem:
            missing.append(f"{name}, line {number}: {problem}")
        if row:
            rows.append(row)
        if len(rows) == _ROWS_AT_ONCE:
            look_up()
    look_up()
    return Selection(list(keys), missing)


def _parsed(line: str, number: int) -> tuple[dict[str, str | int] | None, str | None]:
    text = line.strip()
    if not text:
        return None, None
    if text.startswith("{"):
        try:
            read = msgspec.json.decode(text, type=_Line)
        except msgspec.DecodeError as error:
            return None, f"{error}."
        subject = _id(read.subject)
        if read.fact is not None:
            return {"index": number, "subject": subject, "fact": read.fact}, None
        if read.relation is None or read.object is None:
            return None, "has neither `fact` nor both of `relation` and `object`."
        return {"index": number, "subject": subject, "relation": read.relation, "object": _id(read.object)}, None
    parts = text.split("\t")
    if number == 1 and tuple(parts[:3]) == _TSV_COLUMNS:
        return None, None
    if len(parts) < 3:
        return None, f"{len(parts)} columns where 3 are expected ({', '.join(_TSV_COLUMNS)}), or a JSON object."
    return {"index": number, **dict(zip(_TSV_COLUMNS, parts, strict=False))}, None


def _id(named: str | _Id) -> str:
    return named if isinstance(named, str) else named.id
