"""Convert a source to files for ``neo4j-admin database import``; the imported graph equals a loaded one."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing
from kgprobe.graph.bulk.bulk_files import ARRAY_DELIMITER, EXTRA_RELATIONS, BulkCounts, BulkFiles
from kgprobe.graph.bulk.reading import FactBatch, reading_facts, source_batches
from kgprobe.graph.bulk.staging import EntityTable, FactTable, RowFiles, staging_database
from kgprobe.graph.ingest import IMPORTED, LoadCounts, collecting_rarely
from kgprobe.graph.record_batches import Problem, RecordBatch, entity_rows, problem_message, relation_rows
from kgprobe.sources.contract import Source, folded_by, languages_of

# Bytes of facts whose ends are looked up together: about half a million.
_BYTES_AT_ONCE = 64 * 2**20


@dataclass(slots=True)
class _Conversion:
    """The state of a conversion."""

    source: Source
    strict: bool
    report_problem: Callable[[str], None]
    report_progress: Callable[[str, int], None]
    counts: LoadCounts
    batches: int = 0
    position: int = 0
    not_loaded: Mapping[str, int] = field(default_factory=dict)

    def read(self, stage: str) -> Iterable[RecordBatch]:
        """Yield the batches of a stage, and report their problems."""
        for batch in source_batches(self.source, stage):
            self.reject(batch.problems)
            yield batch
            self._count(stage, batch)

    def _count(self, stage: str, batch: RecordBatch) -> None:
        self.batches += 1
        self.position = batch.position
        self.counts.records[stage] += batch.records
        self.counts.folded += batch.folded
        self.report_progress(stage, batch.records)

    def add_facts(self, facts: FactTable, batches: Iterable[FactBatch]) -> None:
        """Add the facts in parts of many batches, and report their problems batch by batch."""
        waiting: list[FactBatch] = []
        for batch in batches:
            waiting.append(batch)
            self.not_loaded = batch.not_loaded
            self._count("facts", batch.counts)
            if batch.counts.last or sum(each.rows.nbytes for each in waiting) > _BYTES_AT_ONCE:
                missing, outside = facts.add(pa.concat_tables([each.rows for each in waiting]))
                self.counts.outside += outside
                begin = 0
                for each in waiting:
                    end = begin + len(each.rows)
                    self.reject(each.counts.problems)
                    self.reject([problem for row, problem in missing if begin <= row < end])
                    begin = end
                waiting.clear()

    def reject(self, problems: list[Problem]) -> None:
        """Count and report rejected records; raise at the first if ``strict``."""
        if self.strict and problems:
            raise KgprobeError(problem_message(problems[0], self.source))
        self.counts.reject(problems, self.source, self.report_problem)


@collecting_rarely()
def convert(
    source: Source,
    folder: Path,
    *,
    strict: bool = False,
    report_problem: Callable[[str], None] = lambda message: None,
    report_progress: Callable[[str, int], None] = lambda stage, records: None,
) -> BulkFiles:
    """Write a source as import files to a new folder, which is created when it is complete.

    After the import into an empty graph and :func:`~kgprobe.graph.bulk.bulk_files.finish`, the graph equals a loaded
    one in all properties: the batches are the same, and the same records are rejected for the same reasons. Duplicates
    of an earlier batch are reported after the other problems.

    Cost: one reading of each stream; the facts of files of some megabytes are read in a second process meanwhile.
    Temporary disk space: 150 bytes per fact, twice the entities. Memory: 1 GB, 16 bytes per entity, 300 MB for each
    process.

    Args:
        strict: raise at the first rejected record, without a folder.
        report_problem: called with a message for each rejected record.
        report_progress: called after each batch with its stage and number of records.
    """
    conversion = _Conversion(source, strict, report_problem, report_progress, LoadCounts())
    counts = conversion.counts
    with (
        appearing(folder) as unfinished,
        staging_database(unfinished) as database,
        reading_facts(source, unfinished) as fact_batches,
    ):
        properties: dict[str, dict[str, Any]] = {}
        for batch in conversion.read("relations"):
            rows = relation_rows(batch.places, source.name)
            for row in rows:
                # A relation given again keeps what the later record has no value for.
                unless_given = row["empty"] | {"active": True}
                properties[row["id"]] = unless_given | properties.get(row["id"], {}) | row["properties"]
            counts.written["relations"] += len(rows)

        entities = EntityTable(database, source)
        for batch in conversion.read("entities"):
            entities.add(entity_rows(batch.places, source.name, source.fingerprint, languages_of(source)))
        problems = entities.resolve()
        conversion.reject(problems)
        counts.written["entities"] = entities.read - len(problems)

        facts = FactTable(database, source, entities, {id_: values["label"] for id_, values in properties.items()})
        conversion.add_facts(facts, fact_batches())
        problems, outside = facts.resolve()
        conversion.reject(problems)
        if source.partial:
            counts.outside -= outside
        else:
            counts.problems["missing"] -= outside
        counts.written["facts"] = facts.written

        with (unfinished / EXTRA_RELATIONS).open("wb") as file:
            for id_, values in properties.items():
                file.write(msgspec.json.encode({"id": id_, "properties": values}) + b"\n")
        fact_files, facts_count = facts.write(unfinished)
        (relations, relations_count), (objects, objects_count) = facts.write_relations(unfinished)
        instances, instances_count = entities.write_instances(unfinished)
        entity_files, entities_count = entities.write(unfinished)
        state = _write_state(conversion, unfinished, entities.next_number)
        node_files = [*entity_files, *relations, *state]
        relationship_files = {"FACT": fact_files, "INSTANCE_OF": instances, "OBJECT_OF": objects}
        names = [*node_files, *chain.from_iterable(relationship_files.values())]
        files = BulkFiles(
            source=source.name,
            fingerprint=source.fingerprint,
            node_files=node_files,
            relationship_files=relationship_files,
            line_files=[name for name in names if name.endswith("-lines.csv")],
            next_number=entities.next_number or 0,
            counts={
                "Entity": entities_count,
                "Relation": relations_count,
                "FACT": facts_count,
                "INSTANCE_OF": instances_count,
                "OBJECT_OF": objects_count,
            },
            records=BulkCounts(
                dict(counts.written),
                dict(counts.problems),
                counts.broken,
                counts.outside,
                conversion.not_loaded,
                counts.folded + folded_by(source),
            ),
        )
        files.save(unfinished)
    return files


def _write_state(conversion: _Conversion, folder: Path, next_number: int | None) -> list[str]:
    """Write the unfinished load and the counter of entities."""
    source, names = conversion.source, []
    load = {
        ":ID(Load)": 0,
        "id": source.fingerprint,
        "source": source.name,
        "stage": IMPORTED,
        "position:long": conversion.position,
        "finished:boolean": False,
        "languages:string[]": ARRAY_DELIMITER.join(languages_of(source)) or None,
        ":LABEL": "KgprobeLoad",
    }
    counter = {
        ":ID(Counter)": 0,
        "id": "entities",
        "uid": secrets.token_hex(8),
        "next:long": next_number,
        "batches:long": conversion.batches,
        "placed:boolean": True,
        ":LABEL": "KgprobeCounter",
    }
    for name, values in (("loads", load), ("counters", counter)):
        out = RowFiles(folder, name, ",".join(values))
        out.add({column: [value] for column, value in values.items()})
        names += out.close()[0]
    return names
