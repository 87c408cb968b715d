"""Data by people that measures of knowledge are compared with: scores of facts, and sentences with corrections.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.corrections import damaged_notes, pair_up, read_verbalizations

Floats = NDArray[np.float64]


class HumanScore(msgspec.Struct, frozen=True):
    """The human score of one fact.

    Attributes:
        subject, relation, object: ids.
        human_score: the share of people who judge that the model knows the fact, in [0, 1].
    """

    subject: str
    relation: str
    object: str
    human_score: Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Scored:
    """Facts of a graph with human scores.

    Attributes:
        missing: messages on scores of facts that the graph lacks.
        repeated: number of further scores of a fact.
    """

    keys: Sequence[FactKey]
    scores: Floats
    missing: Sequence[str]
    repeated: int = 0


def read_human_scores(scores: str | Path | Sequence[Mapping[str, Any]]) -> list[HumanScore]:
    """Return human scores from a list of objects with subject, relation, object and human_score, or from a file.

    The file is JSON, or a table with a header, which determines the delimiter: comma, tab or semicolon.
    """
    where = scores if isinstance(scores, (str, Path)) else "`scores`"
    try:
        if not isinstance(scores, (str, Path)):
            return msgspec.convert(scores, type=list[HumanScore])
        content = Path(scores).read_bytes()
        if content.lstrip()[:1] in (b"[", b"{", b""):
            return msgspec.json.decode(content, type=list[HumanScore])
        return _read_table(Path(scores), content)
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{where}: {error}.") from error
    except UNREADABLE_JSON as error:
        raise KgprobeError(f"{where} is not valid JSON: {error}.") from error
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _read_table(path: Path, content: bytes) -> list[HumanScore]:
    """Return the human scores of a table with a header; other columns are ignored."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KgprobeError(f"{path} is not valid UTF-8: {error.reason} at byte {error.start}.") from error
    delimiter = max(",\t;", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = HumanScore.__struct_fields__
    scores = []
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise KgprobeError(f"{path}: column {', '.join(missing)} is missing; it needs {', '.join(columns)}.")
        for row in reader:
            needed = {column: row[column] for column in columns}
            scores.append(msgspec.convert(needed, HumanScore, strict=False))
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{path}, line {reader.line_num}: {error}.") from error
    except csv.Error as error:
        raise KgprobeError(f"{path}, line {reader.line_num + 1}: not a table row: {error}.") from error
    return scores


def find_scored(graph: Graph, scores: Sequence[HumanScore]) -> Scored:
    """Return the facts of the graph that have human scores, in their order. Cost: a walk from each subject.

    A fact with several scores counts once, with their mean; otherwise it could be in several folds.
    """
    keys = find_triples(graph, [(score.subject, score.relation, score.object) for score in scores])
    missing = ["the graph has no such fact"] * (len(scores) - len(keys))
    by_fact: defaultdict[FactKey, list[float]] = defaultdict(list)
    for index, key in keys.items():
        by_fact[key].append(scores[index].human_score)
    means = np.array([np.mean(fact_scores) for fact_scores in by_fact.values()], dtype=np.float64)
    return Scored(list(by_fact), means, missing, repeated=len(keys) - len(by_fact))


def find_triples(graph: Graph, triples: Iterable[tuple[str, str, str]]) -> dict[int, FactKey]:
    """Return the first fact of each triple of subject, relation and object ids in the graph, by the triple's position.

    Cost: a walk from each subject.
    """
    names = ("index", "subject", "relation", "object")
    rows = [dict(zip(names, (index, *triple), strict=True)) for index, triple in enumerate(triples)]
    keys: dict[int, FactKey] = {}
    for row in graph.read("sample/triples", rows=rows):
        keys.setdefault(row["index"], FactKey(row["subject"], row["fact"]))
    return keys


@dataclass(frozen=True, slots=True)
class Pairs:
    """Flawed sentences and their corrections.

    Attributes:
        flawed, corrected: the same facts in the same order.
        flawless: facts in sentences that are their own corrections.
        left_out: reasons of missing pairs, one message each.
    """

    flawed: Sequence[ClozeItem]
    corrected: Sequence[ClozeItem]
    flawless: Sequence[ClozeItem] = ()
    left_out: Sequence[str] = ()


def read_pairs(graph: Graph, table: Path, context: str | None = None) -> Pairs:
    """Return the pairs of a table whose fact is in the graph. Cost: a walk from each subject.

    Args:
        context: ``present`` or ``past``: only sentences of this context; None uses all.
    """
    verbalizations, damaged = read_verbalizations(table)
    of_context = [each for each in verbalizations if context in (None, each.context)]
    pairs, unpaired = pair_up(of_context)
    triples = [(pair.verbalization.subject, pair.verbalization.relation, pair.verbalization.object) for pair in pairs]
    keys = find_triples(graph, triples)
    if not keys:
        raise KgprobeError(f"None of the {len(pairs)} pairs of {table} is about a fact of this graph.")
    flawed, corrected, flawless = [], [], []
    for index, fact in zip(keys, describe_facts(graph, list(keys.values())), strict=True):
        if pairs[index].differs:
            flawed.append(ClozeItem(fact, [pairs[index].flawed]))
            corrected.append(ClozeItem(fact, [pairs[index].corrected]))
        else:
            flawless.append(ClozeItem(fact, [pairs[index].corrected]))
    if not flawed:
        raise KgprobeError(f"None of the {len(keys)} sentences of {table} about facts of this graph has a correction.")
    left_out = [pair.reason for pair in unpaired]
    left_out += [f"its context is not {context}"] * (len(verbalizations) - len(of_context))
    left_out += ["the graph has no such fact"] * (len(pairs) - len(keys))
    left_out += damaged_notes(damaged)
    return Pairs(flawed, corrected, flawless, left_out)
