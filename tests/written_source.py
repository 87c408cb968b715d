"""A source for tests: records that a test writes down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation

Records = Sequence[Entity | Fact | Relation | Rejected]


@dataclass
class WrittenSource:
    """Records in a list, one a line; fails at a line if told to, as a disk or a network would."""

    entity_records: Records = ()
    fact_records: Records = ()
    relation_records: Records = ()
    name: str = "written"
    fingerprint: str = "written-1"
    partial: bool = False
    languages: Sequence[str] = ()
    fail_at_fact: int | None = None

    total: int = 1
    done: int = 0

    def relations(self) -> Iterator[Placed]:
        return self._placed(self.relation_records)

    def entities(self) -> Iterator[Placed]:
        return self._placed(self.entity_records)

    def facts(self) -> Iterator[Placed]:
        for placed in self._placed(self.fact_records):
            if placed.line == self.fail_at_fact:
                raise OSError("the disk is gone")
            yield placed

    def _placed(self, records: Records) -> Iterator[Placed]:
        return (Placed(line, record) for line, record in enumerate(records, start=1))
