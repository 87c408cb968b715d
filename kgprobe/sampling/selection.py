"""Which facts are asked: a random sample of a graph's, or a list from a file."""

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeAlias, cast

import msgspec
import numpy as np

from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import close_relations, entities_called, names_of_relations
from kgprobe.sampling.facts import askable_facts
from kgprobe.sampling.keys import FactKey, Keys, KeysInOrder
from kgprobe.sampling.lookup import find_fact, keys_of, the_fact
from kgprobe.sampling.seeded_order import seeded_number
from kgprobe.sanitize import visible

# The order of a measurement's facts, as its configuration says it.
SEEDED_ORDER = "hash of seed and fact"

_ROWS_AT_ONCE = 1_000
_TSV_COLUMNS = ("subject", "relation", "object")

# What Wikidata's ids look like: such a text is no name that would be worth a scan.
_LIKE_AN_ID = re.compile(r"[QP][0-9]+")

_Row: TypeAlias = dict[str, str | int]

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


@dataclass(frozen=True, slots=True)
class Chosen:
    """The facts that are asked.

    Attributes:
        keys: each once, in the order of :func:`sample_facts`.
        missing: messages about what was listed and is not in the graph.
        identity: what tells this choice from others on the same graph, besides the relations and the date; JSON.
    """

    keys: Keys
    missing: Sequence[str]
    identity: Mapping[str, Any]


# A list of facts: a file, its lines, keys, or names of facts as :func:`~kgprobe.sampling.lookup.find_fact` takes them.
Listed: TypeAlias = "str | Path | TextIO | Iterable[FactKey | str]"


def choose_facts(
    graph: Graph,
    relations: Sequence[str],
    *,
    as_of: int,
    listed: Selection | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Chosen:
    """Return the facts to ask in random order: all that can be asked, those of a list, or some of these.

    Cost: one scan of the graph's facts, streamed into arrays, and a hash of each; for a list, a walk from each subject.

    Args:
        relations: ids of those that can be asked, where the facts are not listed.
        listed: those of a list, see :func:`list_facts`.
        limit: the most of them, drawn at random; None takes all.
        seed: what their order follows from, see :func:`sample_facts`.

    Raises:
        KgprobeError: there is none, or the file cannot be read.
    """
    identity: dict[str, Any] = {"limit": limit, "order": SEEDED_ORDER}
    keys: Keys
    missing: Sequence[str] = ()
    if listed is None:
        keys = askable_facts(graph, relations, as_of)
        if not len(keys):
            raise KgprobeError(
                f"The graph has no fact to ask: none of {', '.join(relations)} is current at {as_of} with a name at "
                "both ends. Load facts, or name another date: `as_of`."
            )
    else:
        keys, missing = listed.keys, listed.missing
        if not keys:
            raise KgprobeError("`facts` names no fact of this graph." + "".join(f" {one}" for one in missing[:1]))
        digest = hashlib.sha256("".join(f"{key.subject}\0{key.fact}\n" for key in sorted(keys)).encode())
        identity |= {"count": len(keys), "sha256": digest.hexdigest()}
    return Chosen(sample_facts(keys, limit, seed), missing, identity)


def list_facts(graph: Graph, facts: "Listed", as_of: int) -> Selection:
    """The facts of a list that the graph has. Cost: a walk from each subject.

    Args:
        facts: a file's path or an open file (see :func:`read_facts`), keys, or names of facts.
        as_of: of several facts that a name may mean, the one that is current at this date (``yyyymmdd``).

    Raises:
        ArgumentError: the file cannot be read, or it is no list.
        UnknownNameError: a name means no fact of the graph.
    """
    if isinstance(facts, (str, Path)):
        try:
            with open(facts, encoding="utf-8") as file:
                return read_facts(graph, file, str(facts), as_of)
        except (OSError, ValueError) as error:
            raise ArgumentError("facts", f"cannot be read: {error}.") from error
    if isinstance(facts, io.TextIOBase):
        return read_facts(graph, cast("TextIO", facts), str(getattr(facts, "name", "the list")), as_of)
    return Selection(list(dict.fromkeys(keys_of(graph, facts, as_of))), ())


def sample_facts(keys: Keys, count: int | None, seed: int) -> Keys:
    """Return some facts in random order: those with the lowest hashes of seed and fact.

    A fact's rank depends on nothing else: two draws with the same seed, from whatever facts and of whatever size, share
    as many facts as they can, and any first part of the order is a uniform sample.

    Cost: a hash of each fact, 3 µs. Memory: 16 bytes a fact.

    Args:
        keys: facts to draw from.
        count: how many are wanted; None, or more than there are, takes all.
        seed: what the hashes follow from.
    """
    ranks = (seeded_number(seed, "asked", keys[place].fact) for place in range(len(keys)))
    order = np.argsort(np.fromiter(ranks, dtype=np.uint64, count=len(keys)), kind="stable")
    if count is None:
        return KeysInOrder(keys, order)
    return [keys[place] for place in order[:count].tolist()]


def read_facts(graph: Graph, file: TextIO, name: str, as_of: int) -> Selection:
    """The facts that a file lists, one a line.

    A line is a JSON object, with ``subject`` and ``fact`` (ids), or with ``subject``, ``relation`` and ``object``; or
    these three, separated by tabs under a header that may stand at the top; or the name of a fact, such as ``France |
    capital | Paris``. Subject, relation and object are ids or names; in JSON also objects that have an ``id``.

    Args:
        file: opened as text.
        name: what to call it in messages.
        as_of: of several facts that a line may mean by their names, the one that is current at this date
            (``yyyymmdd``).

    Cost: a walk from each subject; a scan of the entities for every thousand lines that name some by no id, and for
    every line that names a fact as a whole.

    Raises:
        ArgumentError: it is no text in UTF-8.
    """
    keys: dict[FactKey, None] = {}
    missing: list[str] = []
    rows: list[_Row] = []

    def look_up() -> None:
        found: dict[int, list[FactKey]] = {}
        triples = [row for row in rows if "relation" in row]
        for row in graph.read("sample/triples", rows=triples):
            found.setdefault(row["index"], []).append(FactKey(row["subject"], row["fact"]))
        asked = [row for row in rows if "fact" in row]
        known = {row["fact"] for row in graph.read("sample/facts", rows=asked)} if asked else set()
        problems: dict[int, str] = {}
        for index, meant in _by_names(graph, [row for row in triples if row["index"] not in found], as_of):
            if isinstance(meant, str):
                problems[index] = meant
            else:
                found[index] = [meant]
        for row in rows:
            number = int(row["index"])
            if row.get("fact") in known:
                found[number] = [FactKey(str(row["subject"]), str(row["fact"]))]
            if "named" in row:
                try:
                    found[number] = [find_fact(graph, str(row["named"]), as_of)]
                except UnknownNameError as error:
                    problems[number] = str(error)
            if number not in found:
                said = row.get("fact") or f"{row.get('subject')} {row.get('relation')} {row.get('object')}"
                problem = problems.get(number, f"the graph has no fact {said}.")
                missing.append(visible(f"{name}, line {number}: {problem}"))
            keys.update(dict.fromkeys(found.get(number, [])))
        rows.clear()

    for number, line in _lines(file, name):
        row, problem = _parsed(line, number)
        if problem:
            missing.append(visible(f"{name}, line {number}: {problem}"))
        if row:
            rows.append(row)
        if len(rows) == _ROWS_AT_ONCE:
            look_up()
    look_up()
    return Selection(list(keys), missing)


def _by_names(graph: Graph, rows: Sequence[_Row], as_of: int) -> Iterator[tuple[int, FactKey | str]]:
    """What lines mean whose subject, relation or object is no id, by their index; where that is not one fact, why."""
    named = [row for row in rows if not all(_LIKE_AN_ID.fullmatch(str(row[end])) for end in _TSV_COLUMNS)]
    if not named:
        return
    relations = names_of_relations(graph)
    texts = {str(row[end]) for row in named for end in ("subject", "object")}
    *_, entities = entities_called(graph, texts)
    for row in named:
        index, subject, relation, object_ = int(row["index"]), *(str(row[end]) for end in _TSV_COLUMNS)
        ids = relations.get(relation.lower(), ())
        unknown = [text for text in (subject, object_) if not entities.get(text)]
        if not ids:
            yield index, f"no relation is called {relation!r}{close_relations(relation, relations)}."
        elif unknown:
            yield index, f"no entity is called {unknown[0]!r}."
        else:
            try:
                key = the_fact(
                    graph, f"{subject} | {relation} | {object_}", entities[subject], ids, entities[object_], as_of
                )
            except UnknownNameError as error:
                yield index, str(error)
            else:
                if key is not None:
                    yield index, key


def _lines(file: TextIO, name: str) -> Iterator[tuple[int, str]]:
    try:
        yield from enumerate(file, start=1)
    except UnicodeDecodeError as error:
        raise ArgumentError(
            "facts", f"cannot be read: {name} is not UTF-8, or it is packed ({error.reason})."
        ) from error


def _parsed(line: str, number: int) -> tuple[_Row | None, str | None]:
    text = line.strip()
    if not text:
        return None, None
    if text.startswith("{"):
        try:
            read = msgspec.json.decode(text, type=_Line)
        except (msgspec.DecodeError, UnicodeError) as error:
            return None, f"{error}."
        except RecursionError:
            return None, "nested too deeply."
        subject = _id(read.subject)
        if read.fact is not None:
            return {"index": number, "subject": subject, "fact": read.fact}, None
        if read.relation is None or read.object is None:
            return None, "has neither `fact` nor both of `relation` and `object`."
        return {"index": number, "subject": subject, "relation": read.relation, "object": _id(read.object)}, None
    parts = text.split("\t")
    if number == 1 and tuple(parts[:3]) == _TSV_COLUMNS:
        return None, None
    if len(parts) == 1:
        return {"index": number, "named": text}, None
    if len(parts) < 3:
        return None, f"{len(parts)} columns where 3 are expected ({', '.join(_TSV_COLUMNS)}), or a JSON object."
    return {"index": number, **dict(zip(_TSV_COLUMNS, parts, strict=False))}, None


def _id(named: str | _Id) -> str:
    return named if isinstance(named, str) else named.id
