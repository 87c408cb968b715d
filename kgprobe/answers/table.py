"""Answers as a table: a row for each place of the trail, in a file beside it, from which all results are computed.

The table is made in one pass over the trail when it is first read, together with the probe's own results, and found
again by a digest of the trail. It is an Arrow file that is mapped into memory. A million answers by distractors, 1.7
GB, take 57 seconds of processor time (two busy cores) and 1.1 GB to make; opening takes less than a second. The
evidence itself is only in the trail.
"""

import hashlib
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgprobe.answers.store import FILE, TrailLine, digest_of_answers, open_trail, read_lines
from kgprobe.base.files import replacing
from kgprobe.base.intervals import Mean, Percent, Points, Share
from kgprobe.base.tables import Table
from kgprobe.base.version import __version__
from kgprobe.graph.ingest import collecting_rarely
from kgprobe.probes.outcome import Evidence, Headline, Outcome, ProbeResults, Verdict
from kgprobe.probes.register import ProbeKind
from kgprobe.stats.proportions import more_than_half

if TYPE_CHECKING:
    import pandas as pd

TABLE = "answers.arrow"

# Answers that are written together.
_BATCH = 10_000
# A file that was changed later before its table was made may have changed again within the resolution of its date.
_SETTLED = 2_000_000_000

_VERDICTS = [verdict.value for verdict in Verdict]
_COUNTS = np.array([verdict.counts for verdict in Verdict])
_TEXT, _NUMBER = pa.string(), pa.float64()
_COLUMNS: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("subject", "fact", "relation"), _TEXT),
    "verdict": pa.dictionary(pa.int8(), _TEXT),
    **dict.fromkeys(("reason", "prompt"), _TEXT),
    "round": pa.int32(),
    **dict.fromkeys(("inclusion", "smallest"), _NUMBER),
    **dict.fromkeys(("subject_label", "object", "object_label", "question", "right_answer", "prediction"), _TEXT),
    **dict.fromkeys(("probability", "chance"), _NUMBER),
    "names": pa.map_(_TEXT, _NUMBER),
    **dict.fromkeys(("text", "former"), _TEXT),
    "rated": pa.list_(
        pa.struct({"source": _TEXT, "confidence": _NUMBER, "right": pa.bool_(), "reason": _TEXT}.items())
    ),
}
# Fields that only some probes' evidence has.
_FIELDS: Mapping[str, pa.DataType] = {"examples": pa.int32(), "kind": _TEXT, "negative": _TEXT}
_MEASURE, _COUNT = "measure: ", "count: "

T = TypeVar("T")
Positions: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """The answers of a measurement or a run, also the questions without one.

    Attributes:
        table: a row for each place, in their order: ids of subject, fact and relation; verdict, reason (None if the
            verdict counts) and prompt; round, inclusion and smallest (see
            :class:`~kgprobe.answers.store.StoredDraw`); what the evidence has of subject_label, object (its id),
            object_label, question, right_answer, prediction (None if right), probability and chance (see
            :class:`~kgprobe.probes.outcome.Evidence`); of its alternatives names, text and former; rated, its
            answers with a confidence; its fields examples, kind and negative, only for probes that have them; and its
            values and counts, in columns ``measure: NAME`` and ``count: NAME``.
        results: the probe's own tables and headline.
    """

    table: pa.Table
    results: ProbeResults

    @cached_property
    def verdicts(self) -> Counter[Verdict]:
        """Number of places by verdict."""
        counts = np.bincount(self._verdicts, minlength=len(_VERDICTS)).tolist()
        return Counter({verdict: count for verdict, count in zip(Verdict, counts, strict=True) if count})

    @property
    def answered(self) -> int:
        """Number of answers."""
        return int(_COUNTS[self._verdicts].sum())

    @property
    def chance(self) -> float | None:
        """Mean of the known chance levels of the answered questions; None if none is known."""
        _, rows, _ = self._by_fact
        known = self._numbers("chance")[rows]
        known = known[~np.isnan(known)]
        return float(known.mean()) if len(known) else None

    def reasons(self, verdict: Verdict) -> dict[str, int]:
        """Return numbers of places with a verdict by reason, the most frequent first."""
        rows = np.flatnonzero(self._verdicts == _VERDICTS.index(verdict.value))
        return dict(Counter(map(str, self.texts("reason", rows))).most_common())

    def unheard(self) -> dict[str, str]:
        """Return the reason of each fact without answers, by fact."""
        rows = np.flatnonzero(~_COUNTS[self._verdicts])
        verdicts = [_VERDICTS[place] for place in self._verdicts[rows].tolist()]
        answered = set(self._by_fact[0])
        reasons = {}
        for fact, reason, verdict in zip(self.texts("fact", rows), self.texts("reason", rows), verdicts, strict=True):
            if fact not in answered:
                reasons[fact] = reason or verdict
        return reasons

    def without(self, facts: Sequence[str], reason: str) -> "Answers":
        """Return the answers of which those about some facts are unaskable for a reason."""
        is_other = pa.compute.is_in(self.table["fact"], pa.array(facts, _TEXT))
        places = np.where(is_other, _VERDICTS.index(Verdict.UNASKABLE.value), self._verdicts).astype(np.int8)
        columns = {
            "verdict": pa.DictionaryArray.from_arrays(pa.array(places), _VERDICTS),
            "reason": pa.compute.if_else(is_other, reason, self.table["reason"]),
        }
        table = self.table
        for name, column in columns.items():
            table = table.set_column(table.schema.get_field_index(name), name, column)
        return Answers(table, self.results)

    def by_fact(self, *details: str) -> "pd.DataFrame":
        """Return the facts with answers, sorted by id.

        Args:
            details: further columns of the table, of the question that is shown.

        Returns:
            By fact: subject and relation; numbers of answers right and wrong, and among the wrong ones refused and
            off_format; sums of the probe's counts, by name; chances, the known probabilities to guess each answered
            question, and guessed, a guesser's probability to be right more often than wrong; question, right_answer,
            prediction and further details of the latest question whose verdict agrees with the fact's: right if there
            are more right answers than wrong ones.
        """
        import pandas as pd

        facts, rows, of_fact = self._by_fact
        verdicts = self._verdicts[rows]
        numbers = {}
        for verdict in (Verdict.RIGHT, Verdict.REFUSED, Verdict.OFF_FORMAT):
            is_own = verdicts == _VERDICTS.index(verdict.value)
            numbers[verdict] = np.bincount(of_fact[is_own], minlength=len(facts))
        right = numbers[Verdict.RIGHT]
        wrong = np.bincount(of_fact, minlength=len(facts)) - right
        is_right = verdicts == _VERDICTS.index(Verdict.RIGHT.value)
        agrees = is_right == (right > wrong)[of_fact]
        first, latest = np.empty_like(right), np.empty_like(right)
        # The last of several values is assigned.
        first[of_fact[::-1]] = rows[::-1]
        latest[of_fact[agrees]] = rows[agrees]
        # First, because lists of long texts need the most memory.
        shown = {name: self.texts(name, latest) for name in ("question", "right_answer", "prediction", *details)}
        shown |= {name: _shared(shown[name]) for name in ("right_answer", "prediction")}
        columns: dict[str, Any] = {name: _shared(self.texts(name, first)) for name in ("subject", "relation")}
        columns |= {"right": right, "wrong": wrong}
        columns |= {"refused": numbers[Verdict.REFUSED], "off_format": numbers[Verdict.OFF_FORMAT]}
        for name in self.table.column_names:
            if name.startswith(_COUNT):
                sums = np.bincount(of_fact, self._numbers(name)[rows], minlength=len(facts))
                columns[name.removeprefix(_COUNT)] = sums.astype(np.int64)
        columns["chances"] = self._chances()
        columns["guessed"] = list(map(cache(more_than_half), columns["chances"]))
        frame: pd.DataFrame = pd.DataFrame(columns, index=pd.Index(facts, dtype=object))
        for name, values in shown.items():
            frame[name] = pd.Series(values, frame.index, dtype=object)
        return frame

    def means(self) -> "pd.DataFrame":
        """Return the means of the probe's measures over the answers to each fact with answers, sorted by id."""
        import pandas as pd

        facts, rows, of_fact = self._by_fact
        counts = np.bincount(of_fact, minlength=len(facts))
        means = {}
        for name in self.table.column_names:
            if name.startswith(_MEASURE):
                sums = np.bincount(of_fact, self._numbers(name)[rows], minlength=len(facts))
                means[name.removeprefix(_MEASURE)] = sums / counts
        frame: pd.DataFrame = pd.DataFrame(means, index=pd.Index(facts, dtype=object))
        return frame

    def confidences(self) -> "pd.DataFrame":
        """Return the answers with a confidence, or with the reason for having none.

        Returns:
            By answer: fact, and the attributes of :class:`~kgprobe.probes.outcome.RatedAnswer`.
        """
        _, rows, _ = self._by_fact
        lists = self.table["rated"].take(pa.array(rows)).combine_chunks()
        places = np.repeat(rows, np.diff(lists.offsets))
        rated = pa.Table.from_struct_array(lists.flatten())
        verdicts = pa.array(self._verdicts[places] == _VERDICTS.index(Verdict.RIGHT.value))
        right = pa.compute.coalesce(rated["right"], verdicts)
        frame: pd.DataFrame = rated.drop_columns(["right"]).to_pandas()
        frame["fact"], frame["right"] = self.texts("fact", places), right.to_numpy()
        return frame

    def frame(self) -> "pd.DataFrame":
        """Return the table in pandas, with the columns that every probe has."""
        names = ("subject", "fact", "relation", "verdict", "question", "right_answer", "prediction", "probability")
        table = self.table.select([*names, "chance", "reason", "prompt"])
        frame: pd.DataFrame = table.to_pandas().astype({"verdict": object})
        return frame

    def texts(self, name: str, rows: Positions) -> list[Any]:
        """Return the values of a column at these rows."""
        values: list[Any] = self.table[name].take(pa.array(rows)).to_pylist()
        return values

    @cached_property
    def _by_fact(self) -> tuple[list[str], Positions, Positions]:
        """Ids of the facts with answers, sorted; the rows of their answers; and the place of each row's fact."""
        rows = np.flatnonzero(_COUNTS[self._verdicts])
        facts = self.table["fact"].take(pa.array(rows)).combine_chunks().dictionary_encode()
        order = np.array(pa.compute.sort_indices(facts.dictionary), dtype=np.int64)
        return facts.dictionary.take(pa.array(order)).to_pylist(), rows, np.argsort(order)[facts.indices]

    def _chances(self) -> list[tuple[float, ...]]:
        """Return the known chance levels of each fact with answers."""
        facts, rows, of_fact = self._by_fact
        levels = self._numbers("chance")[rows]
        known = np.flatnonzero(~np.isnan(levels))
        ordered = levels[known[np.argsort(of_fact[known], kind="stable")]].tolist()
        ends = np.cumsum(np.bincount(of_fact[known], minlength=len(facts))).tolist()
        return _shared(tuple(ordered[start:end]) for start, end in pairwise([0, *ends]))

    @cached_property
    def _verdicts(self) -> NDArray[np.int8]:
        """Places of the verdicts in the order of their definition."""
        chunks = [chunk.indices.to_numpy() for chunk in self.table["verdict"].chunks]
        return np.concatenate([np.empty(0, np.int8), *chunks])

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers; NaN for None."""
        numbers: NDArray[np.float64] = self.table[name].to_numpy()
        return numbers


def _shared(values: Iterable[T]) -> list[T]:
    """Return values of which equal ones are the same object, to save memory."""
    known: dict[T, T] = {}
    return [known.setdefault(value, value) for value in values]


class _Origin(msgspec.Struct, frozen=True):
    """The answers that a table was made of, and the program that made it.

    Attributes:
        count: see :class:`~kgprobe.answers.store.Outcomes`.
        size, changed: of the whole file.
        digest: of the counted answers.
        columns: see :func:`_digest_of_columns`.
    """

    count: int | None
    size: int
    changed: int
    digest: str
    columns: str
    version: str = __version__


def read_answers(folder: Path, kind: ProbeKind, described: Mapping[str, Any], count: int | None = None) -> Answers:
    """Return the answers of a measurement or a run from their table, which is made first if it is missing or outdated.

    Cost: one pass over the trail, some tens of microseconds for each answer; or reading the table, and the trail if its
    date has changed. Memory: 10,000 answers, and what the probe's own results need. Without write access to the
    folder, the whole table.

    Args:
        described: the probe's description.
        count: number of answers that the graph has counted, for a run; None for a measurement.

    Raises:
        KgprobeError: see :func:`~kgprobe.answers.store.read_lines`.
    """
    trail, path, columns = folder / FILE, folder / TABLE, _digest_of_columns(kind)
    with open_trail(trail) as file:
        stat = os.fstat(file.fileno())
    changed = stat.st_mtime_ns if time.time_ns() - stat.st_mtime_ns > _SETTLED else 0
    if path.exists():
        try:
            origin, answers = _opened(pa.memory_map(str(path)))
        except (pa.ArrowException, OSError, KeyError, msgspec.MsgspecError):
            # A table of another version, or a damaged one.
            pass
        else:
            is_same = (origin.version, origin.columns, origin.count) == (__version__, columns, count)
            if is_same and (origin.size, origin.changed) == (stat.st_size, stat.st_mtime_ns):
                return answers
            if is_same and origin.digest == digest_of_answers(trail, count):
                return answers
    origin = _Origin(count, stat.st_size, changed, digest_of_answers(trail, count), columns)
    lines = read_lines(trail, kind.evidence(), count)
    if not os.access(folder, os.W_OK):
        return collect_answers(kind, lines, described)
    with replacing(path) as unfinished, pa.OSFile(str(unfinished), "wb") as sink:
        _write(sink, kind, lines, described, origin)
    return _opened(pa.memory_map(str(path)))[1]


def collect_answers(kind: ProbeKind, lines: Iterable[TrailLine[Any]], described: Mapping[str, Any]) -> Answers:
    """Return the answers of lines, in memory."""
    sink = pa.BufferOutputStream()
    _write(sink, kind, lines, described, _Origin(None, 0, 0, "", ""))
    return _opened(sink.getvalue())[1]


def _columns(kind: ProbeKind) -> dict[str, pa.DataType]:
    """Return the columns that do not depend on the answers."""
    own = kind.evidence().__struct_fields__
    return {**_COLUMNS, **{name: type_ for name, type_ in _FIELDS.items() if name in own}}


def _digest_of_columns(kind: ProbeKind) -> str:
    """Return a digest of the columns and of the fields of the evidence, of which they are made."""
    fields = ((field.name, str(field.type)) for field in msgspec.structs.fields(kind.evidence()))
    columns = ((name, str(type_)) for name, type_ in _columns(kind).items())
    return hashlib.sha256(repr((*columns, *fields)).encode()).hexdigest()


@collecting_rarely()
def _write(
    sink: pa.NativeFile, kind: ProbeKind, lines: Iterable[TrailLine[Any]], described: Mapping[str, Any], origin: _Origin
) -> None:
    """Write the table of lines, which are read once; an empty last batch has the origin and the probe's results."""
    lines = iter(lines)
    # The first answer names the measures and the counts.
    begin: list[TrailLine[Any]] = []
    common = _columns(kind)
    schema = pa.schema(common)
    for line in lines:
        begin.append(line)
        if line.evidence is not None and line.verdict.counts:
            measures = {f"{_MEASURE}{name}": _NUMBER for name in line.evidence.values}
            counts = {f"{_COUNT}{name}": pa.int64() for name in line.evidence.counts}
            schema = pa.schema({**common, **measures, **counts})
            break
    with pa.ipc.new_file(sink, schema) as writer:

        def outcomes() -> Iterator[Outcome]:
            rows: list[tuple[Any, ...]] = []
            fields, own = schema.names[len(_COLUMNS) : len(common)], schema.names[len(common) :]
            for line in chain(begin, lines):
                rows.append(_row(line, fields, own))
                if len(rows) == _BATCH:
                    writer.write_batch(_batch(rows, schema))
                    rows.clear()
                yield line.outcome
            writer.write_batch(_batch(rows, schema))

        stream = outcomes()
        results = kind.results(stream, described)
        # A probe without its own results has read no outcome.
        deque(stream, maxlen=0)
        about = {"origin": msgspec.msgpack.encode(origin), "results": _encoded(results)}
        writer.write_batch(_batch([], schema), custom_metadata=about)


def _row(line: TrailLine[Any], fields: Sequence[str], own: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of a line, in the order of the columns; the last ones are ``fields`` and ``own``."""
    evidence: Evidence | None = line.evidence
    question: tuple[Any, ...] = (None,) * 8
    alternatives: tuple[Any, ...] = (None,) * 4
    values: dict[str, float] = {}
    if evidence is not None:
        # Some probes have the label of the subject, and the object's id, some its label as well.
        object_ = getattr(evidence, "object", None)
        object_id, object_label = (
            (object_, None)
            if isinstance(object_, str)
            else (getattr(object_, "id", None), getattr(object_, "label", None))
        )
        ends = getattr(evidence, "subject", None), object_id, object_label
        answer = evidence.question, evidence.right_answer, evidence.prediction
        question = (*ends, *answer, evidence.probability, evidence.chance)
        if line.verdict.counts:
            names, text, former = evidence.alternatives
            alternatives = (list(names), text, former, list(evidence.rated))
            values = {f"{_MEASURE}{name}": value for name, value in evidence.values.items()}
            values |= {f"{_COUNT}{name}": count for name, count in evidence.counts.items()}
            if values.keys() != set(own):
                raise ValueError(f"{type(evidence).__name__}: names of values and counts differ between answers")
    origin = line.subject, line.fact, line.relation, _VERDICTS.index(line.verdict.value), line.reason, line.prompt
    draw = line.round, line.inclusion, line.smallest
    return (
        *origin,
        *draw,
        *question,
        *alternatives,
        *(getattr(evidence, name, None) for name in fields),
        *map(values.get, own),
    )


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows in columns."""
    columns = []
    for name, values in zip(schema.names, zip(*rows, strict=True) if rows else [()] * len(schema), strict=True):
        if name == "verdict":
            columns.append(pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()), _VERDICTS))
        else:
            columns.append(pa.array(values, schema.field(name).type))
    return pa.record_batch(columns, schema=schema)


def _opened(source: pa.NativeFile | pa.Buffer) -> tuple[_Origin, Answers]:
    """Return the answers of a file, and their origin."""
    reader = pa.ipc.open_file(source)
    _, about = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
    origin = msgspec.msgpack.decode(about[b"origin"], type=_Origin)
    return origin, Answers(reader.read_all(), _decoded(about[b"results"]))


# Cells of tables that are more than one number.
_CELLS: Mapping[str, type] = {kind.__name__: kind for kind in (Share, Mean, Percent, Points)}


def _encoded(results: ProbeResults) -> bytes:
    """Return results as bytes; a cell with an interval is a pair of its type and its values."""
    tables = []
    for table in results.tables:
        rows = [dict(zip(row, map(_typed, row.values()), strict=True)) for row in table.rows]
        tables.append(replace(table, rows=rows))
    # Numbers of NumPy.
    return msgspec.msgpack.encode((tables, results.headline), enc_hook=lambda number: number.item())


def _typed(cell: Any) -> Any:
    name = type(cell).__name__
    return (name, astuple(cell)) if name in _CELLS else cell


def _decoded(content: bytes) -> ProbeResults:
    """Return the results of :func:`_encoded`."""
    tables, headline = msgspec.msgpack.decode(content, type=tuple[list[Table], Headline | None])
    typed = []
    for table in tables:
        rows = [dict(zip(row, map(_untyped, row.values()), strict=True)) for row in table.rows]
        typed.append(replace(table, rows=rows))
    return ProbeResults(typed, headline)


def _untyped(cell: Any) -> Any:
    if not isinstance(cell, list):
        return cell
    name, values = cell
    return _CELLS[name](*values)
