"""``kgprobe load verbalizations``: the facts of a table of corrected sentences, for ``kgprobe study robustness``.

The table (:mod:`kgprobe.verbalize.corrections`) has ids and labels, without aliases and types. Facts are loaded whose
object ends the sentence and its correction, if it has one, because the study needs these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.options import option
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import fingerprint, open_input
from kgprobe.sources.values import check_id, check_interval, fact_id, tidy
from kgprobe.verbalize.corrections import SentencePair, pair_up, read_verbalizations


@dataclass(slots=True)
class Verbalizations:
    """A table as a source; see :class:`kgprobe.sources.contract.Source`. It is read as a whole when it is opened."""

    name: str
    fingerprint: str
    total: int
    pairs: Sequence[SentencePair]
    damaged: Sequence[Placed] = ()
    partial: bool = False
    done: int = 0

    def relations(self) -> Iterator[Placed]:
        """Yield the relations, without sentences."""
        known: set[str] = set()
        for pair, fact in self._usable():
            if fact.relation not in known:
                known.add(fact.relation)
                yield _placed(pair, Relation(fact.relation, tidy(pair.relation_label)))

    def entities(self) -> Iterator[Placed]:
        """Yield subjects and objects."""
        known: set[str] = set()
        for pair, fact in self._usable():
            for identifier, label in ((fact.subject, pair.subject_label), (fact.object, pair.object_label)):
                if identifier not in known:
                    known.add(identifier)
                    yield _placed(pair, Entity(identifier, tidy(label)))

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, each once, and the rejected rows."""
        yield from self.damaged
        for pair in self.pairs:
            record = _fact(pair)
            if isinstance(record, Rejected):
                yield _placed(pair, record)
        known: set[str] = set()
        for pair, fact in self._usable():
            if fact.id not in known:
                known.add(fact.id)
                yield _placed(pair, fact)
        self.done = self.total

    def _usable(self) -> Iterator[tuple[SentencePair, Fact]]:
        for pair in self.pairs:
            fact = _fact(pair)
            if isinstance(fact, Fact):
                yield pair, fact


def _placed(pair: SentencePair, record: Entity | Relation | Fact | Rejected) -> Placed:
    return Placed(pair.verbalization.line, record)


def _fact(pair: SentencePair) -> Fact | Rejected:
    row = pair.verbalization
    try:
        for what in ("subject", "relation", "object"):
            check_id(getattr(row, what), f"id of the {what}")
        check_interval(row.start, row.end)
        identifier = fact_id(row.subject, row.relation, row.object, row.start)
    except ValueError as error:
        return Rejected(str(error))
    return Fact(identifier, row.subject, row.relation, row.object, start=row.start, end=row.end)


@dataclass(frozen=True, slots=True)
class VerbalizationsOptions:
    """Options of the loader."""

    table: Path = option(help="CSV of verbalizations and their corrections, one fact a line.", positional=True)


def _open(options: VerbalizationsOptions) -> Verbalizations:
    file = open_input(options.table)
    verbalizations, damaged = read_verbalizations(options.table)
    pairs, _ = pair_up(verbalizations)
    return Verbalizations(file.name, fingerprint([file], {}), file.size, pairs, damaged)


loader = Loader(
    summary="""Load the facts of a table of corrected sentences, which the robustness study asks.

    Labels are all that it knows of them. Load it before anything else: what is loaded later under the same id takes
    its place, with aliases and types.

    \b
    kgprobe load verbalizations corrections.csv
    kgprobe study robustness corrections.csv --model demo
    """,
    options=VerbalizationsOptions,
    open=_open,
)
