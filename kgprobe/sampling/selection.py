"""Selection of the facts to ask: a random sample of a graph, or a list from a file.

A sample can be balanced over ten ranges of popularity, as the sample S of the distractor paper (section 4.1, and its
code): a fact's popularity is the sum of the logarithms log(1 + popularity) of both ends; ten ranges of equal width
cover the facts' values; facts are drawn without replacement with probabilities such that each range that has facts is
equally probable. docs/methods/order-of-facts.md.

Drawing one after the other with given probabilities is the same as taking the facts with the earliest times, if the
time of a fact is exponential with its probability as the rate (Efraimidis and Spirakis 2006). So every prefix of the
order is a sample. The times are hashes of seed and fact.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.arguments import optional_number, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import home
from kgprobe.base.options import make_options
from kgprobe.base.sanitize import visible
from kgprobe.graph.client import Graph
from kgprobe.graph.names import close_relations, entities_called, names_of_relations
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.distractors import facts_with_former
from kgprobe.sampling.drawing import UNIFORM, Draw, DrawOptions
from kgprobe.sampling.facts import existing_facts
from kgprobe.sampling.keys import FactKey, Keys, KeysInOrder, key_rows, seeded_numbers
from kgprobe.sampling.lookup import fact_among, find_fact, keys_of
from kgprobe.sources.values import plain_name

# Order of a measurement's facts in its settings.
SEEDED_ORDER = "hash of seed and fact"
BALANCED_ORDER = "hash of seed and fact, balanced"

_ROWS_AT_ONCE = 1_000
_TSV_COLUMNS = ("subject", "relation", "object")

# Form of Wikidata's ids: such a text is not looked up as a name.
_LIKE_AN_ID = re.compile(r"[QP][0-9]+")

_Row: TypeAlias = dict[str, str | int]

Named = Annotated[str, msgspec.Meta(min_length=1)]
Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

# Number of ranges of popularity.
RANGES = 10

_FACTS_AT_ONCE = 10_000

# Number of drawn facts that are compared with the graph.
_FACTS_CHECKED = 1_000


@dataclass(frozen=True, slots=True)
class PopularFacts:
    """Facts with a known popularity.

    Attributes:
        popularities: sum of log(1 + popularity) of both ends of each, shape (facts,).
        unknown: number of further facts, with an end of unknown popularity.
    """

    keys: Keys
    popularities: Floats
    unknown: int


def askable_popularities(facts: AskableFacts, by: str) -> PopularFacts:
    """Return the facts with a known popularity among some.

    ``by`` is ``popularity``, or ``degree``: the number of facts of an entity, in its place.
    """
    of_entities = np.log1p(facts.columns.popularities if by == "popularity" else facts.columns.degrees)
    popularities = of_entities[facts.subjects] + of_entities[facts.objects]
    known = np.flatnonzero(~np.isnan(popularities))
    return PopularFacts(facts.among(known), popularities[known], len(facts) - len(known))


def popularities_of(graph: Graph, keys: Sequence[FactKey], by: str) -> PopularFacts:
    """Return the facts with a known popularity among some of a list; see :func:`askable_popularities`.

    Cost: a look-up from each subject.
    """
    known, ends = [], []
    unknown = 0
    for first in range(0, len(keys), _FACTS_AT_ONCE):
        for row in graph.read("sample/fact_ends", rows=key_rows(keys[first : first + _FACTS_AT_ONCE]), by=by):
            if row["of_subject"] is None or row["of_object"] is None:
                unknown += 1
            else:
                known.append(FactKey(row["subject"], row["fact"]))
                ends.append((row["of_subject"], row["of_object"]))
    popularities = np.log1p(np.array(ends, dtype=np.float64).reshape(-1, 2)).sum(axis=1)
    return PopularFacts(known, popularities, unknown)


def ranges_of(popularities: Floats) -> Int64s:
    """Return the range of each popularity, from 0 to 9: ten of equal width from the least to the greatest value.

    >>> ranges_of(np.array([0.0, 1.0, 1.5, 10.0])).tolist()
    [0, 0, 1, 9]

    A value on the limit of two ranges is in the lower one.
    """
    if not len(popularities):
        return np.empty(0, dtype=np.int64)
    limits = np.linspace(popularities.min(), popularities.max(), RANGES + 1)
    return np.searchsorted(limits[1:-1], popularities, side="left").astype(np.int64)


def balanced_sample(facts: PopularFacts, count: int | None, seed: int) -> Keys:
    """Return some facts in random order, such that each range of popularity with facts is equally probable.

    Every prefix of the order is such a sample. A range with few facts is exhausted early; the others share the rest.

    Cost: a hash of each fact. Memory: 24 bytes per fact.

    Without ``count``, all facts.
    """
    ranges = ranges_of(facts.popularities)
    sizes = np.bincount(ranges, minlength=RANGES)
    # In (0, 1): the middle of the hash's step.
    uniform = (_hashes(facts.keys, seed, "balanced").astype(np.float64) + 0.5) / 2.0**64
    # The rate of a fact is 1 / (facts of its range).
    times = -np.log(uniform) * sizes[ranges]
    return KeysInOrder(facts.keys, _lowest(times, count))


def _lowest(values: NDArray[Any], count: int | None) -> Int64s:
    """Return the places of the lowest values, in ascending order of these; of all values without ``count``."""
    places = np.arange(len(values))
    if count is not None and count < len(values):
        places = np.sort(np.argpartition(values, count)[:count])
    return places[np.argsort(values[places], kind="stable")]


def _hashes(facts: Keys, seed: int, kind: str) -> NDArray[np.uint64]:
    """Return :func:`seeded_number` of each fact, shape (facts,)."""
    if isinstance(facts, AskableFacts):
        ids = facts.encoded_ids()
    else:
        ids = (facts[place].fact.encode() for place in range(len(facts)))
    return seeded_numbers(seed, kind, ids, len(facts))


class _Id(msgspec.Struct):
    id: Named


class _Line(msgspec.Struct):
    """A fact in a file: by its id and its subject's id, or by subject, relation and object."""

    subject: Named | _Id
    fact: Named | None = None
    relation: Named | None = None
    object: Named | _Id | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Distinct facts of a list, in its order, and messages about lines that are invalid or not in the graph."""

    keys: Sequence[FactKey]
    missing: Sequence[str]


@dataclass(frozen=True, slots=True)
class SelectedFacts:
    """The facts to ask.

    Attributes:
        keys: distinct, in the order of :func:`sample_facts`.
        identity: JSON that distinguishes this choice from others with the same relations and date.
        available: number of facts from which they are drawn.
    """

    keys: Keys
    missing: Sequence[str]
    identity: Mapping[str, Any]
    available: int
    notes: Sequence[str] = ()


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
    draw: DrawOptions = UNIFORM,
) -> SelectedFacts:
    """Return the facts to ask in random order: all that can be asked, those of a list, or some of these.

    Cost: some passes over the graph's columns, see :func:`.open_columns`, and a hash of each fact; for a list, a walk
    from each subject.
    With :attr:`DrawOptions.with_former`, also that of :func:`~.distractors.facts_with_former`.

    ``relations`` are those of facts that are not listed. Without ``limit``, all facts are taken.
    """
    identity: dict[str, Any] = {"limit": limit, "order": SEEDED_ORDER}
    missing: Sequence[str] = ()
    if listed is not None:
        missing = listed.missing
        digest = hashlib.sha256("".join(f"{key.subject}\0{key.fact}\n" for key in sorted(listed.keys)).encode())
        identity |= {"count": len(listed.keys), "sha256": digest.hexdigest()}
    if draw.with_former:
        identity["with_former"] = True
    notes = []
    source: Keys
    if draw.balance is None:
        source = _facts_to_draw(graph, relations, as_of, listed, draw)
        keys = sample_facts(source, limit, seed)
    else:
        facts = _popular_facts(graph, relations, as_of, listed, draw)
        if facts.unknown:
            notes = [f"{facts.unknown:,} facts are left out: the {draw.balance} of an end is unknown."]
        identity |= {"order": BALANCED_ORDER, "balance": draw.balance}
        source = facts.keys
        keys = balanced_sample(facts, limit, seed)
    if isinstance(source, AskableFacts):
        _check_columns(graph, keys, as_of)
    return SelectedFacts(keys, missing, identity, len(source), notes)


def _check_columns(graph: Graph, keys: Keys, as_of: int) -> None:
    """Raise KgprobeError if a drawn fact can no longer be asked. Cost: a look-up from each subject, at most 1,000."""
    rows = key_rows(keys[place] for place in range(min(len(keys), _FACTS_CHECKED)))
    askable = {
        FactKey(row["subject"], row["fact"]) for row in graph.read("sample/still_askable", rows=rows, as_of=as_of)
    }
    for row in rows:
        if FactKey(**row) not in askable:
            raise KgprobeError(
                f"The graph was changed by hand after it was read: the fact {row['fact']} of {row['subject']} is"
                f" missing, not current at {as_of}, or without a name at an end. Delete {home() / 'columns'}, so that"
                " the graph is read again."
            )


def _facts_to_draw(
    graph: Graph, relations: Sequence[str], as_of: int, listed: Selection | None, draw: DrawOptions
) -> AskableFacts | Sequence[FactKey]:
    """Return the facts from which a sample is drawn, in a fixed order."""
    keys: AskableFacts | Sequence[FactKey]
    if draw.with_former:
        # Candidates are about 1% of Wikidata's facts.
        rows = graph.stream("sample/askable_former", relations=list(relations), as_of=as_of) if listed is None else ()
        candidates = listed.keys if listed else sorted(FactKey(row["subject"], row["fact"]) for row in rows)
        keys = facts_with_former(graph, candidates, as_of)
    else:
        keys = AskableFacts(open_columns(graph), relations, as_of) if listed is None else listed.keys
    if len(keys):
        return keys
    if draw.with_former:
        raise KgprobeError(
            f"None of the facts has a former object that ended on a known day before {as_of}. Load facts with ends, or"
            " leave out `with_former`."
        )
    raise KgprobeError(
        f"The graph has no fact to ask: none of {', '.join(relations)} is current at {as_of} with a name at "
        "both ends. Load facts, or name another date: `as_of`."
    )


def _popular_facts(
    graph: Graph, relations: Sequence[str], as_of: int, listed: Selection | None, draw: DrawOptions
) -> PopularFacts:
    """Return the facts from which a balanced sample is drawn."""
    by = str(draw.balance)
    keys = _facts_to_draw(graph, relations, as_of, listed, draw)
    facts = askable_popularities(keys, by) if isinstance(keys, AskableFacts) else popularities_of(graph, keys, by)
    if not len(facts.keys):
        raise KgprobeError(
            f"None of the {facts.unknown:,} facts has a {by} at both ends. Load entities with `popularity`, or balance"
            " by the number of facts of each entity: `balance` degree."
        )
    return facts


def list_facts(graph: Graph, facts: "Listed", as_of: int) -> Selection:
    """Return the facts of a list that are in the graph. Cost: a look-up from each subject.

    The list is a path or an open file (:func:`read_facts`), or keys and names of facts. ``as_of`` (``yyyymmdd``)
    selects the current one of several facts of a name. A name without a fact raises UnknownNameError.
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


def checked_draw(draw: Draw, whose: str) -> Draw:
    """Return the options of a draw, checked: ``as_of`` as ``yyyymmdd``, relations by id or name.

    Args:
        whose: noun for the call in messages.
    """
    given = {field.name: getattr(draw, field.name) for field in fields(DrawOptions)}
    return replace(
        draw,
        **asdict(make_options(DrawOptions, given, whose)),
        seed=whole_number("seed", draw.seed, 0),
        limit=optional_number("limit", draw.limit),
        relations=several("relations", draw.relations),
        as_of=as_of_day(draw.as_of),
    )


def list_existing(graph: Graph, facts: "Listed", as_of: int) -> Selection:
    """Return the facts of a list that are in the graph, as :func:`list_facts`; KgprobeError if there are none."""
    listed = list_facts(graph, facts, as_of)
    if not listed.keys:
        raise KgprobeError("`facts` names no fact of this graph." + "".join(f" {text}" for text in listed.missing[:1]))
    return listed


def sample_facts(keys: Keys, count: int | None, seed: int) -> Keys:
    """Return some facts in random order: those with the lowest hashes of seed and fact.

    A fact's rank depends on nothing else: two draws with the same seed share as many facts as possible, and every
    prefix of the order is a uniform sample.

    Cost: a hash of each fact. Memory: 16 bytes per fact.

    Without ``count``, all facts.
    """
    order = _lowest(_hashes(keys, seed, "asked"), count)
    return KeysInOrder(keys, order) if count is None else [keys[place] for place in order.tolist()]


def read_facts(graph: Graph, file: TextIO, name: str, as_of: int) -> Selection:
    """Return the facts that a file lists, one per line.

    A line is a JSON object with ``subject`` and ``fact`` (ids), or with ``subject``, ``relation`` and ``object``; or
    these three separated by tabs, with an optional header; or the name of a fact, such as ``France | capital | Paris``.
    Subject, relation and object are ids or names; in JSON also objects with an ``id``.

    ``name`` is the file's, for messages. ``as_of`` (``yyyymmdd``) selects the current one of several facts of a line.

    Cost: a look-up from each subject; a scan of the entities for every thousand lines with names in place of ids, and
    for every line with the name of a fact.
    """
    keys: dict[FactKey, None] = {}
    missing: list[str] = []
    lines = _lines(file, name)
    while block := list(islice(lines, _ROWS_AT_ONCE)):
        rows: list[_Row] = []
        problems: dict[int, str] = {}
        for number, line in block:
            row, problem = _parse(line, number)
            if problem:
                problems[number] = problem
            if row:
                rows.append(row)
        facts = _find_rows(graph, rows, as_of, problems)
        for row in rows:
            number = int(row["index"])
            keys.update(dict.fromkeys(facts.get(number, ())))
            if number not in facts and number not in problems:
                fact = row.get("fact") or f"{row.get('subject')} {row.get('relation')} {row.get('object')}"
                problems[number] = f"the graph has no fact {fact}."
        missing += [visible(f"{name}, line {number}: {problems[number]}") for number in sorted(problems)]
    return Selection(list(keys), missing)


def _find_rows(graph: Graph, rows: Sequence[_Row], as_of: int, problems: dict[int, str]) -> dict[int, list[FactKey]]:
    """Return the facts of parsed lines by their numbers, and add the problems of lines without one."""
    facts = _find_by_ids(graph, rows)
    with_names = [row for row in rows if row["index"] not in facts and _has_name(row)]
    relations: Mapping[str, Sequence[str]] = {}
    entities: Mapping[str, Sequence[str]] = {}
    if triples := [row for row in with_names if "relation" in row]:
        relations = names_of_relations(graph)
        texts: set[str] = set()
        for row in triples:
            texts |= {str(row["subject"]), str(row["object"])}
        *_, entities = entities_called(graph, texts)
    for row in with_names:
        index = int(row["index"])
        try:
            if "name" in row:
                facts[index] = [find_fact(graph, str(row["name"]), as_of)]
            elif fact := _find_triple(graph, row, relations, entities, as_of):
                facts[index] = [fact]
        except UnknownNameError as error:
            problems[index] = str(error)
    return facts


def _has_name(row: _Row) -> bool:
    """Return True for a line with the name of a fact, or with a name in place of an id of a triple."""
    return "name" in row or (
        "relation" in row and not all(_LIKE_AN_ID.fullmatch(str(row[end])) for end in _TSV_COLUMNS)
    )


def _find_by_ids(graph: Graph, rows: Sequence[_Row]) -> dict[int, list[FactKey]]:
    """Return the facts of lines with ids by their numbers."""
    facts: dict[int, list[FactKey]] = {}
    triples = [row for row in rows if "relation" in row]
    for match in graph.read("sample/triples", rows=triples):
        facts.setdefault(match["index"], []).append(FactKey(match["subject"], match["fact"]))
    by_id = [row for row in rows if "fact" in row]
    keys = {int(row["index"]): FactKey(str(row["subject"]), str(row["fact"])) for row in by_id}
    existing = set(existing_facts(graph, list(keys.values())))
    facts |= {index: [key] for index, key in keys.items() if key in existing}
    return facts


def _find_triple(
    graph: Graph,
    row: _Row,
    relations: Mapping[str, Sequence[str]],
    entities: Mapping[str, Sequence[str]],
    as_of: int,
) -> FactKey | None:
    """Return the fact of a line; None if the graph lacks it; UnknownNameError for an unknown name, or several facts."""
    subject, relation, object_ = (str(row[end]) for end in _TSV_COLUMNS)
    ids = relations.get(plain_name(relation).lower(), ())
    if not ids:
        raise UnknownNameError(f"no relation is called {relation!r}{close_relations(relation, relations)}.")
    for text in (subject, object_):
        if not entities.get(text):
            raise UnknownNameError(f"no entity is called {text!r}.")
    return fact_among(graph, f"{subject} | {relation} | {object_}", entities[subject], ids, entities[object_], as_of)


def _lines(file: TextIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without a byte order mark."""
    try:
        for number, line in enumerate(file, start=1):
            yield number, line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        raise ArgumentError(
            "facts", f"cannot be read: {name} is not UTF-8, or it is packed ({error.reason})."
        ) from error


def _parse(line: str, number: int) -> tuple[_Row | None, str | None]:
    text = line.strip()
    if not text:
        return None, None
    if text.startswith("{"):
        try:
            entry = msgspec.json.decode(text, type=_Line)
        except (msgspec.DecodeError, UnicodeError) as error:
            return None, f"{error}."
        except RecursionError:
            return None, "nested too deeply."
        subject = _id(entry.subject)
        if entry.fact is not None:
            return {"index": number, "subject": subject, "fact": entry.fact}, None
        if entry.relation is None or entry.object is None:
            return None, "has neither `fact` nor both of `relation` and `object`."
        return {"index": number, "subject": subject, "relation": entry.relation, "object": _id(entry.object)}, None
    parts = text.split("\t")
    if number == 1 and tuple(parts[:3]) == _TSV_COLUMNS:
        return None, None
    if len(parts) == 1:
        return {"index": number, "name": text}, None
    if len(parts) < 3:
        return None, f"{len(parts)} columns where 3 are expected ({', '.join(_TSV_COLUMNS)}), or a JSON object."
    return {"index": number, **dict(zip(_TSV_COLUMNS, parts, strict=False))}, None


def _id(entity: str | _Id) -> str:
    return entity if isinstance(entity, str) else entity.id
